/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/cli/show.h"

/* The queues of all ports in one list, each with the name of its device. */
static json_t *all_queues(const json_t *ports)
{
    json_t *list = json_array();
    const json_t *port, *queue;
    size_t p, q;

    json_array_foreach (ports, p, port) {
        json_array_foreach (json_object_get(port, "queues"), q, queue) {
            json_t *row = json_copy((json_t *)queue);

            json_object_set(row, "device", json_object_get(port, "device"));
            json_array_append_new(list, row);
        }
    }
    return list;
}

void show_ports(const json_t *answer, FILE *out)
{
    static const struct column counts[] = {
        {"<device", "device"},        {"<gate", "gate"},        {"<side", "side"},
        {"<driver", "driver"},        {"<link", "link"},        {"rx packets", "rx_packets"},
        {"tx packets", "tx_packets"}, {"rx bytes", "rx_bytes"}, {"tx bytes", "tx_bytes"},
        {"no mbuf", "rx_no_mbuf"},
    };
    static const struct column depths[] = {
        {"<device", "device"},           {"queue", "queue"},   {"depth", "depth"},
        {"<depth from", "depth_source"}, {"missed", "missed"},
    };
    const json_t *list = json_object_get(answer, "ports");
    json_t *queues = all_queues(list);

    SHOW_ROWS(out, NULL, list, counts);
    SHOW_ROWS(out, "queues", queues, depths);
    json_decref(queues);
}
