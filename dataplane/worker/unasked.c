/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets that belong to no flow of ours: what passes unasked, each under its own name, and the
 * limits that keep even those from being a way around the door.
 */
#include "dataplane/worker/steps.h"

static enum pass pass_of(enum packet_kind kind)
{
    switch (kind) {
    case PACKET_ICMP:
        return PASS_ICMP;
    case PACKET_ICMP_ERROR:
        return PASS_ICMP_ERROR;
    case PACKET_FRAGMENT:
        return PASS_FRAGMENT;
    case PACKET_OTHER:
        return PASS_OTHER;
    case PACKET_DEEP_VLAN:
        return PASS_DEEP_VLAN;
    case PACKET_DEEP_CHAIN:
        return PASS_DEEP_CHAIN;
    default:
        return PASS_CONTROL;
    }
}

/* Control traffic and ICMP errors keep the network alive: never shed or billed, only bounded. */
static void pass_bounded(struct burst *b, unsigned i, enum pass pass)
{
    struct lane *lane = b->lanes[i];
    enum control_kind kind = pass == PASS_ICMP_ERROR               ? CONTROL_ERRORS
                             : b->packets[i].kind == PACKET_NON_IP ? CONTROL_LINK
                                                                   : CONTROL_IP;

    if (lease_take(&lane->control[kind], &lane->control_pools[kind], 1, 0, b->now_ns))
        step_decide(b, i, ACTION_FORWARD, (uint8_t)pass);
    else
        step_decide(b, i, ACTION_DROP, REASON_CONTROL);
}

/* No ports to be read, so whoever the address belongs to pays, in packets and bits. */
static void pass_charged(struct burst *b, unsigned i, enum pass pass, uint32_t tenant)
{
    uint32_t ip_bytes = b->packets[i].ip_bytes;
    struct decision d = admission_charge(b->worker->admission, tenant, ip_bytes, b->now_ns);

    if (d.verdict == VERDICT_REFUSE) {
        step_decide(b, i, ACTION_DROP, (uint8_t)d.reason);
        return;
    }
    step_decide(b, i, ACTION_FORWARD, (uint8_t)pass);
}

/* Headers stacked deeper than we look could hide a SYN, so each packet is an attempt. */
static void pass_as_attempt(struct burst *b, unsigned i, enum pass pass, uint32_t tenant)
{
    const struct attempt attempt = {
        .tenant = tenant, .service = ADMISSION_NO_SERVICE, .ip_bytes = b->packets[i].ip_bytes};
    struct decision d = admission_offer(b->worker->admission, &attempt, b->now_ns);

    if (d.verdict == VERDICT_REFUSE) {
        step_decide(b, i, ACTION_DROP, (uint8_t)d.reason);
        return;
    }
    step_decide(b, i, ACTION_FORWARD, (uint8_t)pass);
}

static uint32_t tenant_id(const struct burst *b, uint32_t index)
{
    return policy_tenant_id(b->policy, index);
}

/* Towards the services. */
static void settle_in(struct burst *b, unsigned i, enum pass pass)
{
    const struct packet *packet = &b->packets[i];
    uint32_t tenant;

    if (pass == PASS_DEEP_VLAN) { /* the addresses behind the tags are unread */
        pass_as_attempt(b, i, pass, tenant_id(b, policy_default_tenant(b->policy)));
        return;
    }
    if (!policy_names_address(b->policy, &packet->destination)) {
        step_decide(b, i, ACTION_FORWARD, PASS_UNNAMED);
        return;
    }
    tenant = tenant_id(b, policy_find_tenant(b->policy, &packet->source, POLICY_NONE));
    if (pass == PASS_DEEP_CHAIN)
        pass_as_attempt(b, i, pass, tenant);
    else
        pass_charged(b, i, pass, tenant);
}

void step_settle_unasked(struct burst *b, unsigned i)
{
    enum pass pass = pass_of((enum packet_kind)b->packets[i].kind);

    if (pass == PASS_CONTROL || pass == PASS_ICMP_ERROR)
        pass_bounded(b, i, pass);
    else if (burst_direction(b, i) == DIRECTION_IN)
        settle_in(b, i, pass);
    else
        step_decide(b, i, ACTION_FORWARD, (uint8_t)pass);
}
