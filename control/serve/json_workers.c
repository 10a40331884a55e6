/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/serve/verb.h"

static json_t *passes(const struct worker_counters *c)
{
    json_t *object = json_object();

    for (unsigned p = 0; p < PASS_MAX; p++)
        object = json_with(object, pass_name(p), json_count(c->forwarded[p]));
    return object;
}

static uint64_t forwarded(const struct worker_counters *c)
{
    uint64_t sum = 0;

    for (unsigned p = 0; p < PASS_MAX; p++)
        sum += c->forwarded[p];
    return sum;
}

/* Every reason but those that are terms of their own: tx_failed and handoff_failed. */
static json_t *dropped(const struct worker_counters *c)
{
    json_t *object = json_reasons(c->dropped, REASON_MAX);

    if (object) {
        json_object_del(object, reason_name(REASON_TX));
        json_object_del(object, reason_name(REASON_HANDOFF));
    }
    return object;
}

/* The terms of the packet balance:
 * received + handed_in + made = forwarded + sum of dropped + answered + tx_failed + handed_out
 *                        + handoff_failed + held. */
static json_t *balance(const struct worker_view *v)
{
    const struct worker_counters *c = &v->counters;

    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:I, s:o, s:I, s:I, s:I, s:I, s:I}",
                     "lcore", (json_int_t)v->lcore, "cpu", (json_int_t)v->cpu, "numa_node",
                     (json_int_t)v->numa_node, "received", (json_int_t)c->received, "handed_in",
                     (json_int_t)c->handed_in, "made", (json_int_t)c->made, "passes", passes(c),
                     "forwarded", (json_int_t)forwarded(c), "dropped", dropped(c), "answered",
                     (json_int_t)c->answered, "tx_failed", (json_int_t)c->tx_failed, "handed_out",
                     (json_int_t)c->handed_out, "handoff_failed", (json_int_t)c->handoff_failed,
                     "held", (json_int_t)v->held);
}

static json_t *worker_of(const struct plane *plane, uint32_t worker)
{
    const struct plane_sample *sample = &plane->samples[worker];
    struct worker_view v;
    json_t *object;

    dataplane_worker_view(plane->dataplane, worker, &v);
    object = balance(&v);
    object = json_with(object, "slots", json_count(v.slots));
    object = json_with(
        object, "flows",
        json_pack("{s:I, s:I}", "used", (json_int_t)v.flows, "max", (json_int_t)v.flows_max));
    object = json_with(object, "aged_slots", json_count(v.counters.aged_slots));
    object = json_with(object, "policy_epoch", json_count(v.policy_epoch));
    object = json_with(object, "busy", json_rounded(sample->busy, 4));
    object = json_with(object, "cycles_per_packet", json_rounded(sample->cycles_per_packet, 1));
    object = json_with(object, "packets_per_s", json_rounded(sample->packets_per_s, 1));
    return json_with_steps(object, plane->dataplane, worker);
}

json_t *verb_workers(const struct request *request)
{
    json_t *list;

    if (request->n_words > 1)
        return sample_steps(request);
    list = json_array();
    for (uint32_t w = 0; w < dataplane_worker_count(request->plane->dataplane); w++)
        list = json_and(list, worker_of(request->plane, w));
    return json_with(json_listing("workers", list), "xdp", json_xdp_counters(request->plane));
}
