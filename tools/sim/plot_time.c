/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/sim/plot.h"

#include <inttypes.h>
#include <math.h>

/* More points than this could not be told apart: then so many rows are taken together. */
#define POINTS_MAX 300u

#define REFUSED_MAX (REASON_ATTEMPT_MAX + 2u) /* with "full" and "aged" */

/* Rows taken together: counts add up, of levels and latencies the highest stands. */
static struct record_row merge(const struct result *result, uint32_t from, uint32_t to)
{
    struct record_row sum = result->rows[from];

    for (uint32_t i = from + 1; i < to; i++) {
        const struct record_row *row = &result->rows[i];

        sum.counts.offered += row->counts.offered;
        sum.counts.attempts += row->counts.attempts;
        sum.counts.admitted += row->counts.admitted;
        for (unsigned int end = 0; end < END_MAX; end++)
            sum.counts.ends[end] += row->counts.ends[end];
        for (unsigned int reason = 0; reason < REASON_ATTEMPT_MAX; reason++)
            sum.counts.refused[reason] += row->counts.refused[reason];
        sum.counts.refused_full += row->counts.refused_full;
        sum.counts.dropped_aged += row->counts.dropped_aged;
        sum.shed = fmax(sum.shed, row->shed);
        sum.waiting = row->waiting > sum.waiting ? row->waiting : sum.waiting;
        sum.queue = row->queue > sum.queue ? row->queue : sum.queue;
        sum.age_s = fmax(sum.age_s, row->age_s);
        sum.p50_s = fmax(sum.p50_s, row->p50_s);
        sum.p99_s = fmax(sum.p99_s, row->p99_s);
        sum.eff_p95_s = fmax(sum.eff_p95_s, row->eff_p95_s);
        sum.eff_p99_s = fmax(sum.eff_p99_s, row->eff_p99_s);
    }
    return sum;
}

/* By reason, then "full" and "aged", which are not the gate's. */
static uint64_t refused(const struct record_counts *counts, unsigned int i)
{
    if (i < REASON_ATTEMPT_MAX)
        return counts->refused[i];
    return i == REASON_ATTEMPT_MAX ? counts->refused_full : counts->dropped_aged;
}

/* Of times, by how large they become. */
struct units {
    double age_per_s, latency_per_s;
    const char *age, *latency;
};

static struct units units_of(const struct result *result)
{
    double latency_s = 0;
    struct units units;

    for (uint32_t i = 0; i < result->n_rows; i++)
        latency_s = fmax(latency_s, result->rows[i].eff_p99_s);
    units.age_per_s = plot_per_s(result->summary.age_s, &units.age);
    units.latency_per_s = plot_per_s(latency_s, &units.latency);
    return units;
}

static void print_rows(FILE *script, const struct result *result, const struct units *units)
{
    uint32_t together = (result->n_rows + POINTS_MAX - 1) / POINTS_MAX;
    double end_s = result_value(result, "end_s"), usual_s = 0;

    fputs("$rows << END\n", script);
    for (uint32_t i = 0; i < result->n_rows; i += together) {
        uint32_t to = i + together < result->n_rows ? i + together : result->n_rows;
        struct record_row row = merge(result, i, to);
        double s = (to < result->n_rows ? result->rows[to].t_s : end_s) - row.t_s;

        if (s <= usual_s / 2) /* the run ended in it: too short to show a rate */
            break;
        usual_s = s;
        fprintf(script, "%.9g %.9g %.9g %.9g %.9g", row.t_s + s / 2, row.t_s + s,
                (double)row.counts.offered / s, (double)row.counts.attempts / s,
                (double)row.counts.admitted / s);
        for (unsigned int end = 0; end < END_REFUSED; end++)
            fprintf(script, " %.9g", (double)row.counts.ends[end] / s);
        fprintf(script, " %" PRIu64 " %" PRIu64 " %.9g %.9g %.9g %.9g", row.waiting, row.queue,
                row.age_s * units->age_per_s, row.eff_p95_s * units->latency_per_s,
                row.eff_p99_s * units->latency_per_s, row.shed * 100);
        for (unsigned int reason = 0; reason < REFUSED_MAX; reason++)
            fprintf(script, " %.9g", (double)refused(&row.counts, reason) / s);
        fputc('\n', script);
    }
    fputs("END\n", script);
}

/* As print_rows() has them: what counts over an interval is drawn in its middle, what is as at its
 * end there. */
enum {
    COLUMN_MIDDLE = 1,
    COLUMN_END,
    COLUMN_OFFERED,
    COLUMN_ATTEMPTS,
    COLUMN_ADMITTED,
    COLUMN_USEFUL,
    COLUMN_LATE,
    COLUMN_UNFINISHED,
    COLUMN_WAITING,
    COLUMN_QUEUE,
    COLUMN_AGE,
    COLUMN_EFF_P95,
    COLUMN_EFF_P99,
    COLUMN_SHED,
    COLUMN_REFUSED,
};

struct line {
    int column, style;
    bool right; /* its scale */
    bool at_end;
    char title[48];
};
#define LINES_MAX (REFUSED_MAX + 8u)

static void print_lines(FILE *script, const struct line *lines, unsigned int n)
{
    for (unsigned int i = 0; i < n; i++)
        fprintf(script, "%s $rows using %d:%d axes x1y%d with lines linestyle %d title '%s%s'",
                i ? "," : "plot", lines[i].at_end ? COLUMN_END : COLUMN_MIDDLE, lines[i].column,
                lines[i].right ? 2 : 1, lines[i].style, lines[i].title,
                lines[i].right ? " (right)" : "");
    fputc('\n', script);
}

static void plot_work(FILE *script, const struct record_counts *sum)
{
    static const int refused_styles[] = {8, 9, 6, 10};
    struct line lines[LINES_MAX] = {{COLUMN_OFFERED, 1, false, false, "offered"},
                                    {COLUMN_ADMITTED, 2, false, false, "admitted"},
                                    {COLUMN_USEFUL, 3, false, false, "useful"},
                                    {COLUMN_LATE, 4, false, false, "late"}};
    unsigned int n = 4, n_refused = 0;

    if (sum->attempts != sum->offered)
        lines[n++] = (struct line){COLUMN_ATTEMPTS, 7, false, false, "attempts"};
    if (sum->ends[END_UNFINISHED])
        lines[n++] = (struct line){COLUMN_UNFINISHED, 5, false, false, "unfinished"};
    for (unsigned int i = 1; i < REFUSED_MAX; i++) {
        struct line *line = &lines[n];

        if (refused(sum, i) == 0)
            continue;
        *line = (struct line){.column = COLUMN_REFUSED + (int)i,
                              .style = refused_styles[n_refused++ % 4]};
        if (i < REASON_ATTEMPT_MAX)
            snprintf(line->title, sizeof(line->title), "refused: %s", reason_name((enum reason)i));
        else
            snprintf(line->title, sizeof(line->title), "%s",
                     i == REASON_ATTEMPT_MAX ? "refused: full" : "dropped: age");
        n++;
    }
    fputs("set ylabel 'work and tries, 1/s'\n", script);
    plot_range(script, "y", (double)sum->attempts);
    print_lines(script, lines, n);
}

static void plot_queues(FILE *script, const struct result *result, const char *unit)
{
    static const struct line lines[] = {{COLUMN_QUEUE, 1, false, true, "in queues of stages"},
                                        {COLUMN_AGE, 4, true, true, "age of the oldest"},
                                        {COLUMN_WAITING, 2, false, true, "waiting in the gate"}};
    const struct record_row *summary = &result->summary;

    fprintf(script,
            "set border 11\nset y2tics\nset ylabel 'queue, pieces'\nset y2label 'age, %s'\n", unit);
    plot_range(script, "y", (double)(summary->waiting + summary->queue));
    plot_range(script, "y2", summary->age_s);
    print_lines(script, lines, result->has_gate ? 3 : 2);
}

static void plot_latency(FILE *script, const struct result *result, const char *unit)
{
    static const struct line lines[] = {{COLUMN_EFF_P95, 2, false, false, "p95"},
                                        {COLUMN_EFF_P99, 1, false, false, "p99"},
                                        {COLUMN_SHED, 4, true, true, "shed"}};

    fprintf(script, "set xlabel 'time, s'\nset ylabel 'effective latency, %s'\n", unit);
    if (result->has_gate)
        fputs("set y2range [0:100]\nset y2label 'shed, %'\n", script);
    else
        fputs("set border 3\nunset y2tics\nunset y2label\n", script);
    plot_range(script, "y", result->summary.eff_p99_s);
    print_lines(script, lines, result->has_gate ? 3 : 2);
}

void plot_time(FILE *script, const struct sweep *sweep, const struct result *result)
{
    struct units units = units_of(result);

    plot_begin(script, sweep, result->label.variant);
    print_rows(script, result, &units);
    fprintf(script, "set xrange [0:%.9g]\n", result_value(result, "end_s"));
    plot_work(script, &result->summary.counts);
    plot_queues(script, result, units.age);
    plot_latency(script, result, units.latency);
    fputs("unset multiplot\n", script);
}
