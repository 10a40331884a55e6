/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/sim/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Beyond this ratio of the largest to the smallest value their distances only show on a scale of
 * magnitudes. */
#define LOG_RATIO 16.0
/* Of the axis: what a label takes, so that none is written over another. */
#define LABEL_SHARE .08

/* What the swept values are to a picture. */
struct scale {
    bool numbers; /* all of one unit, else each is a place with a name */
    bool log;
    const char *unit;
    uint32_t n_values;
};

static struct scale scale_of(const struct sweep *sweep, uint32_t n_values)
{
    struct scale scale = {.numbers = true, .unit = "", .n_values = n_values};
    double min = INFINITY, max = -INFINITY;

    for (uint32_t i = 0; i < n_values; i++) {
        char *unit;
        double value = strtod(sweep->results[i].label.value, &unit);

        if (i == 0)
            scale.unit = unit;
        if (unit == sweep->results[i].label.value || strcmp(unit, scale.unit) != 0 ||
            !isfinite(value))
            scale.numbers = false;
        min = fmin(min, value);
        max = fmax(max, value);
    }
    scale.log = scale.numbers && min > 0 && max / min >= LOG_RATIO;
    return scale;
}

/* Where a value stands, as a share of the axis. */
static double place(const struct sweep *sweep, const struct scale *scale, uint32_t i)
{
    double first = strtod(sweep->results[0].label.value, NULL);
    double last = strtod(sweep->results[scale->n_values - 1].label.value, NULL);
    double value = strtod(sweep->results[i].label.value, NULL);

    if (!scale->numbers || scale->n_values < 2 || first == last)
        return i;
    return scale->log ? log(value / first) / log(last / first) : (value - first) / (last - first);
}

static void print_axis(FILE *script, const struct sweep *sweep, const struct scale *scale)
{
    double labelled = -1;

    if (scale->log)
        fputs("set logscale x\n", script);
    if (scale->numbers && scale->n_values > 12)
        return;
    fputs("set xtics (", script);
    for (uint32_t i = 0; i < scale->n_values; i++) {
        const char *value = sweep->results[i].label.value;
        double at = place(sweep, scale, i);

        fprintf(script, "%s'", i ? ", " : "");
        if (fabs(at - labelled) >= LABEL_SHARE) {
            plot_text(script, value);
            labelled = at;
        }
        fprintf(script, "' %.9g", scale->numbers ? strtod(value, NULL) : (double)i);
    }
    fputs(")\n", script);
}

/* A block for each variant: x, goodput, effective p99, refused share in percent. */
static void print_rows(FILE *script, const struct sweep *sweep, const struct scale *scale,
                       double per_s)
{
    for (uint32_t i = 0; i < sweep->n_results; i++) {
        const struct result *result = &sweep->results[i];
        uint32_t place = i % scale->n_values;

        if (place == 0)
            fprintf(script, "%s$variant%u << END\n", i ? "END\n" : "", i / scale->n_values);
        fprintf(script, "%.9g %.9g %.9g %.9g\n",
                scale->numbers ? strtod(result->label.value, NULL) : (double)place,
                result_value(result, "goodput_per_s"), result_value(result, "eff_p99_s") * per_s,
                result_value(result, "refusal_share") * 100);
    }
    fputs("END\n", script);
}

static void print_panel(FILE *script, const struct sweep *sweep, uint32_t n_values, int column)
{
    for (uint32_t i = 0; i < sweep->n_results; i += n_values) {
        const char *variant = sweep->results[i].label.variant;

        fprintf(script, "%s $variant%u using 1:%d with linespoints linestyle %u title '",
                i ? "," : "plot", i / n_values, column, i / n_values % PLOT_STYLES + 1);
        plot_text(script, variant ? variant : "all");
        fputc('\'', script);
    }
    fputc('\n', script);
}

static double highest(const struct sweep *sweep, const char *metric)
{
    double max = NAN;

    for (uint32_t i = 0; i < sweep->n_results; i++)
        max = fmax(max, result_value(&sweep->results[i], metric));
    return max;
}

void plot_sweep(FILE *script, const struct sweep *sweep)
{
    uint32_t n_variants = sweep->base->n_variants ? sweep->base->n_variants : 1;
    struct scale scale = scale_of(sweep, sweep->n_results / n_variants);
    double p99_s = highest(sweep, "eff_p99_s"), per_s;
    const char *unit;

    per_s = plot_per_s(p99_s, &unit);

    plot_begin(script, sweep, NULL);
    print_rows(script, sweep, &scale, per_s);
    print_axis(script, sweep, &scale);
    fputs("set autoscale xfix\nset offsets graph 0.02, graph 0.02\nset ylabel 'goodput, 1/s'\n",
          script);
    plot_range(script, "y", highest(sweep, "goodput_per_s"));
    print_panel(script, sweep, scale.n_values, 2);
    fprintf(script, "set ylabel 'effective p99, %s'\n", unit);
    plot_range(script, "y", p99_s);
    print_panel(script, sweep, scale.n_values, 3);
    fputs("set yrange [0:100]\nset ylabel 'refused tries, %'\nset xlabel '", script);
    plot_text(script, sweep->results[0].label.sweep_key);
    if (scale.numbers && *scale.unit) {
        fputs(", ", script);
        plot_text(script, scale.unit);
    }
    fputs("' noenhanced\n", script);
    print_panel(script, sweep, scale.n_values, 4);
    fputs("unset multiplot\n", script);
}
