/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/worker/loop.h"

#include <rte_cycles.h>
#include <sys/prctl.h>
#include <time.h>

#include "dataplane/worker/journey.h"
#include "dataplane/worker/outlet.h"
#include "dataplane/worker/replay.h"
#include "dataplane/worker/silences.h"
#include "dataplane/worker/stopwatch.h"

/* Empty loops before a worker with idle = "sleep" sleeps, and for how long: soon and briefly, then,
 * when nothing has come for about a tenth of a second, longer. On a two-core lab the short nap
 * costs a few per cent of a core and 50 us of latency. */
#define IDLE_LOOPS_BEFORE_NAP  16
#define IDLE_LOOPS_BEFORE_REST 2000
#define NAP_NS                 50000
#define REST_NS                250000

/* Bursts that may be waiting in the queue of a worker that was paused: more than the ring of a
 * socket has room for. */
#define PAUSE_BURSTS_MAX 256

/* Rounds a stopping worker may still take to empty its queues. */
#define DRAIN_ROUNDS_MAX   4096
#define DRAIN_QUIET_ROUNDS 64

#define REPLAY_TICK_NS    1000000000ull
#define REPLAY_WAIT_NS    1000000ull /* while slots are held or packets wait: */
#define REPLAY_CLOSE_LOOK 100000     /* longer than packets wait, or an exchange's silence lasts */
#define REPLAY_TICKS_MAX  200000     /* more than a day of silence ages every flow anyhow */
#define NS_PER_MS         1000000ull

static void set_time(struct worker *w, uint64_t now_ns)
{
    w->burst.now_ns = now_ns;
    w->burst.moment = flow_moment(flow_table_tick(w->flows, now_ns), now_ns);
}

/* The heartbeat; in a replay also the word that everything up to this time is done. */
static void publish_time(struct worker *w)
{
    __atomic_store_n(&w->now_ns, w->burst.now_ns, __ATOMIC_RELEASE);
    if (w->heartbeat)
        __atomic_store_n(&w->heartbeat->now_ns,
                         w->burst.now_ns + (uint64_t)clock_error_ns(w->clock), __ATOMIC_RELAXED);
}

/* Whoever stands in for it does so from now on. */
static void stop_beating(struct worker *w)
{
    __atomic_store_n(&w->heartbeat->now_ns, 0, __ATOMIC_RELAXED);
    w->heartbeat = NULL;
}

static unsigned poll_handed(struct worker *w)
{
    return w->n_workers > 1 ? journey_run_handed(&w->burst) + outlet_send_handed(w) : 0;
}

/*
 * What came before anybody stood in for it still waits. Flows that it is a part of go on and end by
 * it; but whatever asks for something has asked again, and was answered, perhaps let in: judged as
 * if it were new it would hold slots for clients that are served, or gone. What a loop that was
 * interrupted still takes is not known to be old.
 */
static void empty_stale_queues(struct worker *w, uint64_t paused_ns)
{
    w->was_paused = true;
    for (uint32_t i = 0; i < w->n_lanes; i++) {
        struct lane *lane = w->lanes[i];

        if (paused_ns <= lane->stale_after_ns)
            continue;
        for (unsigned n = 0; n < PAUSE_BURSTS_MAX && journey_run(&w->burst, lane); n++)
            poll_handed(w); /* others do the same, and hand over */
    }
    w->was_paused = false;
}

static void take_facts(struct worker *w, const struct policy *policy)
{
    for (uint32_t i = 0; i < policy_service_count(policy); i++) {
        const struct policy_service *service = policy_service(policy, i);

        w->facts[service->id] = (struct service_facts){
            .unit = (uint8_t)service->unit,
            .turn = (uint8_t)service->turn,
            .has_probes = service->probes.n > 0,
            .has_shares = service->n_shares > 0,
            .silence_ms = (uint32_t)(service->silence_ns / NS_PER_MS),
            .response_ms = (uint32_t)(service->breaker.response_ns / NS_PER_MS),
        };
    }
}

static void take_policy(struct worker *w)
{
    const struct policy *policy = publication_read(w->publication);

    w->burst.policy = policy;
    if (likely(policy_epoch(policy) == w->adopted_epoch))
        return;
    /* Epochs, not pointers: a new policy may lie where an old one was freed. */
    admission_adopt(w->admission, policy, w->burst.now_ns);
    take_facts(w, policy);
    w->adopted_epoch = policy_epoch(policy);
    __atomic_store_n(&w->epoch, w->adopted_epoch, __ATOMIC_RELAXED);
}

/* What comes round with time: silent flows end, waiters are let in, unused leases go back. */
static void tidy(struct worker *w)
{
    while (flow_table_sweep(w->flows, journey_expire, w))
        admission_survey_end(w->admission);
    silences_tend(w);
    journey_release(&w->burst, false);
    admission_tidy(w->admission, w->burst.now_ns);
}

static void look_at_clock(struct worker *w, uint64_t cycles)
{
    uint64_t now_ns = clock_ns(w->clock, cycles), last_ns = w->burst.now_ns;

    set_time(w, now_ns > last_ns ? now_ns : last_ns); /* clock.h: some ns */
    take_policy(w);
    /* Until it beats again, nothing is added to the queues of those that somebody stands in for. */
    if (unlikely(w->heartbeat && last_ns && w->burst.now_ns - last_ns > LANE_PAUSE_NS))
        empty_stale_queues(w, w->burst.now_ns - last_ns);
    publish_time(w);
}

static unsigned poll_lanes(struct worker *w, uint64_t cycles)
{
    unsigned n = 0;

    look_at_clock(w, cycles);
    for (uint32_t i = 0; i < w->n_lanes; i++)
        n += journey_run(&w->burst, w->lanes[i]);
    n += poll_handed(w);
    tidy(w);
    return n;
}

/* -- replay: see replay.h -- */

/* How closely time is looked at: exchanges end and waiters age by the millisecond. What is left
 * after many of those ages by the second. */
static uint64_t tick_ns(const struct worker *w, unsigned ticks)
{
    return (w->slots || w->held) && ticks < REPLAY_CLOSE_LOOK ? REPLAY_WAIT_NS : REPLAY_TICK_NS;
}

/* Lets the time between two packets pass as a live worker would see it, second by second. */
static void pass_time(struct worker *w, uint64_t until_ns)
{
    uint64_t now_ns = w->burst.now_ns ? w->burst.now_ns : until_ns;

    for (unsigned i = 0; i < REPLAY_TICKS_MAX && until_ns > now_ns + tick_ns(w, i); i++) {
        now_ns += tick_ns(w, i);
        set_time(w, now_ns);
        tidy(w);
    }
    set_time(w, until_ns);
    tidy(w);
    publish_time(w);
}

static void follow_time(struct worker *w)
{
    uint64_t now_ns = replay_now_ns(w->replay);

    if (now_ns != w->burst.now_ns)
        pass_time(w, now_ns);
    take_policy(w);
}

static bool everybody_is_there(const struct worker *w, uint64_t now_ns)
{
    const struct worker *const *workers = w->replay->workers;

    for (uint32_t i = 0; i < w->n_workers; i++)
        if (__atomic_load_n(&workers[i]->now_ns, __ATOMIC_ACQUIRE) != now_ns)
            return false;
    return replay_is_quiet(w->replay);
}

/* Takes up the next packet, or lets the one taken up go when all workers have its time. */
static unsigned play(struct worker *w)
{
    struct replay *replay = w->replay;
    uint64_t now_ns;

    if (!replay->waiting) {
        if (!replay_is_quiet(replay))
            return 0;
        replay->waiting_lane =
            replay_next(replay, w->all_lanes, w->n_all_lanes, &replay->waiting, &now_ns);
        if (!replay->waiting_lane)
            return 0;
        replay_set_now(replay, now_ns);
        follow_time(w);
    }
    if (!everybody_is_there(w, replay_now_ns(replay)))
        return 1;
    journey_run_one(&w->burst, replay->waiting_lane, replay->waiting);
    replay->waiting = NULL;
    return 1;
}

static unsigned poll_replay(struct worker *w)
{
    follow_time(w);
    return poll_handed(w) + (w->index == 0 ? play(w) : 0);
}

/* -- the loop -- */

/* In cycles: the time of a replay stands still between packets. */
static bool is_sampled(const struct worker *w, uint64_t cycles)
{
    return cycles < __atomic_load_n(w->sample_until_cycles, __ATOMIC_RELAXED);
}

static void idle(struct worker *w)
{
    struct timespec pause = {.tv_nsec = NAP_NS};

    w->idle_loops++;
    if (w->idle != IDLE_SLEEP || w->idle_loops < IDLE_LOOPS_BEFORE_NAP)
        return;
    if (w->idle_loops > IDLE_LOOPS_BEFORE_REST && !w->held)
        pause.tv_nsec = REST_NS;
    publication_sleep(w->publication, w->index);
    nanosleep(&pause, NULL);
    publication_wake(w->publication, w->index);
}

/* -- the end -- */

/* Does what others ask for until all have passed the stage. */
static void pass_together(struct worker *w, enum stop_stage stage)
{
    __atomic_fetch_add(&w->passed[stage], 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&w->passed[stage], __ATOMIC_ACQUIRE) < w->n_workers) {
        if (w->replay)
            follow_time(w);
        else
            look_at_clock(w, rte_rdtsc());
        if (poll_handed(w) == 0)
            idle(w);
    }
}

/* Until its queues are quiet for a while. */
static void empty_queues(struct worker *w)
{
    unsigned quiet = 0;

    for (unsigned i = 0; i < DRAIN_ROUNDS_MAX && quiet < DRAIN_QUIET_ROUNDS; i++) {
        unsigned n = w->replay ? poll_replay(w) : poll_lanes(w, rte_rdtsc());

        quiet = n ? 0 : quiet + 1;
    }
}

/* Its own queues; then what workers have handed each other. */
static void drain(struct worker *w)
{
    empty_queues(w);
    if (w->heartbeat) {
        stop_beating(w);
        empty_queues(w); /* what still came for it */
    }
    while (journey_release(&w->burst, true) > 0)
        ;
    if (w->n_workers == 1)
        return;
    pass_together(w, STOP_RECEIVED);
    while (journey_run_handed(&w->burst) > 0 || journey_release(&w->burst, true) > 0)
        ;
    pass_together(w, STOP_JUDGED);
    while (outlet_send_handed(w) > 0)
        ;
}

int worker_loop(void *arg)
{
    struct worker *w = arg;
    uint64_t cycles = rte_rdtsc(), previous = cycles;

    prctl(PR_SET_TIMERSLACK, 1000ul); /* naps are short; the default slack would double them */
    publication_join(w->publication, w->index);
    while (!__atomic_load_n(w->stop, __ATOMIC_ACQUIRE)) {
        unsigned n;

        stopwatch_ask(&w->burst, is_sampled(w, cycles));
        n = w->replay ? poll_replay(w) : poll_lanes(w, cycles);
        publication_quiescent(w->publication, w->index);
        if (n)
            w->idle_loops = 0;
        else
            idle(w);
        /* After the nap: it is idle time, and what it kept waiting arrives now. */
        cycles = rte_rdtsc();
        worker_count(n ? &w->counters.busy_cycles : &w->counters.idle_cycles, cycles - previous);
        previous = cycles;
    }
    drain(w);
    publication_leave(w->publication, w->index);
    return 0;
}
