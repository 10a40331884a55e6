/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "control/serve/verb.h"

static json_t *queues(const struct port_view *port)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < port->n_queues; i++) {
        const struct queue_view *queue = &port->queues[i];

        list = json_and(list, json_pack("{s:I, s:I, s:s, s:I}", "queue", (json_int_t)queue->queue,
                                        "depth", (json_int_t)queue->depth, "depth_source",
                                        queue->depth_source, "missed", (json_int_t)queue->missed));
    }
    return list;
}

static json_t *port_of(const struct port_view *port)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:o}", "device",
                     port->device, "gate", port->gate, "side", port->side, "driver", port->driver,
                     "link", port->link_up ? "up" : "down", "rx_packets",
                     (json_int_t)port->rx_packets, "tx_packets", (json_int_t)port->tx_packets,
                     "rx_bytes", (json_int_t)port->rx_bytes, "tx_bytes", (json_int_t)port->tx_bytes,
                     "rx_no_mbuf", (json_int_t)port->rx_no_mbuf, "queues", queues(port));
}

json_t *verb_ports(const struct request *request)
{
    const struct dataplane *dp = request->plane->dataplane;
    json_t *list = json_array();

    for (uint32_t p = 0; p < dataplane_port_count(dp); p++) {
        struct port_view view;
        int err = dataplane_port_view(dp, p, &view);

        if (err < 0) {
            char message[128];

            snprintf(message, sizeof(message), "port %u cannot be read: %s", p, strerror(-err));
            json_decref(list);
            return json_error("internal", message, NULL, NULL);
        }
        list = json_and(list, port_of(&view));
    }
    return json_listing("ports", list);
}
