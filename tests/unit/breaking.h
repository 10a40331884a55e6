/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rules of breakers, and what tests do to a breaker. Include after cmocka.h.
 */
#ifndef SLUICE_TESTS_BREAKING_H
#define SLUICE_TESTS_BREAKING_H

#include "dataplane/admission/breaker.h"

#define US   1000ull
#define MS   1000000ull
#define S    1000000000ull
#define YEAR (365 * 86400 * S)
#define MID  0x80000000u /* the hash without jitter */
#define TOP  0xffffffffu /* let in last by a ramp */

/* No doubling, no ramp, no jitter. */
static inline struct breaker_rules plain_rules(uint32_t failures, uint64_t open_ns)
{
    struct breaker_rules rules = {
        .failures = failures, .open_ns = open_ns, .open_max_ns = open_ns, .probe_ns = 2 * S};

    assert_true(breaker_rules_init(&rules));
    return rules;
}

static inline struct breaker_rules full_rules(void)
{
    struct breaker_rules rules = {.failures = 3,
                                  .open_ns = S,
                                  .open_max_ns = 30 * S,
                                  .probe_ns = 2 * S,
                                  .ramp_ns = 5 * S,
                                  .jitter_ppm = 100000};

    assert_true(breaker_rules_init(&rules));
    return rules;
}

static inline enum breaker_state state_at(const struct breaker *b,
                                          const struct breaker_rules *rules, uint64_t now_ns)
{
    return breaker_view(b, rules, now_ns).state;
}

static inline void fail_in_a_row(struct breaker *b, const struct breaker_rules *rules, unsigned n,
                                 uint64_t now_ns)
{
    for (unsigned i = 0; i < n; i++)
        breaker_failure(b, rules, false, MID, now_ns);
}

static inline void claim_at(struct breaker *b, const struct breaker_rules *rules, uint64_t now_ns)
{
    assert_int_equal(breaker_ask(b, rules, 0, now_ns - 1), BREAKER_REFUSE);
    assert_int_equal(breaker_ask(b, rules, 0, now_ns), BREAKER_MAY_PROBE);
    assert_false(breaker_claim(b, rules, now_ns - 1));
    assert_true(breaker_claim(b, rules, now_ns));
    assert_false(breaker_claim(b, rules, now_ns));
    assert_int_equal(breaker_ask(b, rules, 0, now_ns), BREAKER_REFUSE);
}

/* Lets in hashes below `share` of 2^32, and none from there on, to one in 2^16. */
static inline void assert_share(const struct breaker *b, const struct breaker_rules *rules,
                                uint64_t now_ns, double share)
{
    uint32_t edge = (uint32_t)(share * 4294967296.0);

    assert_int_equal(breaker_ask(b, rules, 0, now_ns), BREAKER_PASS);
    assert_int_equal(breaker_ask(b, rules, edge - 65536, now_ns), BREAKER_PASS);
    assert_int_equal(breaker_ask(b, rules, edge + 65536, now_ns), BREAKER_REFUSE);
    assert_int_equal(breaker_ask(b, rules, TOP, now_ns), BREAKER_REFUSE);
}

static inline void close_at(struct breaker *b, const struct breaker_rules *rules, uint64_t now_ns)
{
    assert_true(breaker_claim(b, rules, now_ns));
    breaker_success(b, rules, true, now_ns);
}

#endif
