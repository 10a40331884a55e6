/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The breaker against a plain machine that is told of every moment, over random rules, events and
 * leaps of the clock; and sixteen workers that see the same moment.
 */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/property/random.h"
#include "tests/unit/breaking.h"

#define WORKERS 16

/* What the header's table says, in words of its own. Times in whole us, no jitter. */
struct machine {
    const struct breaker_rules *rules;
    enum breaker_state state;
    unsigned doublings, failures;
    uint64_t since_ns, until_ns;
};

static uint64_t machine_period_ns(const struct machine *m)
{
    double ns = (double)m->rules->open_ns * pow(2, m->doublings);

    return ns < (double)m->rules->open_max_ns ? (uint64_t)ns : m->rules->open_max_ns;
}

static void machine_open(struct machine *m, uint64_t now_ns)
{
    if (m->state != BREAKER_CLOSED && machine_period_ns(m) < m->rules->open_max_ns)
        m->doublings++;
    m->state = BREAKER_OPEN;
    m->until_ns = now_ns + machine_period_ns(m);
}

static void machine_tick(struct machine *m, uint64_t now_ns)
{
    if (now_ns < m->until_ns)
        return;
    if (m->state == BREAKER_RAMPING) {
        m->state = BREAKER_CLOSED;
        m->doublings = 0;
        m->until_ns = 0;
    } else if (m->state == BREAKER_HALF_OPEN) {
        machine_open(m, m->until_ns);
    }
}

static void machine_result(struct machine *m, bool failed, bool probe, uint64_t now_ns)
{
    if (m->state == BREAKER_CLOSED || m->state == BREAKER_RAMPING) {
        m->failures = failed ? m->failures + 1 : 0;
        if (m->failures >= m->rules->failures)
            machine_open(m, now_ns);
    } else if (m->state == BREAKER_HALF_OPEN && probe) {
        if (failed) {
            machine_open(m, now_ns);
            return;
        }
        m->failures = 0;
        m->state = m->rules->ramp_ns ? BREAKER_RAMPING : BREAKER_CLOSED;
        m->doublings = m->rules->ramp_ns ? m->doublings : 0;
        m->since_ns = now_ns;
        m->until_ns = m->rules->ramp_ns ? now_ns + m->rules->ramp_ns : 0;
    }
}

/* PASS, REFUSE or MAY_PROBE; -1: too near to the edge of the ramp to say. */
static int machine_answer(const struct machine *m, uint32_t hash, uint64_t now_ns)
{
    double share, at = hash / 4294967296.0;

    if (m->state == BREAKER_RAMPING) {
        share = .1 + .9 * (double)(now_ns - m->since_ns) / (double)m->rules->ramp_ns;
        if (fabs(at - share) < 2e-5)
            return -1;
        return at < share ? BREAKER_PASS : BREAKER_REFUSE;
    }
    if (m->state == BREAKER_OPEN && now_ns >= m->until_ns)
        return BREAKER_MAY_PROBE;
    return m->state == BREAKER_CLOSED ? BREAKER_PASS : BREAKER_REFUSE;
}

static struct breaker_rules random_rules(uint64_t *seed)
{
    struct breaker_rules rules = {
        .failures = 1 + (uint32_t)random_below(seed, 5),
        .open_ns = (1 + random_below(seed, 2000)) * MS,
        .probe_ns = (1 + random_below(seed, 3000)) * MS,
        .ramp_ns = random_below(seed, 3) ? (1 + random_below(seed, 9000)) * MS : 0,
    };

    rules.open_max_ns = rules.open_ns + random_below(seed, 30000) * MS;
    assert_true(breaker_rules_init(&rules));
    return rules;
}

/* Nothing, a moment, to the edge of what comes next, or a leap. */
static uint64_t random_step_ns(uint64_t *seed, const struct machine *m, uint64_t now_ns)
{
    switch (random_below(seed, 8)) {
    case 0:
    case 1:
        return 0;
    case 2:
        return m->until_ns > now_ns + US ? m->until_ns - now_ns - US : 0;
    case 3:
        return m->until_ns > now_ns ? m->until_ns - now_ns : 0;
    case 4:
        return random_below(seed, 1000) ? 0 : YEAR / 1000;
    default:
        return random_below(seed, 300000) * US;
    }
}

static void assert_same(const struct breaker *b, const struct machine *m, uint32_t hash,
                        uint64_t now_ns)
{
    struct breaker_view v = breaker_view(b, m->rules, now_ns);
    int answer = machine_answer(m, hash, now_ns);

    assert_int_equal(v.state, m->state);
    assert_int_equal(v.level, m->doublings);
    assert_int_equal(v.until_ns, m->state == BREAKER_CLOSED ? 0 : m->until_ns);
    if (answer >= 0)
        assert_int_equal(breaker_ask(b, m->rules, hash, now_ns), answer);
}

static void random_event(uint64_t *seed, struct breaker *b, struct machine *m, uint64_t now_ns)
{
    bool probe = random_below(seed, 2), may;

    switch (random_below(seed, 8)) {
    case 0:
        breaker_trip(b, m->rules, MID, now_ns);
        if (m->state == BREAKER_CLOSED || m->state == BREAKER_RAMPING)
            machine_open(m, now_ns);
        return;
    case 1:
    case 2:
    case 3:
        may = m->state == BREAKER_OPEN && now_ns >= m->until_ns;
        assert_int_equal(breaker_claim(b, m->rules, now_ns), may);
        if (may) {
            m->state = BREAKER_HALF_OPEN;
            m->until_ns = now_ns + m->rules->probe_ns;
        }
        return;
    case 4:
    case 5:
        breaker_success(b, m->rules, probe, now_ns);
        machine_result(m, false, probe, now_ns);
        return;
    default:
        breaker_failure(b, m->rules, probe, (uint32_t)random_u64(seed), now_ns);
        machine_result(m, true, probe, now_ns);
    }
}

static void does_as_the_plain_machine(void **state)
{
    uint64_t seen[4] = {0};

    (void)state;
    for (uint64_t run = 1; run <= 500; run++) {
        uint64_t seed = run, now_ns = random_below(&seed, 1000) * US;
        struct breaker_rules rules = random_rules(&seed);
        struct machine m = {.rules = &rules};
        struct breaker b = {0};

        for (unsigned i = 0; i < 2000; i++) {
            now_ns += random_step_ns(&seed, &m, now_ns);
            machine_tick(&m, now_ns);
            random_event(&seed, &b, &m, now_ns);
            assert_same(&b, &m, (uint32_t)random_u64(&seed), now_ns);
            seen[m.state]++;
        }
    }
    print_message("# closed %" PRIu64 " ramping %" PRIu64 " open %" PRIu64 " half-open %" PRIu64
                  "\n",
                  seen[0], seen[1], seen[2], seen[3]);
    for (unsigned i = 0; i < 4; i++)
        assert_true(seen[i] > 40000);
}

/* All ask before any claims: all may, one does, in every period, whatever its jitter. */
static void one_of_sixteen_probes(void **state)
{
    struct breaker_rules rules = full_rules();
    struct breaker b = {0};
    uint64_t seed = 1, now_ns = 0;

    (void)state;
    fail_in_a_row(&b, &rules, 3, now_ns);
    for (unsigned period = 0; period < 10000; period++) {
        unsigned first = (unsigned)random_below(&seed, WORKERS), winners = 0;
        uint64_t before_ns = now_ns;

        now_ns = breaker_view(&b, &rules, now_ns).until_ns;
        assert_in_range(now_ns - before_ns, 900 * MS, 33 * S + US);
        for (unsigned i = 0; i < WORKERS; i++)
            assert_int_equal(breaker_ask(&b, &rules, (uint32_t)random_u64(&seed), now_ns),
                             BREAKER_MAY_PROBE);
        for (unsigned i = 0; i < WORKERS; i++)
            winners += breaker_claim(&b, &rules, now_ns + (first + i) % WORKERS);
        assert_int_equal(winners, 1);
        now_ns += random_below(&seed, rules.probe_ns);
        breaker_failure(&b, &rules, true, (uint32_t)random_u64(&seed), now_ns);
    }
}

/* Whenever a backend comes back, all of the load is back one period and the ramp later, for who
 * asks often enough. */
static void recovers_in_one_period_and_the_ramp(void **state)
{
    struct breaker_rules rules = full_rules();
    uint64_t gap_ns = 10 * MS, latest_ns = 0;

    (void)state;
    for (uint64_t run = 1; run <= 200; run++) {
        uint64_t seed = run, alive_ns = random_below(&seed, 200 * S), now_ns = 0;
        uint64_t end_ns = alive_ns + 33 * S + gap_ns + rules.ramp_ns;
        struct breaker b = {0};

        while (now_ns < end_ns) {
            uint32_t hash = (uint32_t)random_u64(&seed);
            enum breaker_answer answer = breaker_ask(&b, &rules, hash, now_ns);
            bool probe = answer == BREAKER_MAY_PROBE && breaker_claim(&b, &rules, now_ns);

            if ((answer == BREAKER_PASS || probe) && now_ns < alive_ns)
                breaker_failure(&b, &rules, probe, hash, now_ns);
            else if (answer == BREAKER_PASS || probe)
                breaker_success(&b, &rules, probe, now_ns);
            if (breaker_view(&b, &rules, now_ns).state != BREAKER_CLOSED && now_ns > alive_ns &&
                now_ns - alive_ns > latest_ns)
                latest_ns = now_ns - alive_ns;
            now_ns += gap_ns;
        }
        assert_int_equal(breaker_view(&b, &rules, end_ns).state, BREAKER_CLOSED);
    }
    print_message("# latest after %llu ms\n", latest_ns / MS);
    assert_true(latest_ns > 30 * S); /* long periods were tried */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(does_as_the_plain_machine),
        cmocka_unit_test(one_of_sixteen_probes),
        cmocka_unit_test(recovers_in_one_period_and_the_ramp),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
