/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "dataplane/admission/breaker.h"

#define NS_PER_US 1000u
#define NS_PER_S  1000000000u

/* The word: state in bits 0-1, level in 2-6, generation in 7-13, until_us in 14-63. */
#define LEVEL_SHIFT      2
#define LEVEL_MAX        31u /* BREAKER_NS_MAX / BREAKER_NS_MIN < 2^27 */
#define GENERATION_SHIFT 7
#define UNTIL_SHIFT      14

/* -- rules -- */

static bool is_span(uint64_t ns)
{
    return ns >= BREAKER_NS_MIN && ns <= BREAKER_NS_MAX;
}

bool breaker_rules_init(struct breaker_rules *rules)
{
    if (rules->failures == 0 || rules->jitter_ppm > BREAKER_JITTER_MAX ||
        !is_span(rules->open_ns) || !is_span(rules->open_max_ns) ||
        rules->open_ns > rules->open_max_ns || !is_span(rules->probe_ns) ||
        (rules->ramp_ns && !is_span(rules->ramp_ns)) || rules->mode > BREAKER_FORCED_CLOSED)
        return false;
    rules->jitter_q32 = (uint32_t)(((uint64_t)rules->jitter_ppm << 32) / 1000000);
    rules->ramp_q63 = rules->ramp_ns ? (1ull << 63) / 10 * 9 / rules->ramp_ns : 0;
    return true;
}

/* Without jitter. */
static uint64_t level_ns(const struct breaker_rules *rules, uint32_t level)
{
    if (rules->open_ns > rules->open_max_ns >> level)
        return rules->open_max_ns;
    return rules->open_ns << level;
}

/* Stops where doubling does. */
static uint32_t level_after(const struct breaker_rules *rules, uint32_t level)
{
    return level_ns(rules, level) < rules->open_max_ns ? level + 1 : level;
}

static uint64_t period_ns(const struct breaker_rules *rules, uint32_t level, uint32_t hash)
{
    uint64_t ns = level_ns(rules, level);
    uint64_t most_ns = (uint64_t)((__uint128_t)ns * rules->jitter_q32 >> 32);

    return ns - most_ns + (uint64_t)((__uint128_t)(2 * most_ns) * hash >> 32);
}

/* Of 2^32. */
static uint64_t ramp_share(const struct breaker_rules *rules, uint64_t left_ns)
{
    if (left_ns > rules->ramp_ns) /* the rules are new, or the clock of who closed it is ahead */
        left_ns = rules->ramp_ns;
    return (1ull << 32) - (left_ns * rules->ramp_q63 >> 31);
}

/* -- the word -- */

/* The word that follows `from`. */
static uint64_t word_after(const struct breaker_view *from, enum breaker_state state,
                           uint32_t level, uint64_t until_ns)
{
    uint64_t until_us = (until_ns + NS_PER_US - 1) / NS_PER_US;
    uint64_t generation = (from->generation + 1) & BREAKER_GENERATION_MAX;

    return until_us << UNTIL_SHIFT | generation << GENERATION_SHIFT | level << LEVEL_SHIFT | state;
}

/* What a word says. */
static struct breaker_view word_read(uint64_t word)
{
    return (struct breaker_view){
        .state = word & 3,
        .level = word >> LEVEL_SHIFT & LEVEL_MAX,
        .generation = word >> GENERATION_SHIFT & BREAKER_GENERATION_MAX,
        .until_ns = (word >> UNTIL_SHIFT) * NS_PER_US,
    };
}

/* What it means at a time. */
static struct breaker_view word_at(uint64_t word, const struct breaker_rules *rules,
                                   uint64_t now_ns)
{
    struct breaker_view v = word_read(word);

    if (v.state == BREAKER_RAMPING && now_ns >= v.until_ns) {
        v.state = BREAKER_CLOSED;
        v.level = 0;
        v.until_ns = 0;
    } else if (v.state == BREAKER_HALF_OPEN && now_ns >= v.until_ns) {
        /* All must find the same end of this period, so its jitter comes from the word. */
        v.state = BREAKER_OPEN;
        v.level = level_after(rules, v.level);
        v.until_ns += period_ns(rules, v.level, (uint32_t)(word * 0x9e3779b97f4a7c15ull >> 32));
    }
    return v;
}

static bool word_change(struct breaker *b, uint64_t *word, uint64_t to)
{
    return __atomic_compare_exchange_n(&b->word, word, to, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

static bool lets_in(const struct breaker_view *v)
{
    return v->state == BREAKER_CLOSED || v->state == BREAKER_RAMPING;
}

static void open_from(struct breaker *b, uint64_t word, const struct breaker_rules *rules,
                      uint32_t hash, uint64_t now_ns)
{
    struct breaker_view v = word_at(word, rules, now_ns);
    uint32_t level = v.state == BREAKER_CLOSED ? 0 : level_after(rules, v.level);

    word_change(b, &word,
                word_after(&v, BREAKER_OPEN, level, now_ns + period_ns(rules, level, hash)));
}

/* -- attempts and their results -- */

enum breaker_answer breaker_ask_word(uint64_t word, const struct breaker_rules *rules,
                                     uint32_t hash, uint64_t now_ns)
{
    struct breaker_view v;

    if (rules->mode != BREAKER_AUTO)
        return rules->mode == BREAKER_FORCED_OPEN ? BREAKER_REFUSE : BREAKER_PASS;
    v = word_at(word, rules, now_ns);
    if (v.state == BREAKER_CLOSED)
        return BREAKER_PASS;
    if (v.state == BREAKER_RAMPING)
        return hash < ramp_share(rules, v.until_ns - now_ns) ? BREAKER_PASS : BREAKER_REFUSE;
    return v.state == BREAKER_OPEN && now_ns >= v.until_ns ? BREAKER_MAY_PROBE : BREAKER_REFUSE;
}

bool breaker_claim(struct breaker *b, const struct breaker_rules *rules, uint64_t now_ns)
{
    uint64_t word = __atomic_load_n(&b->word, __ATOMIC_ACQUIRE);
    struct breaker_view v = word_at(word, rules, now_ns);

    if (rules->mode != BREAKER_AUTO || v.state != BREAKER_OPEN || now_ns < v.until_ns)
        return false;
    return word_change(b, &word,
                       word_after(&v, BREAKER_HALF_OPEN, v.level, now_ns + rules->probe_ns));
}

void breaker_failure(struct breaker *b, const struct breaker_rules *rules, bool probe,
                     uint32_t hash, uint64_t now_ns)
{
    uint64_t word = __atomic_load_n(&b->word, __ATOMIC_ACQUIRE);
    struct breaker_view v = word_at(word, rules, now_ns);

    if (rules->mode != BREAKER_AUTO)
        return;
    if (lets_in(&v) ? __atomic_add_fetch(&b->failures, 1, __ATOMIC_ACQ_REL) >= rules->failures
                    : probe && v.state == BREAKER_HALF_OPEN)
        open_from(b, word, rules, hash, now_ns);
}

void breaker_success(struct breaker *b, const struct breaker_rules *rules, bool probe,
                     uint64_t now_ns)
{
    uint64_t word;
    struct breaker_view v;

    if (rules->mode != BREAKER_AUTO)
        return;
    /* Also while open, where the count means nothing and is cleared before it does again. */
    if (__atomic_load_n(&b->failures, __ATOMIC_RELAXED))
        __atomic_store_n(&b->failures, 0, __ATOMIC_RELEASE);
    if (!probe)
        return;
    word = __atomic_load_n(&b->word, __ATOMIC_ACQUIRE);
    v = word_at(word, rules, now_ns);
    if (v.state != BREAKER_HALF_OPEN)
        return;
    if (rules->ramp_ns)
        word_change(b, &word, word_after(&v, BREAKER_RAMPING, v.level, now_ns + rules->ramp_ns));
    else
        word_change(b, &word, word_after(&v, BREAKER_CLOSED, 0, 0));
}

/* -- the control thread's -- */

void breaker_trip(struct breaker *b, const struct breaker_rules *rules, uint32_t hash,
                  uint64_t now_ns)
{
    uint64_t word = __atomic_load_n(&b->word, __ATOMIC_ACQUIRE);
    struct breaker_view v = word_at(word, rules, now_ns);

    if (rules->mode == BREAKER_AUTO && lets_in(&v))
        open_from(b, word, rules, hash, now_ns);
}

void breaker_unforce(struct breaker *b, enum breaker_mode from, uint64_t now_ns)
{
    uint64_t word = __atomic_load_n(&b->word, __ATOMIC_ACQUIRE), to;

    if (from == BREAKER_AUTO)
        return;
    __atomic_store_n(&b->failures, 0, __ATOMIC_RELEASE);
    do {
        struct breaker_view v = word_read(word);

        to = from == BREAKER_FORCED_OPEN ? word_after(&v, BREAKER_OPEN, 0, now_ns)
                                         : word_after(&v, BREAKER_CLOSED, 0, 0);
    } while (!word_change(b, &word, to));
}

struct breaker_view breaker_view(const struct breaker *b, const struct breaker_rules *rules,
                                 uint64_t now_ns)
{
    struct breaker_view v = word_at(__atomic_load_n(&b->word, __ATOMIC_RELAXED), rules, now_ns);

    if (rules->mode != BREAKER_AUTO) {
        v.state = rules->mode == BREAKER_FORCED_OPEN ? BREAKER_OPEN : BREAKER_CLOSED;
        v.level = 0;
        v.until_ns = 0;
    }
    return v;
}

const char *breaker_state_name(enum breaker_state state)
{
    static const char *const names[] = {"closed", "ramping", "open", "half-open"};

    return names[state];
}

/* -- the share that failed -- */

static void ratio_restart(struct breaker_ratio *ratio, const struct breaker_view *view,
                          const struct breaker_results *results, uint64_t second)
{
    *ratio = (struct breaker_ratio){
        .seen = *results, .second = second, .generation = view->generation, .started = true};
}

/* Empties the cells of the seconds that have come since. */
static void ratio_advance(struct breaker_ratio *ratio, uint64_t second)
{
    if (second >= ratio->second + BREAKER_RATIO_SECONDS) {
        memset(ratio->cells, 0, sizeof(ratio->cells));
        ratio->second = second;
    }
    while (ratio->second < second) {
        ratio->second++;
        ratio->cells[ratio->second % BREAKER_RATIO_SECONDS] = (struct breaker_results){0};
    }
}

bool breaker_ratio_trips(struct breaker_ratio *ratio, const struct breaker_view *view,
                         const struct breaker_results *results, uint64_t now_ns)
{
    uint64_t second = now_ns / NS_PER_S, successes = 0, failures = 0;
    struct breaker_results *cell;

    if (!ratio->started || ratio->generation != view->generation || !lets_in(view)) {
        ratio_restart(ratio, view, results, second);
        return false;
    }
    ratio_advance(ratio, second);
    cell = &ratio->cells[ratio->second % BREAKER_RATIO_SECONDS];
    cell->successes += results->successes - ratio->seen.successes;
    cell->failures += results->failures - ratio->seen.failures;
    ratio->seen = *results;
    for (unsigned i = 0; i < BREAKER_RATIO_SECONDS; i++) {
        successes += ratio->cells[i].successes;
        failures += ratio->cells[i].failures;
    }
    return successes + failures >= BREAKER_RATIO_RESULTS &&
           failures * 1000000 >= (successes + failures) * BREAKER_RATIO_FAILED;
}
