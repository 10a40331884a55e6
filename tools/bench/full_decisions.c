/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decisions with everything on: every quota, window, share, wait queue, deadline, breaker and
 * shedding are asked. What the control thread would publish is written into its place.
 */
#include "dataplane/admission/state.h"
#include "tools/bench/rows.h"

#define SHED_NEARLY_NONE 1u         /* of 2^32: asked, and nobody is hit */
#define SHED_ALL         UINT32_MAX /* but one of 2^32 */
#define INTERVAL_NS      1000u
#define SERVICE_NS       1000000u
#define HELD_NS          500000u

static struct service_shared *shared_of(const struct scene *scene)
{
    return &scene->worker->admission->shared->services[0];
}

static void publish(struct scene *scene, uint32_t shed)
{
    struct advice *advice = &shared_of(scene)->advice;

    for (unsigned c = 0; c < CLASS_MAX; c++)
        advice->shed[c] = shed;
    advice->stamped_ns = scene->worker->burst.now_ns;
    advice->promise.interval_ns = INTERVAL_NS;
    advice->promise.service_ns = SERVICE_NS;
}

/* In every batch, as what is published ages. */
static void publish_calm(struct scene *scene, unsigned n)
{
    (void)n;
    publish(scene, SHED_NEARLY_NONE);
}

static void publish_overload(struct scene *scene, unsigned n)
{
    publish(scene, SHED_ALL);
    scene_make_new(scene, n);
}

static void publish_calm_to_new(struct scene *scene, unsigned n)
{
    publish(scene, SHED_NEARLY_NONE);
    scene_make_new(scene, n);
}

static void remember_answers(struct scene *scene, unsigned n)
{
    struct worker *w = scene->worker;

    publish(scene, SHED_ALL);
    for (unsigned i = 0; i < n; i++) {
        const struct attempt *attempt = &scene->batch_attempts[i];

        answered_note(w->admission->answered, answered_key(attempt->flow, attempt->isn),
                      REASON_SHED, w->burst.now_ns);
    }
}

static void fill(struct window *window, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        window_force(window);
}

/* What is guaranteed to the shares they have, so that none of it is missing. */
static void fill_window(struct scene *scene)
{
    fill(&shared_of(scene)->window, SCENE_SLOTS);
    for (unsigned share = 1; share <= SCENE_SHARES; share++)
        fill(&shared_of(scene)->shares[share], SCENE_GUARANTEED);
}

static bool fill_all(struct scene *scene)
{
    fill_window(scene);
    fill(&shared_of(scene)->waiting, SCENE_PLACES);
    return true;
}

/* -- admitted -- */

/* Up to a millisecond more, another time for each attempt: times are counted in many cells. */
static void complete(struct scene *scene, const struct slot *slot, const struct attempt *attempt)
{
    uint64_t held_ns = HELD_NS + attempt->flow % (1u << 20);

    admission_complete(scene->worker->admission, slot,
                       &(struct ending){.outcome = OUTCOME_FINISHED,
                                        .client = attempt->client,
                                        .held_ns = held_ns,
                                        .latency_ns = held_ns},
                       scene->worker->burst.now_ns);
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
        if (decision.verdict == VERDICT_ADMIT)
            complete(
                scene,
                &(struct slot){attempt->tenant, attempt->service, attempt->share, decision.held},
                attempt);
    }
}

static uint64_t claimed_admit(const struct scene *scene)
{
    const struct admission_service_counters *service =
        admission_service_counters(scene->worker->admission, 0);

    return RTE_MIN(service->admitted, service->ledger.pieces[LEDGER_USEFUL]);
}

/* -- waited: the slots are taken, and each attempt gets the one before it has had -- */

static bool fill_slots(struct scene *scene)
{
    scene->own = calloc(1, sizeof(struct released));
    fill_window(scene);
    return scene->own;
}

static void free_last(struct scene *scene)
{
    free(scene->own);
}

static void run_wait(struct scene *scene, unsigned n)
{
    struct worker *w = scene->worker;
    struct released *last = scene->own;

    for (unsigned i = 0; i < n; i++) {
        const struct attempt *attempt = &scene->batch_attempts[i];

        if (i % BURST_MAX == 0)
            scene_attempts_arrive(scene, i, n);
        if (admission_offer(w->admission, attempt, w->burst.now_ns).verdict != VERDICT_WAIT)
            return;
        if (scene->admitted > 0)
            complete(scene, &last->slot, attempt);
        else
            window_release(&shared_of(scene)->window);
        scene->admitted += admission_poll(w->admission, w->burst.now_ns, last, 1);
    }
}

static uint64_t claimed_wait(const struct scene *scene)
{
    const struct admission_service_counters *service =
        admission_service_counters(scene->worker->admission, 0);

    return RTE_MIN(service->admitted, service->waited);
}

/* -- refused -- */

static void run_refuse(struct scene *scene, unsigned n)
{
    struct worker *w = scene->worker;

    for (unsigned i = 0; i < n; i++) {
        if (i % BURST_MAX == 0)
            scene_attempts_arrive(scene, i, n);
        admission_offer(w->admission, &scene->batch_attempts[i], w->burst.now_ns);
    }
}

static uint64_t claimed_shed(const struct scene *scene)
{
    return admission_service_counters(scene->worker->admission, 0)->refused[REASON_SHED];
}

static uint64_t claimed_capacity(const struct scene *scene)
{
    return admission_service_counters(scene->worker->admission, 0)->refused[REASON_CAPACITY];
}

/* Where many flows share a line of the memory, some are pushed out of it and refused anew. */
static uint64_t claimed_repeat(const struct scene *scene)
{
    const struct admission_service_counters *service =
        admission_service_counters(scene->worker->admission, 0);

    return service->attempt_packets - service->attempts + service->refused[REASON_SHED];
}

const struct row rows_full[ROWS_FULL] = {
    {.name = "decision_full_admit",
     .decision = true,
     .service = SCENE_GUARDED,
     .tcp_flags = TCP_SYN,
     .prepare = publish_calm,
     .run = run_admit,
     .claimed = claimed_admit},
    {.name = "decision_full_wait",
     .decision = true,
     .service = SCENE_GUARDED,
     .tcp_flags = TCP_SYN,
     .set_up = fill_slots,
     .tear_down = free_last,
     .prepare = publish_calm,
     .run = run_wait,
     .claimed = claimed_wait},
    {.name = "decision_full_shed",
     .decision = true,
     .service = SCENE_GUARDED,
     .tcp_flags = TCP_SYN,
     .prepare = publish_overload,
     .run = run_refuse,
     .claimed = claimed_shed},
    {.name = "decision_full_capacity",
     .decision = true,
     .service = SCENE_GUARDED,
     .tcp_flags = TCP_SYN,
     .set_up = fill_all,
     .prepare = publish_calm_to_new,
     .run = run_refuse,
     .claimed = claimed_capacity},
    {.name = "decision_full_repeat",
     .decision = true,
     .service = SCENE_GUARDED,
     .tcp_flags = TCP_SYN,
     .prepare = remember_answers,
     .run = run_refuse,
     .claimed = claimed_repeat},
};
