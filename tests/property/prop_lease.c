/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One quota on 1 .. 16 workers, in virtual time: whatever share of the traffic each of them gets
 * and however their clocks differ, together they admit no more than one bucket may (judged by a
 * GCRA that knows nothing of leases) and hardly less than one bucket would.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Read-modify-writes of a shared word, counted. (A lease's `granted`, which is exchanged, lies on a
 * line of its worker's own.) A macro is not expanded within itself. */
static uint64_t atomics;
#define __atomic_fetch_add(p, v, o) (atomics++, __atomic_fetch_add(p, v, o))
#define __atomic_fetch_sub(p, v, o) (atomics++, __atomic_fetch_sub(p, v, o))
#define __atomic_compare_exchange_n(p, e, v, w, s, f)                                              \
    (atomics++, __atomic_compare_exchange_n(p, e, v, w, s, f))

#include "dataplane/admission/lease.h"
#include "tests/property/gcra.h"
#include "tests/property/random.h"

#define S           BUCKET_NS_PER_S
#define MS          1000000ull
#define WORKERS_MAX 16
#define CLOCKS_NS   50000 /* spread of the workers' clocks, where they differ */
#define FRAME_MAX   1500
#define WAITING_MAX 1024
#define WAIT_NS     (2 * MS) /* until it comes back */

struct shape {
    uint64_t rate, burst;
    uint32_t period_s; /* 0: bytes per second */
};

static const struct shape shapes[] = {
    {1, 0, 60},           {1, 20, 60},           {1000, 0, 1},
    {1000, 100, 1},       {100000, 1000, 1},     {1000000, 100, 1},
    {1000000, 10000, 1},  {4000000, 500, 1},     {4000000, 40000, 1},
    {10000000, 1000, 1},  {10000000, 100000, 1}, {125000, 9000, 0},
    {125000000, 9000, 0}, {12500000, 50000, 0},  {125000000, 1000000, 0},
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

enum skew { UNIFORM, HOT /* 97 % on one */, ROTATING /* the hot one changes */, SKEWS };
static const char *const skew_names[] = {"uniform", "97 %", "rotating"};

struct trial {
    const struct shape *shape;
    enum skew skew;
    unsigned workers;
    unsigned load;          /* offered, in times the rate */
    uint64_t packets;       /* offered */
    uint64_t on_ns, off_ns; /* 0: without pause */
    uint64_t clocks_ns;     /* spread */
    bool split;             /* rate / N per worker in place of the lease */
    bool waits;             /* every other one waits, in vain, and gives back what it took */
};

/* One that waits. */
struct waiting {
    uint64_t until_ns;
    uint32_t n, worker;
};

/* One run: N workers, a single bucket beside them, and the meter. */
struct run {
    struct trial trial;
    struct bucket_rate rate, part;
    struct pool pool;
    struct lease leases[WORKERS_MAX];
    struct bucket split[WORKERS_MAX];
    struct bucket single;
    struct gcra meter;
    uint64_t offset_ns[WORKERS_MAX];
    uint64_t seed, now_ns, busy_periods, gap_ns, turn;
    uint64_t admitted, expected; /* tokens, by the workers and by the single bucket */
    uint64_t packets, excess;    /* packets offered; admitted though the meter says no */
    uint64_t differences;        /* decisions other than the single bucket's */
    struct waiting waiting[WAITING_MAX];
    uint64_t first_waiting, n_waiting;
    uint64_t held; /* tokens that they have */
};

static struct bucket_rate rate_of(const struct shape *s, unsigned share)
{
    struct bucket_rate r;

    if (s->period_s)
        assert_true(bucket_rate_events(&r, s->rate / share, s->period_s, s->burst / share));
    else
        assert_true(bucket_rate_bytes(&r, s->rate / share, s->burst / share));
    return r;
}

static struct lot lot_of(const struct trial *t)
{
    struct bucket_rate rate = rate_of(t->shape, 1);

    return t->shape->period_s ? lease_lot_events(&rate, t->workers)
                              : lease_lot_bytes(&rate, t->workers);
}

static void start(struct run *r, const struct trial *trial, uint64_t seed)
{
    const struct shape *s = trial->shape;
    uint64_t size = s->period_s ? 1 : (40 + FRAME_MAX) / 2;

    memset(r, 0, sizeof(*r));
    r->trial = *trial;
    r->seed = seed;
    r->now_ns = 1 + CLOCKS_NS;
    r->rate = rate_of(s, 1);
    r->part = rate_of(s, trial->split ? trial->workers : 1);
    r->gap_ns = size * r->rate.cost / r->rate.rate / trial->load;
    pool_set(&r->pool, r->rate.cap, 1);
    bucket_init(&r->single, &r->rate, 1);
    r->meter = gcra_start(s->rate, r->rate.cost, s->period_s ? s->burst + 1 : s->burst, 1);
    r->meter.depth += (__int128_t)s->rate * trial->clocks_ns;
    for (unsigned w = 0; w < trial->workers; w++) {
        r->leases[w] = (struct lease){.rate = r->rate, .lot = lot_of(trial)};
        bucket_init(&r->split[w], &r->part, 1);
        if (w > 0) /* one clock at either end, the others between */
            r->offset_ns[w] =
                w == 1 ? trial->clocks_ns : random_below(&r->seed, trial->clocks_ns + 1);
    }
}

/* level + cost * outstanding <= cap, and what is out is exactly what the leases say. */
static void check_pool(const struct run *r)
{
    int64_t granted = 0;

    for (unsigned w = 0; w < r->trial.workers; w++) {
        assert_true(r->leases[w].left <= r->leases[w].granted);
        granted += r->leases[w].granted;
    }
    assert_true(r->pool.outstanding == granted);
    assert_true(r->pool.level >= 0);
    assert_true((uint64_t)r->pool.level + (uint64_t)granted * r->rate.cost <= r->rate.cap);
}

static unsigned next_worker(struct run *r)
{
    unsigned n = r->trial.workers, hot = 0;
    uint64_t stay_ns = r->gap_ns * 1000 > MS / 3 ? r->gap_ns * 1000 : MS / 3;

    if (r->trial.skew == UNIFORM)
        return (unsigned)random_below(&r->seed, n);
    if (r->trial.skew == ROTATING)
        hot = (unsigned)(r->now_ns / stay_ns % n);
    if (random_below(&r->seed, 100) < 97)
        return hot;
    return (unsigned)random_below(&r->seed, n);
}

static void pass_time(struct run *r)
{
    const struct trial *t = &r->trial;
    uint64_t before = t->on_ns ? r->now_ns / t->on_ns : 0;

    r->now_ns += random_below(&r->seed, 2 * r->gap_ns + 1);
    if (t->on_ns && r->now_ns / t->on_ns != before) {
        r->now_ns += t->off_ns;
        r->busy_periods++;
    }
}

/* What admission_tidy() does, for one worker after the other. */
static void tidy_one(struct run *r)
{
    unsigned w = (unsigned)(r->turn++ % r->trial.workers);
    struct lease *lease = &r->leases[w];

    if (lease_is_held(lease) && r->now_ns + r->offset_ns[w] >= lease->since_ns + LEASE_IDLE_NS)
        lease_return(lease, &r->pool, r->now_ns + r->offset_ns[w]);
}

/* Those who waited long enough give back what they took. */
static void refuse_waiting(struct run *r)
{
    while (r->n_waiting > 0) {
        const struct waiting *first = &r->waiting[r->first_waiting % WAITING_MAX];

        if (first->until_ns > r->now_ns)
            break;
        lease_untake(&r->leases[first->worker], &r->pool, first->n);
        r->held -= first->n;
        r->first_waiting++;
        r->n_waiting--;
        check_pool(r);
    }
}

static bool may_wait(struct run *r, unsigned worker, uint32_t n)
{
    if (!r->trial.waits || r->n_waiting == WAITING_MAX || r->packets % 2)
        return false;
    r->waiting[(r->first_waiting + r->n_waiting++) % WAITING_MAX] =
        (struct waiting){r->now_ns + WAIT_NS, n, worker};
    r->held += n;
    return true;
}

static void offer(struct run *r)
{
    unsigned w = next_worker(r);
    uint32_t n =
        r->trial.shape->period_s ? 1 : (uint32_t)(40 + random_below(&r->seed, FRAME_MAX + 1 - 40));
    uint64_t at_ns = r->now_ns + r->offset_ns[w];
    bool expected = bucket_take(&r->single, &r->rate, n, r->now_ns);
    bool admitted = r->trial.split ? bucket_take(&r->split[w], &r->part, n, at_ns)
                                   : lease_take(&r->leases[w], &r->pool, n, 0, at_ns);

    r->packets++;
    r->expected += expected ? n : 0;
    r->differences += admitted != expected;
    if (!admitted || may_wait(r, w, n))
        return;
    r->admitted += n;
    r->excess += !gcra_conforms(&r->meter, n, r->now_ns);
}

static void run(struct run *r, const struct trial *trial, uint64_t seed)
{
    uint64_t packets = trial->packets;

    if (trial->shape->period_s)
        packets += 2 * trial->shape->burst; /* enough to use it up */
    start(r, trial, seed);
    atomics = 0;
    for (uint64_t i = 0; i < packets; i++) {
        pass_time(r);
        refuse_waiting(r);
        offer(r);
        if (!trial->split)
            tidy_one(r);
        check_pool(r);
    }
}

/* Tokens that leases may miss: as lease.h says for each busy period, and 0.1 %. */
static uint64_t allowed_shortfall(const struct run *r)
{
    uint64_t lot = lot_of(&r->trial).tokens, clocks_ns = r->trial.clocks_ns;
    uint64_t held = lot > 1 ? 2 * r->trial.workers * lot : 0, steady = r->expected / 1000;

    /* A worker short of a frame may hold what is left of its last lot. */
    if (!r->trial.shape->period_s)
        held += r->trial.workers * FRAME_MAX;
    /* A small bucket overflows while it waits for the clock that is behind. */
    if (r->rate.cap < 2 * r->rate.rate * clocks_ns + r->rate.cost)
        steady = r->expected / 10;
    held += r->rate.rate * clocks_ns / r->rate.cost;
    return held * (1 + r->busy_periods) + steady;
}

static bool passes(const struct run *r)
{
    return r->excess == 0 && r->admitted + allowed_shortfall(r) >= r->expected;
}

static double worst; /* shortfall of a series of trials, as a share of what one bucket admits */

static void assert_passes(const struct run *r)
{
    const struct trial *t = &r->trial;
    double shortfall = 1 - (double)r->admitted / (double)r->expected;

    worst = shortfall > worst ? shortfall : worst;
    if (!passes(r))
        fail_msg("%" PRIu64 "/%us burst %" PRIu64 ", %u workers, %s, on %" PRIu64
                 " ns, clocks %" PRIu64 " ns: %" PRIu64 " admitted, %" PRIu64
                 " by one bucket, %" PRIu64 " may be missed, %" PRIu64 " too many",
                 t->shape->rate, t->shape->period_s, t->shape->burst, t->workers,
                 skew_names[t->skew], t->on_ns, t->clocks_ns, r->admitted, r->expected,
                 allowed_shortfall(r), r->excess);
}

static void each_trial(void (*check)(const struct run *r), struct trial base)
{
    static struct run r;
    uint64_t seed = 1;

    worst = 0;
    for (size_t s = 0; s < SHAPES; s++)
        for (unsigned n = 1; n <= WORKERS_MAX; n++)
            for (unsigned skew = 0; skew < SKEWS; skew++) {
                base.shape = &shapes[s];
                base.workers = n;
                base.skew = (enum skew)skew;
                run(&r, &base, seed++);
                check(&r);
            }
    print_message("# worst shortfall of these runs %.2f %%\n", 100 * worst);
}

/* -- any number of workers and any skew -- */

static void steady_overload(void **state)
{
    (void)state;
    each_trial(assert_passes, (struct trial){.load = 5, .packets = 30000});
}

static void on_and_off(void **state)
{
    struct trial trial = {.load = 5, .packets = 20000, .on_ns = 3 * MS, .off_ns = 2 * MS};

    (void)state;
    each_trial(assert_passes, trial);
    trial.on_ns = 100000;
    trial.off_ns = 300000;
    trial.clocks_ns = CLOCKS_NS;
    each_trial(assert_passes, trial);
}

static void clocks_that_differ(void **state)
{
    (void)state;
    each_trial(assert_passes, (struct trial){.load = 5, .packets = 30000, .clocks_ns = CLOCKS_NS});
}

static void at_the_rate_nothing_is_refused(void **state)
{
    static const struct shape easy = {1000000, 4096, 1};
    static struct run r;

    (void)state;
    for (unsigned skew = 0; skew < SKEWS; skew++)
        for (unsigned n = 1; n <= WORKERS_MAX; n++) {
            struct trial trial = {
                .shape = &easy, .skew = skew, .workers = n, .load = 1, .packets = 50000};

            run(&r, &trial, 1);
            assert_int_equal(r.expected, r.packets); /* the burst carries the ups and downs */
            assert_int_equal(r.admitted, r.packets);
        }
}

/* Millions of packets, so that what is lost with every lot would show. */
static void nothing_leaks_in_the_long_run(void **state)
{
    static const struct shape fast[] = {{1000000, 4000, 1},
                                        {1000000, 4000, 1},
                                        {4000000, 4000, 1},
                                        {10000000, 100000, 1},
                                        {10000000, 100000, 1}};
    static const unsigned workers[] = {2, 8, 4, 4, 16};
    static struct run r;

    (void)state;
    for (unsigned i = 0; i < 5; i++)
        for (unsigned skew = 0; skew < SKEWS; skew++) {
            struct trial trial = {.shape = &fast[i],
                                  .skew = skew,
                                  .workers = workers[i],
                                  .load = 2,
                                  .packets = fast[i].rate / 5 * 2};

            run(&r, &trial, skew);
            assert_int_equal(r.excess, 0);
            print_message("# %" PRIu64 "/s, %u workers, %s: %.4f %% short in 0.2 s\n",
                          trial.shape->rate, trial.workers, skew_names[skew],
                          100.0 * (double)(r.expected - r.admitted) / (double)r.expected);
            assert_true(r.admitted + r.expected / 1000 >= r.expected);
        }
}

/* -- tokens that come back late -- */

/* Others may have those, but no more than the burst at any time (check_pool) and than the rate in
 * the long run; and nothing is lost while the bucket is empty, if it can hold what comes back. */
static void check_waits(const struct run *r)
{
    uint64_t most = (uint64_t)((r->rate.cap + (__int128_t)r->rate.rate * r->now_ns) / r->rate.cost);
    uint64_t taken = r->admitted + r->held;

    if (taken > most)
        fail_msg("%" PRIu64 "/s: %" PRIu64 " of %" PRIu64, r->trial.shape->rate, taken, most);
    if (r->trial.on_ns || r->trial.shape->burst == 0)
        return;
    if (taken + allowed_shortfall(r) < r->expected)
        fail_msg("%" PRIu64 "/s: %" PRIu64 ", by one bucket %" PRIu64, r->trial.shape->rate, taken,
                 r->expected);
}

static void late_returns_fill_nothing_twice(void **state)
{
    struct trial trial = {.load = 5, .packets = 30000, .waits = true};

    (void)state;
    each_trial(check_waits, trial);
    trial.on_ns = 3 * MS;
    trial.off_ns = WAIT_NS;
    each_trial(check_waits, trial);
}

/* -- lots of 1 -- */

static void check_identical(const struct run *r)
{
    assert_true(lot_of(&r->trial).tokens > 1 || r->differences == 0);
}

/* One bucket, decision for decision, whoever asks. */
static void small_quotas_are_exact(void **state)
{
    struct trial trial = {.load = 2, .packets = 20000};
    unsigned exact = 0;

    (void)state;
    for (size_t s = 0; s < SHAPES; s++)
        for (unsigned n = 1; n <= WORKERS_MAX; n++)
            exact += lot_of(&(struct trial){.shape = &shapes[s], .workers = n}).tokens == 1;
    assert_int_equal(exact, 136); /* of 240 */
    each_trial(check_identical, trial);
    trial.load = 5;
    trial.on_ns = 3 * MS;
    trial.off_ns = 2 * MS;
    each_trial(check_identical, trial);
}

/* -- what it is worth -- */

/* The same check tells a static split from a lease. */
static void a_static_split_fails(void **state)
{
    static struct run r;

    (void)state;
    for (size_t s = 2; s < 12; s++)
        for (unsigned n = 4; n <= 16; n *= 2) {
            struct trial trial = {
                .shape = &shapes[s], .skew = HOT, .workers = n, .load = 5, .packets = 60000};

            run(&r, &trial, 7);
            assert_true(passes(&r));
            trial.split = true;
            run(&r, &trial, 7);
            assert_false(passes(&r));
            assert_true(r.admitted * 10 < r.expected * 9); /* misses more than 10 % */
        }
}

/* Reported; bounded at twice what was measured, for a change that makes it many times more. */
static void atomics_per_packet(void **state)
{
    static const struct shape rates[] = {{1000000, 20000, 1}, {10000000, 20000, 1}};
    static const double bounds[] = {1.2, 0.13};
    static struct run r;

    (void)state;
    for (unsigned i = 0; i < 2; i++)
        for (unsigned n = 1; n <= WORKERS_MAX; n *= 2)
            for (unsigned load = 1; load <= 5; load += 4) {
                struct trial trial = {
                    .shape = &rates[i], .workers = n, .load = load, .packets = 500000};
                double each;

                run(&r, &trial, 3);
                each = (double)atomics / (double)r.packets;
                print_message("# %" PRIu64 "/s offered %ux, %u workers, lots of %u: %.3f atomics "
                              "a packet\n",
                              rates[i].rate, load, n, lot_of(&trial).tokens, each);
                assert_true(each < bounds[i]);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steady_overload),
        cmocka_unit_test(on_and_off),
        cmocka_unit_test(clocks_that_differ),
        cmocka_unit_test(at_the_rate_nothing_is_refused),
        cmocka_unit_test(nothing_leaks_in_the_long_run),
        cmocka_unit_test(late_returns_fill_nothing_twice),
        cmocka_unit_test(small_quotas_are_exact),
        cmocka_unit_test(a_static_split_fails),
        cmocka_unit_test(atomics_per_packet),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
