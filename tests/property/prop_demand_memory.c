/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a memory of unserved work gets wrong at 0.5, 1 and 2 times as much live work as it has
 * places, beside two rotating Bloom filters in the same memory (four hashes; at load 2, 16 bits a
 * key), which give no times and take nothing out:
 *  - new work taken for a retry;
 *  - retries taken for new work, because their entries had to make room;
 *  - work whose deadline has passed, and work that was served, taken for still unserved.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dataplane/admission/demand_memory.h"
#include "tests/property/random.h"

#define LINES      4096u
#define PLACES     (LINES * DEMAND_WAYS)
#define BLOOM_BITS (LINES * 64u * 8 / 2) /* of each filter */
#define WITHIN_NS  (1000 * DEMAND_TICK_NS)
#define DEADLINES  6 /* that a run lasts */

/* -- the Bloom filters -- */

struct bloom_pair {
    uint64_t bits[2][BLOOM_BITS / 64];
    unsigned young; /* the filter that is written */
};

static uint32_t bloom_bit(uint64_t key, unsigned i)
{
    return ((uint32_t)key + i * ((uint32_t)(key >> 32) | 1)) % BLOOM_BITS;
}

static void bloom_add(struct bloom_pair *pair, uint64_t key)
{
    for (unsigned i = 0; i < 4; i++)
        pair->bits[pair->young][bloom_bit(key, i) / 64] |= 1ull << bloom_bit(key, i) % 64;
}

static bool bloom_has(const struct bloom_pair *pair, uint64_t key)
{
    unsigned found[2] = {0};

    for (unsigned f = 0; f < 2; f++)
        for (unsigned i = 0; i < 4; i++)
            found[f] += pair->bits[f][bloom_bit(key, i) / 64] >> bloom_bit(key, i) % 64 & 1;
    return found[0] == 4 || found[1] == 4;
}

static void bloom_rotate(struct bloom_pair *pair)
{
    pair->young ^= 1;
    memset(pair->bits[pair->young], 0, sizeof(pair->bits[0]));
}

/* -- a steady stream of work that stays unserved -- */

struct errors {
    uint64_t asked, new, missed, late, served;
};

struct stream {
    struct demand_memory *memory;
    struct bloom_pair bloom;
    struct errors table_errors, bloom_errors;
    uint64_t live; /* keys inside their deadline */
    uint64_t random;
};

static uint64_t key_of(uint64_t n)
{
    return random_u64(&n);
}

static uint64_t time_of(const struct stream *s, uint64_t n)
{
    return (n + 1) * (WITHIN_NS / s->live); /* exact: 1000 ticks are many times `live` */
}

static bool table_has(const struct stream *s, uint64_t n, uint64_t now_ns)
{
    uint64_t first_ns;
    bool found = demand_find(s->memory, key_of(n), WITHIN_NS, now_ns, &first_ns);

    if (found) /* and knows since when, to the tick */
        assert_int_equal(first_ns, time_of(s, n) & ~(DEMAND_TICK_NS - 1));
    return found;
}

/* Of one of each kind: unheard of, live, given up. The last tick of a deadline is left out. */
static void ask(struct stream *s, uint64_t n)
{
    uint64_t now_ns = time_of(s, n), unheard_of = random_u64(&s->random), first_ns;
    uint64_t live = n - random_below(&s->random, s->live - s->live / 500);
    uint64_t late = n - s->live - random_below(&s->random, s->live);

    s->table_errors.asked++;
    s->table_errors.new += demand_find(s->memory, unheard_of, WITHIN_NS, now_ns, &first_ns);
    s->table_errors.missed += !table_has(s, live, now_ns);
    s->table_errors.late += table_has(s, late, now_ns);
    s->bloom_errors.asked++;
    s->bloom_errors.new += bloom_has(&s->bloom, unheard_of);
    s->bloom_errors.missed += !bloom_has(&s->bloom, key_of(live));
    s->bloom_errors.late += bloom_has(&s->bloom, key_of(late));
}

static void serve_all(struct stream *s, uint64_t n)
{
    for (uint64_t i = n - s->live + 1; i <= n; i++) {
        demand_forget(s->memory, key_of(i), time_of(s, n));
        s->table_errors.served += table_has(s, i, time_of(s, n));
        s->bloom_errors.served += bloom_has(&s->bloom, key_of(i));
    }
}

static void run(struct stream *s, uint64_t live)
{
    size_t bytes = demand_bytes(LINES);
    void *memory = aligned_alloc(64, bytes);

    assert_non_null(memory);
    *s = (struct stream){.memory = demand_init(memset(memory, 0, bytes), LINES), .live = live};
    for (uint64_t n = 0; n < DEADLINES * live; n++) {
        if (n % live == 0)
            bloom_rotate(&s->bloom);
        demand_note(s->memory, key_of(n), WITHIN_NS, time_of(s, n));
        bloom_add(&s->bloom, key_of(n));
        if (n >= 2 * live)
            ask(s, n);
    }
    serve_all(s, DEADLINES * live - 1);
    free(memory);
}

static double percent(uint64_t part, uint64_t of)
{
    return 100 * (double)part / (double)of;
}

static void print_errors(const char *name, const struct errors *e, uint64_t live)
{
    print_message("#   %s: new work taken for a retry %.4f %%, retries missed %.2f %%, given up "
                  "still known %.1f %%, served still known %.1f %%\n",
                  name, percent(e->new, e->asked), percent(e->missed, e->asked),
                  percent(e->late, e->asked), percent(e->served, live));
}

static void errors_at_the_same_memory(void **state)
{
    /* Misses as a Poisson distributed number of keys in a line predicts: sum over what exceeds 8.
     */
    static const double missed_percent[] = {0.83, 13.9, 50.1};
    static struct stream s;

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        run(&s, (uint64_t)PLACES / 2 << i);
        print_message("# load %.1f\n", 0.5 * (1 << i));
        print_errors("table", &s.table_errors, s.live);
        print_errors("Bloom", &s.bloom_errors, s.live);
        /* 8 in 2^22 would be .13 to .5 of one. */
        assert_true(s.table_errors.new <= 2);
        assert_true(s.table_errors.late == 0 && s.table_errors.served == 0);
        assert_true(percent(s.table_errors.missed, s.table_errors.asked) >
                    missed_percent[i] * 0.9 - 0.1);
        assert_true(percent(s.table_errors.missed, s.table_errors.asked) <
                    missed_percent[i] * 1.1 + 0.1);
        assert_true(s.bloom_errors.missed == 0);
    }
    /* The specified size: one filter is full, the other fills up. */
    assert_true(percent(s.bloom_errors.new, s.bloom_errors.asked) > 0.24);
    assert_true(percent(s.bloom_errors.new, s.bloom_errors.asked) < 0.36);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_at_the_same_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
