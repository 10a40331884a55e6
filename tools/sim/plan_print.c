/* SPDX-License-Identifier: BSD-3-Clause */
/* A plan as a table, as JSON, and as configuration. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/sizing.h"
#include "dataplane/admission/bucket.h"
#include "tools/sim/plan.h"

static const char *const unit_names[] = {
    [UNIT_CONNECTION] = "connection", [UNIT_EXCHANGE] = "exchange", [UNIT_DATAGRAM] = "datagram"};

/* In the unit of a configuration that needs no decimals. */
static void print_duration(double duration_s, FILE *out)
{
    uint64_t duration_us = (uint64_t)llround(duration_s * 1e6);

    if (duration_us % 1000)
        fprintf(out, "\"%" PRIu64 "us\"", duration_us);
    else if (duration_us % 1000000)
        fprintf(out, "\"%" PRIu64 "ms\"", duration_us / 1000);
    else
        fprintf(out, "\"%" PRIu64 "s\"", duration_us / 1000000);
}

/* n / period x period is n but for the last bits. */
static bool is_whole(double value)
{
    return fabs(value - round(value)) <= 1e-14 * value;
}

/* In the shortest period of which it is a whole number, or else in the longest that a configuration
 * can state it in, for that loses least to rounding down. */
static void print_rate(double rate_per_s, FILE *out)
{
    static const struct {
        const char *name;
        double s;
    } periods[] = {{"s", 1}, {"min", 60}, {"h", 3600}, {"day", 86400}};
    size_t i = 0;

    while (i < 3 && !is_whole(rate_per_s * periods[i].s) &&
           rate_per_s * periods[i + 1].s <= (double)BUCKET_RATE_MAX)
        i++;
    fprintf(out, "\"%.0f/%s\"", floor(rate_per_s * periods[i].s * (1 + 1e-14)), periods[i].name);
}

static void print_flows(const struct plan *plan, FILE *out)
{
    fprintf(out, "flows = { %s = ", plan->in.unit == UNIT_DATAGRAM ? "udp_idle" : "tcp_idle");
    print_duration(plan->idle_s, out);
    fputs("; };\n", out);
}

static void print_service(const struct plan *plan, FILE *out)
{
    const struct plan_input *in = &plan->in;

    fprintf(
        out,
        "{ name = \"planned\"; addresses = [\"192.0.2.1\"]; protocol = \"%s\"; ports = [\"80\"];\n"
        "  unit = \"%s\"; window = %.0f; capacity = ",
        in->unit == UNIT_DATAGRAM ? "udp" : "tcp", unit_names[in->unit], plan->window);
    print_rate(in->capacity_per_s, out);
    if (in->deadline_s) {
        fputs("; deadline = ", out);
        print_duration(in->deadline_s, out);
    }
    fprintf(out, ";\n  wait = { places = %.0f; age = ", plan->places);
    print_duration(plan->age_s, out);
    fputs("; order = \"fifo\"; };\n  shed = { ceiling = 0.98; ", out);
    if (in->critical_per_s) {
        fputs("reserve = ", out);
        print_rate(in->critical_per_s, out);
        fputs("; ", out);
    }
    fputs("}; }\n", out);
}

/* Without padding behind the last column. */
static void print_rows(const struct plan *plan, FILE *out)
{
    int width = 0;

    for (uint32_t i = 0; i < plan->n_rows; i++)
        if ((int)strlen(plan->rows[i].name) > width)
            width = (int)strlen(plan->rows[i].name);
    fprintf(out, "%-*s  %10s  %s\n", width, "name", "value", "formula");
    for (uint32_t i = 0; i < plan->n_rows; i++) {
        const struct plan_row *row = &plan->rows[i];

        if (isinf(row->value))
            fprintf(out, "%-*s  %10s  %s\n", width, row->name, "-", row->formula);
        else
            fprintf(out, "%-*s  %10.6g  %s\n", width, row->name, row->value, row->formula);
    }
}

void plan_print(const struct plan *plan, FILE *out)
{
    print_rows(plan, out);
    if (plan->idle_s) {
        fputs("\n# Beside services = ( ... ):\n", out);
        print_flows(plan, out);
    }
    fputs("\n# In services = ( ... ), with a name, addresses and ports of its own:\n", out);
    print_service(plan, out);
}

static json_t *number(double value)
{
    if (isinf(value))
        return json_null();
    return value == floor(value) && fabs(value) < 1e15 ? json_integer((json_int_t)value)
                                                       : json_real(value);
}

static json_t *text_of(const struct plan *plan, void (*print)(const struct plan *plan, FILE *out))
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    json_t *string;

    if (!out)
        return NULL;
    print(plan, out);
    string = fclose(out) ? NULL : json_string(text);
    free(text);
    return string;
}

void plan_print_json(const struct plan *plan, FILE *out)
{
    json_t *root = json_object(), *values = json_object(), *formulas = json_object();

    for (uint32_t i = 0; i < plan->n_rows; i++) {
        json_object_set_new(values, plan->rows[i].name, number(plan->rows[i].value));
        json_object_set_new(formulas, plan->rows[i].name, json_string(plan->rows[i].formula));
    }
    json_object_set_new(root, "version", json_integer(1));
    json_object_set_new(root, "values", values);
    json_object_set_new(root, "formulas", formulas);
    json_object_set_new(root, "flows", plan->idle_s ? text_of(plan, print_flows) : json_null());
    json_object_set_new(root, "service", text_of(plan, print_service));
    json_dumpf(root, out, JSON_COMPACT);
    fputc('\n', out);
    json_decref(root);
}
