/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The whole journey of a packet, from the receive burst to the transmit burst.
 */
#include "dataplane/admission/state.h"
#include "tools/bench/rows.h"
#include "tools/bench/traffic.h"

/* One packet of each flow, in batches, in the order of their visits. */
static bool send_to_all(struct scene *scene, struct frame_kind kind)
{
    bool from_inside = kind.from_inside;
    struct side *outside = &scene->rings->outside, *inside = &scene->rings->inside;

    for (uint32_t done = 0; done < scene->plan.flows;) {
        unsigned n = RTE_MIN(scene->plan.flows - done, RINGS_BATCH);

        scene_visit(scene, n, 0);
        if (!traffic_send(scene, from_inside ? inside : outside, n, kind))
            return false;
        traffic_journey(scene, n, from_inside ? DIRECTION_OUT : DIRECTION_IN);
        if (!traffic_collect(from_inside ? outside : inside, n, frame_is_forwarded))
            return false;
        done += n;
    }
    return true;
}

/* Flows become known as in life, by their handshakes. */
static bool open_flows(struct scene *scene)
{
    return send_to_all(scene, (struct frame_kind){false, TCP_SYN}) &&
           send_to_all(scene, (struct frame_kind){true, TCP_SYN | TCP_ACK}) &&
           send_to_all(scene, (struct frame_kind){false, TCP_ACK});
}

/* Newcomers get entries that others have left, in no order, as in a gateway that has run a while;
 * the first ones of a fresh table would get them one after the other. */
static bool use_entries_once(struct scene *scene)
{
    bool sent;

    scene_shuffle(scene);
    sent = send_to_all(scene, (struct frame_kind){false, TCP_SYN});
    scene_forget_flows(scene);
    return sent;
}

static void run_journey(struct scene *scene, unsigned n)
{
    traffic_journey(scene, n, DIRECTION_IN);
}

/* What was refused before would be answered from memory. A flow that comes twice in a batch is. */
static void forget_answers(struct scene *scene, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        const struct attempt *attempt = &scene->batch_attempts[i];

        answered_forget(scene->worker->admission->answered,
                        answered_key(attempt->flow, attempt->isn));
    }
}

static uint64_t claimed_known(const struct scene *scene)
{
    return scene->worker->counters.forwarded[PASS_FLOW];
}

/* Passed while each flow's request held a slot. */
static uint64_t claimed_exchange(const struct scene *scene)
{
    return scene->worker->slots == scene->plan.flows ? claimed_known(scene) : 0;
}

static uint64_t claimed_new(const struct scene *scene)
{
    return scene->worker->counters.forwarded[PASS_ATTEMPT];
}

/* Refused by the rate, or that once more, and told so. */
static uint64_t claimed_refused(const struct scene *scene)
{
    const struct admission_service_counters *service =
        admission_service_counters(scene->worker->admission, 0);
    uint64_t again = service->attempt_packets - service->attempts;

    return RTE_MIN(scene->worker->counters.answered, service->refused[REASON_RATE] + again);
}

const struct row row_known = {.name = "known",
                              .tcp_flags = TCP_ACK,
                              .set_up = open_flows,
                              .run = run_journey,
                              .claimed = claimed_known};
/* More data of a request, whose slot was taken when it began: by the third packet of open_flows().
 */
const struct row row_known_exchange = {.name = "known_exchange",
                                       .service = SCENE_EXCHANGE,
                                       .tcp_flags = TCP_ACK,
                                       .set_up = open_flows,
                                       .run = run_journey,
                                       .claimed = claimed_exchange};
const struct row row_new = {.name = "new",
                            .newcomers = true,
                            .tcp_flags = TCP_SYN,
                            .set_up = use_entries_once,
                            .run = run_journey,
                            .claimed = claimed_new};
const struct row row_refused = {.name = "refused",
                                .spent = true,
                                .answered = true,
                                .tcp_flags = TCP_SYN,
                                .prepare = forget_answers,
                                .run = run_journey,
                                .claimed = claimed_refused};
