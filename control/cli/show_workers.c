/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/cli/show.h"

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
        {"forwarded", "forwarded"},
        {"dropped", "dropped"},
        {"answered", "answered"},
        {"tx failed", "tx_failed"},
        {"handed out", "handed_out"},
        {"handoff failed", "handoff_failed"},
        {"held", "held"},
    };
    const json_t *list = json_object_get(answer, "workers");

    SHOW_ROWS(out, NULL, list, load);
    SHOW_ROWS(out, "packets: received + handed in = all the others", list, balance);
    show_members_down(out, "forwarded, by cause", list, "lcore", "passes");
    show_members_down(out, "dropped, by reason", list, "lcore", "dropped");
}
