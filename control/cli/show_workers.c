/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/cli/show.h"
#include "control/cli/table.h"

void show_workers(const json_t *answer, FILE *out)
{
    static const struct column load[] = {
        {"lcore", "lcore"},
        {"cpu", "cpu"},
        {"node", "numa_node"},
        {"busy", "busy"},
        {"packets/s", "packets_per_s"},
        {"cycles/packet", "cycles_per_packet"},
        {"flows", "flows.used"},
        {"flows max", "flows.max"},
        {"slots", "slots"},
        {"aged slots", "aged_slots"},
        {"policy epoch", "policy_epoch"},
    };
    static const struct column balance[] = {
        {"lcore", "lcore"},
        {"received", "received"},
        {"handed in", "handed_in"},
        {"made", "made"},
        {"forwarded", "forwarded"},
        {"dropped", "dropped"},
        {"answered", "answered"},
        {"tx failed", "tx_failed"},
        {"handed out", "handed_out"},
        {"handoff failed", "handoff_failed"},
        {"held", "held"},
    };
    static const struct column before[] = {
        {"<interface", "interface"}, {"received", "received"},     {"socket", "socket"},
        {"passed", "passed"},        {"redirected", "redirected"}, {"dropped", "dropped"},
    };
    const json_t *list = json_object_get(answer, "workers");

    SHOW_ROWS(out, NULL, list, load);
    SHOW_ROWS(out, "packets: received + handed in + made = all the others", list, balance);
    if (json_array_size(json_object_get(answer, "xdp")))
        SHOW_ROWS(out, "XDP: received = socket + passed + redirected + dropped",
                  json_object_get(answer, "xdp"), before);
    show_members_down(out, "forwarded, by cause", list, "lcore", "passes");
    show_members_down(out, "dropped, by reason", list, "lcore", "dropped");
}

static void steps_heading(struct table *table, const json_t *steps)
{
    const char *step;
    json_t *cost;

    table_cell(table, "lcore");
    table_cell(table, "bursts");
    table_cell(table, "packets/burst");
    json_object_foreach ((json_t *)steps, step, cost)
        table_cell(table, step);
    table_cell(table, "total");
}

/* A worker that had no packets shows no costs. */
static void steps_row(struct table *table, const json_t *worker, const json_t *steps)
{
    json_int_t bursts = json_integer_value(show_at(worker, "sampled.bursts"));
    json_int_t packets = json_integer_value(show_at(worker, "sampled.packets"));
    const char *step;
    json_t *cost;

    show_cell(table, show_at(worker, "lcore"));
    table_cellf(table, "%" JSON_INTEGER_FORMAT, bursts);
    if (bursts)
        table_cellf(table, "%.1f", (double)packets / (double)bursts);
    else
        table_cell(table, "-");
    json_object_foreach ((json_t *)steps, step, cost)
        show_cell(table, bursts ? show_at(json_object_get(show_at(worker, "steps"), step),
                                          "cycles_per_packet")
                                : NULL);
    show_cell(table, bursts ? show_at(worker, "sampled.cycles_per_packet") : NULL);
}

void show_steps(const json_t *answer, FILE *out)
{
    const json_t *list = json_object_get(answer, "workers"), *worker;
    const json_t *steps = show_at(json_array_get(list, 0), "steps");
    struct table table;
    size_t i;

    fputs("cycles per packet, by step\n", out);
    table_start(&table, 4 + (unsigned)json_object_size(steps));
    steps_heading(&table, steps);
    json_array_foreach (list, i, worker)
        steps_row(&table, worker, steps);
    table_finish(&table, out);
}
