/* SPDX-License-Identifier: BSD-3-Clause */
/* A burst in front of a service with a wait queue, against the figures of its queueing model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/property/random.h"
#include "tests/unit/overload.h"

/*
 * Four cores that serve 170/s, 130/s that become 200/s for 10 s. Times are in ticks of 1/44200 s,
 * in which all of it is whole numbers; nothing here depends on their being nanoseconds.
 */
#define TICKS    44200ull
#define BURST    (100 * TICKS) /* begins */
#define BURST_TO (BURST + 10 * TICKS)
#define CORES    4

struct burst {
    struct gate *gate;
    uint64_t done_ns[CORES]; /* UINT64_MAX: free */
    struct slot slots[CORES];
    uint32_t owner[CORES];
    uint64_t arrived_ns[1 << 14]; /* by cookie */
    uint64_t last_of[CORES];      /* the last one admitted of a worker, by arrival */
    uint64_t longest_ns, most_waiting, seed;
};

static void begin_work(struct burst *b, uint32_t worker, const struct slot *slot)
{
    unsigned core = 0;

    while (b->done_ns[core] != UINT64_MAX)
        core++;
    assert_true(core < CORES);
    b->done_ns[core] = b->gate->now_ns + CORES * TICKS / 170;
    b->slots[core] = *slot;
    b->owner[core] = worker;
}

/* Every worker once, one after the other. */
static void poll_all(struct burst *b)
{
    struct released r;
    uint64_t first = random_u64(&b->seed);

    for (uint32_t i = 0; i < b->gate->crew.n; i++) {
        uint32_t worker = (uint32_t)(first + i) % b->gate->crew.n;

        while (gate_poll(b->gate, worker, &r)) {
            if (r.decision.verdict != VERDICT_ADMIT) {
                assert_true(b->gate->now_ns - b->arrived_ns[r.cookie] >= TICKS / 10);
                continue;
            }
            assert_int_equal(r.waited_ns, b->gate->now_ns - b->arrived_ns[r.cookie]);
            assert_true(r.cookie > b->last_of[worker]);
            b->last_of[worker] = r.cookie;
            if (r.waited_ns > b->longest_ns)
                b->longest_ns = r.waited_ns;
            begin_work(b, worker, &r.slot);
        }
    }
}

static void let_time_pass(struct burst *b, uint64_t until_ns)
{
    for (;;) {
        unsigned first = 0;

        for (unsigned i = 1; i < CORES; i++)
            if (b->done_ns[i] < b->done_ns[first])
                first = i;
        if (b->done_ns[first] > until_ns)
            break;
        b->gate->now_ns = b->done_ns[first];
        b->done_ns[first] = UINT64_MAX;
        admission_complete(b->gate->crew.workers[b->owner[first]], &b->slots[first],
                           &(struct ending){.held_ns = CORES * TICKS / 170}, b->gate->now_ns);
        poll_all(b);
    }
    b->gate->now_ns = until_ns;
}

static void arrive(struct burst *b, uint64_t t)
{
    struct attempt a = gate_attempt(b->gate, BULK, WEB);
    uint32_t worker = (uint32_t)(a.cookie % b->gate->crew.n);
    uint64_t waiting = gate_waiting(b->gate, WEB);
    struct decision d;

    let_time_pass(b, t);
    waiting = gate_waiting(b->gate, WEB);
    b->arrived_ns[a.cookie] = t;
    d = gate_offer(b->gate, worker, &a);
    if (d.verdict == VERDICT_ADMIT) {
        assert_int_equal(waiting, 0); /* nobody is overtaken */
        begin_work(b, worker, &(struct slot){BULK, WEB, 0, d.held});
    }
    poll_all(b);
    if (gate_waiting(b->gate, WEB) > b->most_waiting)
        b->most_waiting = gate_waiting(b->gate, WEB);
}

static void play_burst(struct burst *b, struct gate *g, uint32_t places, uint64_t age_ns)
{
    *b = (struct burst){.gate = g};
    for (unsigned i = 0; i < CORES; i++)
        b->done_ns[i] = UINT64_MAX;
    g->services[WEB].window = CORES;
    g->services[WEB].wait = (struct policy_wait){.places = places, .age_ns = age_ns};
    g->now_ns = 0;
    gate_adopt(g);
    for (uint64_t t = 0; t < BURST_TO + 5 * TICKS;) {
        arrive(b, t);
        t += t >= BURST && t < BURST_TO ? TICKS / 200 : TICKS / 130;
    }
    let_time_pass(b, UINT64_MAX - 1);
    assert_int_equal(gate_used(g, WEB), 0);
    assert_int_equal(gate_waiting(g, WEB), 0);
    gate_check(g);
}

static uint64_t ticks_to_ms(uint64_t ticks)
{
    return (ticks * 1000 + TICKS / 2) / TICKS;
}

static void burst_is_bounded_by_places(void **state)
{
    /* Places; refused; longest wait in ms. */
    static const uint64_t golden[][3] = {{17, 283, 102}, {16, 284, 94}, {40, 260, 235}};
    static struct burst b;

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct gate g;

        gate_start(&g, 1);
        play_burst(&b, &g, (uint32_t)golden[i][0], 10 * CORE_S);
        assert_int_equal(b.most_waiting, golden[i][0]);
        assert_int_equal(gate_refused(&g, WEB), golden[i][1]);
        assert_int_equal(ticks_to_ms(b.longest_ns), golden[i][2]);
        gate_stop(&g);
    }
}

/* Four workers, polled in any order: on which of them one waits decides when one's turn comes. As
 * many are refused as on one worker, and a few more where nobody may wait longer than 100 ms. */
static void burst_on_four_workers(void **state)
{
    static struct burst b;
    struct gate g;

    (void)state;
    gate_start(&g, 4);
    play_burst(&b, &g, 16, 10 * CORE_S);
    assert_int_equal(b.most_waiting, 16);
    assert_int_equal(gate_refused(&g, WEB), 284);
    gate_stop(&g);

    gate_start(&g, 4);
    play_burst(&b, &g, 16, TICKS / 10);
    assert_true(b.longest_ns < TICKS / 10);
    assert_true(b.most_waiting <= 16);
    assert_int_equal(gate_refused(&g, WEB), 291);
    gate_stop(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(burst_is_bounded_by_places),
        cmocka_unit_test(burst_on_four_workers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
