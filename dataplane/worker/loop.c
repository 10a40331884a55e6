/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/worker/loop.h"

#include <rte_cycles.h>
#include <sys/prctl.h>
#include <time.h>

#include "dataplane/worker/journey.h"

/* Empty loops before a worker with idle = "sleep" sleeps, and for how long: soon and briefly, then,
 * when nothing has come for about a tenth of a second, longer. On a two-core lab the short nap
 * costs a few per cent of a core and 50 us of latency. */
#define IDLE_LOOPS_BEFORE_NAP  16
#define IDLE_LOOPS_BEFORE_REST 2000
#define NAP_NS                 50000
#define REST_NS                250000

/* Rounds a stopping worker may still take to empty its queues. */
#define DRAIN_ROUNDS_MAX 4096

#define REPLAY_TICK_NS   1000000000ull
#define REPLAY_TICKS_MAX 100000 /* more than a day of silence ages every flow anyhow */

static void set_time(struct worker *w, uint64_t now_ns)
{
    w->burst.now_ns = now_ns;
    w->burst.now_ms = flow_table_tick(w->flows, now_ns);
    __atomic_store_n(&w->now_ns, now_ns, __ATOMIC_RELAXED);
}

static void take_policy(struct worker *w)
{
    const struct policy *policy = publication_read(w->publication);

    w->burst.policy = policy;
    if (likely(policy_epoch(policy) == w->adopted_epoch))
        return;
    /* Epochs, not pointers: a new policy may lie where an old one was freed. */
    admission_adopt(w->admission, policy, w->burst.now_ns);
    w->adopted_epoch = policy_epoch(policy);
    __atomic_store_n(&w->epoch, w->adopted_epoch, __ATOMIC_RELAXED);
}

static void sweep(struct worker *w)
{
    flow_table_sweep(w->flows, journey_expire, w);
}

static unsigned poll_lanes(struct worker *w, uint64_t cycles)
{
    unsigned n = 0;

    set_time(w, clock_ns(w->clock, cycles));
    take_policy(w);
    for (uint32_t i = 0; i < w->n_lanes; i++)
        n += journey_run(&w->burst, &w->lanes[i]);
    sweep(w);
    return n;
}

/* Lets the time between two packets pass as a live worker would see it, second by second. */
static void pass_time(struct worker *w, uint64_t until_ns)
{
    uint64_t now_ns = w->burst.now_ns ? w->burst.now_ns : until_ns;

    for (unsigned i = 0; i < REPLAY_TICKS_MAX && until_ns > now_ns + REPLAY_TICK_NS; i++) {
        now_ns += REPLAY_TICK_NS;
        set_time(w, now_ns);
        sweep(w);
    }
    set_time(w, until_ns);
    sweep(w);
}

static unsigned poll_replay(struct worker *w)
{
    uint64_t now_ns;
    struct lane *lane = replay_next(w->replay, w->lanes, w->n_lanes, &w->burst.mbufs[0], &now_ns);

    if (lane)
        pass_time(w, now_ns);
    take_policy(w);
    if (lane)
        journey_run_received(&w->burst, lane, 1);
    return lane != NULL;
}

static void idle(struct worker *w)
{
    struct timespec pause = {.tv_nsec = NAP_NS};

    w->idle_loops++;
    if (w->idle != IDLE_SLEEP || w->idle_loops < IDLE_LOOPS_BEFORE_NAP)
        return;
    if (w->idle_loops > IDLE_LOOPS_BEFORE_REST)
        pause.tv_nsec = REST_NS;
    publication_sleep(w->publication, w->index);
    nanosleep(&pause, NULL);
    publication_wake(w->publication, w->index);
}

static void drain(struct worker *w)
{
    for (unsigned i = 0; i < DRAIN_ROUNDS_MAX; i++)
        if ((w->replay ? poll_replay(w) : poll_lanes(w, rte_rdtsc())) == 0)
            return;
}

int worker_loop(void *arg)
{
    struct worker *w = arg;
    uint64_t cycles = rte_rdtsc(), previous = cycles;

    prctl(PR_SET_TIMERSLACK, 1000ul); /* naps are short; the default slack would double them */
    publication_join(w->publication, w->index);
    while (!__atomic_load_n(w->stop, __ATOMIC_ACQUIRE)) {
        unsigned n = w->replay ? poll_replay(w) : poll_lanes(w, cycles);

        publication_quiescent(w->publication, w->index);
        cycles = rte_rdtsc();
        worker_count(n ? &w->counters.busy_cycles : &w->counters.idle_cycles, cycles - previous);
        previous = cycles;
        if (n)
            w->idle_loops = 0;
        else
            idle(w);
    }
    drain(w);
    publication_leave(w->publication, w->index);
    return 0;
}
