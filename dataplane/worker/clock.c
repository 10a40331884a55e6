/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/worker/clock.h"

#include <rte_cycles.h>
#include <stdbool.h>
#include <time.h>

#define CALIBRATION_LOOKS 32
#define FOLLOWING_LOOKS   8

/* NTP turns CLOCK_MONOTONIC by 500 ppm at most, crystals drift by less: more is no rate, but a
 * pause of the machine. */
#define RATE_DOUBT 1e-3
/* Half of what the last look found is taken in: one look in two may be off by what an interrupt
 * takes. */
#define RATE_SHARE     .5
#define ERROR_SHARE    .5
#define HORIZON_MAX_NS 1e9 /* when the next look may be late, an error is worked off slowly */

static uint64_t now_ns(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* The tightest of a few: the thread may be interrupted between the two clocks. */
static struct clock_reading read_both(clockid_t id, unsigned looks)
{
    struct clock_reading best = {0, 0};
    uint64_t best_gap = UINT64_MAX;

    for (unsigned i = 0; i < looks; i++) {
        uint64_t before = rte_rdtsc_precise();
        uint64_t kernel_ns = now_ns(id);
        uint64_t gap = rte_rdtsc_precise() - before;

        if (gap < best_gap) {
            best_gap = gap;
            best = (struct clock_reading){before + gap / 2, kernel_ns};
        }
    }
    return best;
}

/* The line not in force has no readers but those who will find that the count has changed. */
static void publish(struct clock *clock, uint64_t base_ns, double ns_per_cycle)
{
    uint64_t sequence = clock->sequence + 1;
    struct clock_line *line = &clock->lines[sequence & 1];

    __atomic_store_n(&line->base_cycles, clock->last.cycles, __ATOMIC_RELEASE);
    __atomic_store_n(&line->base_ns, base_ns, __ATOMIC_RELEASE);
    __atomic_store_n(&line->ns_per_cycle_q32, (uint64_t)(ns_per_cycle * 4294967296.0),
                     __ATOMIC_RELEASE);
    __atomic_store_n(&clock->sequence, sequence, __ATOMIC_RELEASE);
}

void clock_begin(struct clock *clock, const struct clock_reading *now, double ns_per_cycle)
{
    clock->nominal_ns_per_cycle = clock->ns_per_cycle = ns_per_cycle;
    clock->last = *now;
    __atomic_store_n(&clock->error_ns, 0, __ATOMIC_RELAXED);
    publish(clock, now->kernel_ns, ns_per_cycle);
}

void clock_start(struct clock *clock)
{
    const struct timespec pause = {.tv_nsec = CLOCK_CALIBRATION_NS};
    struct clock_reading first = read_both(CLOCK_MONOTONIC_RAW, CALIBRATION_LOOKS), last;
    double cycles, span_ns;

    nanosleep(&pause, NULL);
    last = read_both(CLOCK_MONOTONIC_RAW, CALIBRATION_LOOKS);
    cycles = (double)(last.cycles - first.cycles);
    span_ns = (double)(last.kernel_ns - first.kernel_ns);
    clock->measured_hz = (uint64_t)(cycles * 1e9 / span_ns);
    last = read_both(CLOCK_MONOTONIC, CALIBRATION_LOOKS);
    clock_begin(clock, &last, span_ns / cycles);
}

static void measure(struct clock *clock, uint64_t cycles, uint64_t span_ns)
{
    double seen = (double)span_ns / (double)cycles;
    double off = seen / clock->nominal_ns_per_cycle - 1;

    if (off < RATE_DOUBT && off > -RATE_DOUBT)
        clock->ns_per_cycle += RATE_SHARE * (seen - clock->ns_per_cycle);
}

/* By how much faster, as a share, to have worked off a part of the error at the next look. */
static double slew(int64_t error_ns, double span_ns)
{
    double horizon_ns = span_ns < HORIZON_MAX_NS ? span_ns : HORIZON_MAX_NS;
    double share = ERROR_SHARE * (double)error_ns / horizon_ns, most = CLOCK_SLEW_PPM * 1e-6;

    return share > most ? most : share < -most ? -most : share;
}

void clock_refit(struct clock *clock, const struct clock_reading *now)
{
    uint64_t span_ns = now->kernel_ns - clock->last.kernel_ns;
    uint64_t here_ns = clock_ns(clock, now->cycles);

    if (span_ns < CLOCK_REFIT_MIN_NS || now->cycles <= clock->last.cycles)
        return;
    measure(clock, now->cycles - clock->last.cycles, span_ns);
    clock->last = *now;
    __atomic_store_n(&clock->error_ns, (int64_t)(now->kernel_ns - here_ns), __ATOMIC_RELAXED);
    if (clock->error_ns > CLOCK_JUMP_NS)
        publish(clock, now->kernel_ns, clock->ns_per_cycle);
    else
        publish(clock, here_ns, clock->ns_per_cycle * (1 + slew(clock->error_ns, (double)span_ns)));
}

void clock_follow(struct clock *clock)
{
    const struct clock_reading now = read_both(CLOCK_MONOTONIC, FOLLOWING_LOOKS);

    clock_refit(clock, &now);
}
