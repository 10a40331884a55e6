/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the programs are told: the policy, whom to hand packets to, and what the control loop says.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <string.h>

#include "control/plane/xdp_parts.h"
#include "dataplane/admission/quota.h"

/* -- policy -- */

void xdp_publish(struct xdp *xdp, const struct policy *policy)
{
    struct xdp_control *control = xdp->maps.arrays.control;
    uint32_t bank;
    int err;

    if (!xdp_any_on(xdp))
        return;
    bank = control->ready ? 1 - control->bank : 0;
    err = xdp_maps_wait(&xdp->maps);
    if (!err)
        err = xdp_bank_fill(&xdp->maps.arrays, bank, policy);
    if (err) {
        fprintf(stderr, "sluiced: the XDP programs keep the policy they have: %s\n",
                strerror(-err));
        return;
    }
    __atomic_store_n(&control->bank, bank, __ATOMIC_RELEASE);
    __atomic_store_n(&control->ready, 1, __ATOMIC_RELEASE);
}

/* -- interfaces -- */

/* The other interface of the gate: configuration lets only gates redirect that have one each side.
 */
static const struct xdp_interface *peer_of(const struct xdp *xdp,
                                           const struct xdp_interface *interface)
{
    for (uint32_t i = 0; i < xdp->n_interfaces; i++) {
        const struct xdp_interface *peer = &xdp->interfaces[i];

        if (peer != interface && peer->gate == interface->gate && peer->side != interface->side)
            return peer;
    }
    return NULL;
}

static int enter_device(const struct xdp *xdp, const struct xdp_interface *interface)
{
    return bpf_map_update_elem(xdp_maps_fd(&xdp->maps, "devices"), &interface->port,
                               &interface->index, BPF_ANY);
}

static uint8_t standby_towards(const struct xdp_interface *peer, bool there)
{
    return there && peer->gate->xdp.redirect ? XDP_STANDBY_REDIRECT : XDP_STANDBY_PASS;
}

void xdp_tell_peer(struct xdp *xdp, const struct xdp_interface *interface, bool there)
{
    const struct xdp_interface *peer = peer_of(xdp, interface);

    if (peer && peer->on && interface->on)
        __atomic_store_n(&xdp->maps.arrays.ports[peer->port].standby,
                         standby_towards(interface, there), __ATOMIC_RELAXED);
}

/* Before any program is attached; a former daemon's may be. */
int xdp_tell_ports(struct xdp *xdp)
{
    int err = 0;

    for (uint32_t i = 0; i < xdp->n_interfaces && !err; i++) {
        const struct xdp_interface *interface = &xdp->interfaces[i];
        const struct xdp_interface *peer = peer_of(xdp, interface);

        if (!interface->on)
            continue;
        xdp->maps.arrays.ports[interface->port] = (struct xdp_port){
            .peer = peer ? peer->port : 0,
            .direction = strcmp(interface->side, "outside") ? DIRECTION_OUT : DIRECTION_IN,
            .standby = standby_towards(interface, peer && peer->on && peer->attached.id),
            .standby_after_ns = interface->gate->xdp.standby_after_ns,
            .control = quota_rate_of_events(&interface->gate->control),
        };
        err = enter_device(xdp, interface);
    }
    return err;
}

static void tell_worker(struct xdp *xdp, const struct receive_view *queue)
{
    for (uint32_t i = 0; i < xdp->n_interfaces; i++) {
        struct xdp_interface *interface = &xdp->interfaces[i];
        uint32_t number = interface->first_queue + queue->queue;

        if (!interface->on || strcmp(interface->device, queue->device) != 0 ||
            number >= XDP_QUEUES_MAX)
            continue;
        xdp->maps.arrays.ports[interface->port].worker[number] = (uint8_t)queue->worker;
        interface->workers |= 1ull << queue->worker;
    }
}

void xdp_serve(struct xdp *xdp, struct dataplane *dataplane)
{
    xdp->dataplane = dataplane;
    for (uint32_t i = 0; i < xdp->n_interfaces; i++)
        xdp_forget_left(&xdp->interfaces[i]);
    if (!xdp_any_on(xdp))
        return;
    xdp->maps.arrays.control->seed = *dataplane_client_seed(dataplane);
    for (uint32_t i = 0; i < dataplane_receive_count(dataplane); i++) {
        struct receive_view queue;

        dataplane_receive_view(dataplane, i, &queue);
        tell_worker(xdp, &queue);
    }
}

/* -- advice -- */

/* Services that are told about in one period: more take their turns, for each has sums over all
 * workers to be made. */
#define TOLD_MAX 256u

void xdp_tend(struct xdp *xdp)
{
    const struct policy *policy = dataplane_policy(xdp->dataplane);
    uint32_t n = policy_service_count(policy);

    for (uint32_t i = 0; i < xdp->n_interfaces; i++)
        xdp_answer_claims(&xdp->interfaces[i]);
    if (!xdp_any_on(xdp))
        return;
    for (uint32_t told = 0; told < n && told < TOLD_MAX; told++) {
        const struct policy_service *service = policy_service(policy, xdp->next_told++ % n);
        struct service_view view;

        dataplane_service_view(xdp->dataplane, service, &view);
        xdp_advice_write(&xdp->maps.arrays.advice[service->id],
                         dataplane_service_advice(xdp->dataplane, service->id),
                         view.capacity_per_s);
    }
    xdp_count_tend(xdp);
}
