/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The decision alone: what admission costs a worker for each attempt or packet, no packet in sight.
 */
#include "dataplane/packet/parse.h"
#include "tools/bench/rows.h"

static void settle(struct scene *scene, struct decision decision)
{
    if (decision.verdict == VERDICT_ADMIT)
        scene->admitted++;
    else
        scene->refused++;
}

static void run_charge(struct scene *scene, unsigned n)
{
    struct worker *w = scene->worker;

    for (unsigned i = 0; i < n; i++) {
        const struct attempt *attempt = &scene->batch_attempts[i];

        if (i % BURST_MAX == 0)
            scene_tick(scene);
        settle(scene,
               admission_charge(w->admission, attempt->tenant, attempt->ip_bytes, w->burst.now_ns));
    }
}

static void run_admit(struct scene *scene, unsigned n)
{
    struct worker *w = scene->worker;

    for (unsigned i = 0; i < n; i++) {
        const struct attempt *attempt = &scene->batch_attempts[i];
        struct decision decision;

        if (i % BURST_MAX == 0)
            scene_attempts_arrive(scene, i, n);
        decision = admission_offer(w->admission, attempt, w->burst.now_ns);
        settle(scene, decision);
        if (decision.verdict == VERDICT_ADMIT)
            admission_complete(
                w->admission,
                &(struct slot){
                    .tenant = attempt->tenant, .service = attempt->service, .held = decision.held},
                &(struct ending){.outcome = OUTCOME_FINISHED, .client = attempt->client},
                w->burst.now_ns);
    }
}

static void run_refuse(struct scene *scene, unsigned n)
{
    struct worker *w = scene->worker;

    for (unsigned i = 0; i < n; i++) {
        if (i % BURST_MAX == 0)
            scene_attempts_arrive(scene, i, n);
        settle(scene, admission_offer(w->admission, &scene->batch_attempts[i], w->burst.now_ns));
    }
}

static uint64_t claimed_charge(const struct scene *scene)
{
    return scene->admitted;
}

static uint64_t claimed_admit(const struct scene *scene)
{
    const struct admission_service_counters *service =
        admission_service_counters(scene->worker->admission, 0);

    return RTE_MIN(service->admitted, service->outcomes[OUTCOME_FINISHED]);
}

static uint64_t claimed_refuse(const struct scene *scene)
{
    return admission_service_counters(scene->worker->admission, 0)->refused[REASON_RATE];
}

const struct row row_charge = {.name = "decision_charge",
                               .decision = true,
                               .tcp_flags = TCP_ACK,
                               .run = run_charge,
                               .claimed = claimed_charge};
const struct row row_admit = {.name = "decision_admit",
                              .decision = true,
                              .tcp_flags = TCP_SYN,
                              .run = run_admit,
                              .claimed = claimed_admit};
const struct row row_refuse = {.name = "decision_refuse",
                               .decision = true,
                               .spent = true,
                               .tcp_flags = TCP_SYN,
                               .prepare = scene_make_new,
                               .run = run_refuse,
                               .claimed = claimed_refuse};
