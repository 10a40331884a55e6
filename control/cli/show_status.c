/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/cli/show.h"
#include "control/cli/table.h"

void show_status(const json_t *answer, FILE *out)
{
    static const struct column facts[] = {
        {"release", "release"},
        {"uptime, s", "uptime_s"},
        {"policy epoch", "policy.epoch"},
        {"memory", "memory"},
        {"clock", "clock.mode"},
        {"TSC, Hz: reported", "clock.tsc_hz_reported"},
        {"TSC, Hz: measured", "clock.tsc_hz_measured"},
        {"clock error, ns", "clock.error_ns"},
        {"gateway sheds of bulk", "gateway.shed.bulk"},
        {"gateway sheds of normal", "gateway.shed.normal"},
        {"gateway sheds of critical", "gateway.shed.critical"},
    };
    static const struct column gates[] = {
        {"<gate", "name"},
        {"<outside", "outside"},
        {"<inside", "inside"},
    };
    static const struct column programs[] = {
        {"<gate", "gate"},   {"<side", "side"}, {"<interface", "interface"},
        {"<state", "state"}, {"<mode", "mode"},
    };
    const json_t *workers = show_at(answer, "policy.workers"), *epoch;
    struct table table;
    size_t w;

    table_start(&table, 2);
    table_cell(&table, "<sluiced");
    table_cell(&table, "<");
    for (unsigned f = 0; f < sizeof(facts) / sizeof(facts[0]); f++) {
        table_cell(&table, facts[f].heading);
        show_cell(&table, show_at(answer, facts[f].path));
    }
    json_array_foreach (workers, w, epoch) {
        table_cellf(&table, "policy epoch, worker %zu", w);
        show_cell(&table, epoch);
    }
    table_finish(&table, out);
    SHOW_ROWS(out, "gates", json_object_get(answer, "gates"), gates);
    if (json_array_size(json_object_get(answer, "xdp")))
        SHOW_ROWS(out, "XDP", json_object_get(answer, "xdp"), programs);
}

void show_help(const json_t *answer, FILE *out)
{
    static const struct column verbs[] = {
        {"<verb", "name"},
        {"<arguments", "arguments"},
        {"<what it does", "help"},
    };

    SHOW_ROWS(out, NULL, json_object_get(answer, "verbs"), verbs);
}
