/* SPDX-License-Identifier: BSD-3-Clause */
#include <time.h>

#include "control/serve/verb.h"

static json_t *epochs(const struct plane *plane)
{
    json_t *workers = json_array();

    for (uint32_t w = 0; w < dataplane_worker_count(plane->dataplane); w++) {
        struct worker_view view;

        dataplane_worker_view(plane->dataplane, w, &view);
        workers = json_and(workers, json_count(view.policy_epoch));
    }
    return json_pack("{s:I, s:o}", "epoch", (json_int_t)plane->settings->policy.epoch, "workers",
                     workers);
}

static json_t *devices(const struct port_settings *port)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < port->n_devices; i++)
        list = json_and(list, json_string(port->devices[i]));
    return list;
}

static json_t *gates(const struct dataplane_settings *settings)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < settings->n_gates; i++) {
        const struct gate_settings *gate = &settings->gates[i];

        list = json_and(list, json_pack("{s:s, s:o, s:o}", "name", gate->name, "outside",
                                        devices(&gate->outside), "inside", devices(&gate->inside)));
    }
    return list;
}

static json_t *clock_of(const struct plane *plane)
{
    const char *mode = plane->settings->dataplane.eal.clock == CLOCK_TSC ? "tsc" : "packets";

    return json_pack("{s:s, s:I, s:I, s:I}", "mode", mode, "tsc_hz_reported",
                     (json_int_t)dataplane_tsc_hz_reported(plane->dataplane), "tsc_hz_measured",
                     (json_int_t)dataplane_tsc_hz_measured(plane->dataplane), "error_ns",
                     (json_int_t)dataplane_clock_error_ns(plane->dataplane));
}

static uint64_t uptime_s(const struct plane *plane)
{
    struct timespec now;
    uint64_t now_ns;

    clock_gettime(CLOCK_MONOTONIC, &now);
    now_ns = (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
    return (now_ns - plane->started_ns) / 1000000000ull;
}

/* The gateway's own overload, whatever service is asked for. */
static json_t *gateway(const struct plane *plane)
{
    double shed[CLASS_MAX];

    dataplane_gateway_shed(plane->dataplane, shed);
    return json_with(json_object(), "shed", json_classes(shed, 4));
}

json_t *verb_status(const struct request *request)
{
    const struct plane *plane = request->plane;

    return json_pack("{s:i, s:s, s:I, s:o, s:s, s:o, s:o, s:o, s:o}", "version", ANSWER_VERSION,
                     "release", SLUICE_VERSION, "uptime_s", (json_int_t)uptime_s(plane), "policy",
                     epochs(plane), "memory", dataplane_memory(plane->dataplane), "clock",
                     clock_of(plane), "gates", gates(&plane->settings->dataplane), "xdp",
                     json_xdp_brief(plane), "gateway", gateway(plane));
}
