/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "control/serve/verb.h"

#define WORKER_PLACES 3 /* of one among several; a lone one hands nothing over */
#define DAEMON_PLACES 2

/* `fill` and `bound` in what waits there: packets, attempts, policies, clients. */
static json_t *place(const char *name, const char *of, json_t *bound, uint64_t fill)
{
    return json_pack("{s:s, s:s, s:o, s:I}", "place", name, "of", of, "bound", bound, "fill",
                     (json_int_t)fill);
}

static json_t *aged(json_t *object, uint64_t oldest_ns)
{
    return json_with(object, "oldest_ms", json_ms(oldest_ns));
}

static json_t *receive(const struct dataplane *dp, uint32_t index)
{
    struct receive_view view;
    char of[DATAPLANE_NAME_MAX + 16];
    json_t *object;

    dataplane_receive_view(dp, index, &view);
    snprintf(of, sizeof(of), "%s queue %u", view.device, view.queue);
    object = place("receive", of, view.bound ? json_count(view.bound) : json_null(), view.depth);
    return json_with(aged(object, 0), "depth_source", json_string(view.depth_source));
}

static uint32_t worker_places(const struct dataplane *dp)
{
    return dataplane_worker_count(dp) > 1 ? WORKER_PLACES : 1;
}

static json_t *of_worker(const struct dataplane *dp, uint32_t index)
{
    uint32_t worker = index / worker_places(dp);
    struct worker_view view;
    char of[32];

    dataplane_worker_view(dp, worker, &view);
    snprintf(of, sizeof(of), "worker %u", worker);
    switch (index % worker_places(dp)) {
    case 0:
        return aged(place("held", of, json_count(view.held_max), view.held), 0);
    case 1:
        return aged(place("judge", of, json_count(view.handover_max), view.judge), 0);
    default:
        return aged(place("send", of, json_count(view.handover_max), view.send), 0);
    }
}

static json_t *of_service(const struct plane *plane, uint32_t index)
{
    const struct policy_service *service = &plane->settings->policy.services[index];
    struct service_view view;

    dataplane_service_view(plane->dataplane, service, &view);
    return aged(place("wait", service->name, json_count(service->wait.places), view.waiting),
                view.oldest_wait_ns);
}

static json_t *of_daemon(const struct plane *plane, uint32_t index)
{
    if (index == 0)
        return aged(place("policies", "sluiced", json_count(DATAPLANE_RETIRED_MAX),
                          dataplane_retired_count(plane->dataplane)),
                    0);
    return aged(place("clients", "sluiced", json_count(CONTROL_CLIENTS_MAX), plane->clients), 0);
}

static json_t *place_at(const struct plane *plane, uint32_t index)
{
    const struct dataplane *dp = plane->dataplane;
    uint32_t n = dataplane_receive_count(dp);

    if (index < n)
        return receive(dp, index);
    index -= n;
    n = dataplane_worker_count(dp) * worker_places(dp);
    if (index < n)
        return of_worker(dp, index);
    index -= n;
    n = plane->settings->policy.n_services;
    return index < n ? of_service(plane, index) : of_daemon(plane, index - n);
}

static uint32_t place_count(const struct plane *plane)
{
    const struct dataplane *dp = plane->dataplane;

    return dataplane_receive_count(dp) + dataplane_worker_count(dp) * worker_places(dp) +
           plane->settings->policy.n_services + DAEMON_PLACES;
}

const struct listing listing_queues = {"queues", 32, place_count, place_at};
