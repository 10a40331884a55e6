/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdbool.h>
#include <string.h>

#include "dataplane/admission/slo.h"

#define NS_PER_S 1000000000ull
#define MILLION  1000000u

/* Three days of a busy service, times the factors of a comparison. */
__extension__ typedef unsigned __int128 wide;

static const uint64_t cell_ns[SLO_WINDOWS] = {
    [SLO_5M] = 300 * NS_PER_S / SLO_CELLS,    [SLO_30M] = 1800 * NS_PER_S / SLO_CELLS,
    [SLO_1H] = 3600 * NS_PER_S / SLO_CELLS,   [SLO_6H] = 21600 * NS_PER_S / SLO_CELLS,
    [SLO_3D] = 259200 * NS_PER_S / SLO_CELLS,
};

static const struct {
    enum slo_window brief, lengthy;
    uint32_t tenths; /* of the burn rate that is too much */
    enum slo_alert alert;
} pairs[] = {
    {SLO_5M, SLO_1H, 144, SLO_BLAZING},
    {SLO_30M, SLO_6H, 60, SLO_BURNING},
    {SLO_6H, SLO_3D, 10, SLO_CREEPING},
};

void slo_set_objective(struct slo *slo, uint32_t objective_ppm)
{
    slo->budget_ppm = objective_ppm < MILLION ? MILLION - objective_ppm : 1;
}

void slo_init(struct slo *slo, uint32_t objective_ppm, struct slo_count now, uint64_t now_ns)
{
    memset(slo, 0, sizeof(*slo));
    slo_set_objective(slo, objective_ppm);
    slo->last = now;
    slo->start_ns = slo->now_ns = now_ns;
}

/* Drops the cells that the window has left behind. */
static void ring_advance(struct slo_ring *ring, uint64_t cell)
{
    uint64_t steps = cell - ring->cell;

    if (steps > SLO_CELLS)
        steps = SLO_CELLS;
    ring->cell = cell - steps;
    while (ring->cell < cell) {
        struct slo_count *oldest = &ring->cells[++ring->cell % SLO_CELLS];

        ring->sum.good -= oldest->good;
        ring->sum.total -= oldest->total;
        *oldest = (struct slo_count){0, 0};
    }
}

static void ring_add(struct slo_ring *ring, struct slo_count more)
{
    struct slo_count *newest = &ring->cells[ring->cell % SLO_CELLS];

    newest->good += more.good;
    newest->total += more.total;
    ring->sum.good += more.good;
    ring->sum.total += more.total;
}

void slo_feed(struct slo *slo, struct slo_count now, uint64_t now_ns)
{
    bool forward = now.good >= slo->last.good && now.total >= slo->last.total;
    struct slo_count more = {forward ? now.good - slo->last.good : 0,
                             forward ? now.total - slo->last.total : 0};

    slo->last = now;
    if (now_ns > slo->now_ns)
        slo->now_ns = now_ns;
    for (unsigned w = 0; w < SLO_WINDOWS; w++) {
        /* What is fed at the very end of a cell was counted before that end. */
        uint64_t past_ns = slo->now_ns - slo->start_ns;

        ring_advance(&slo->rings[w], past_ns ? (past_ns - 1) / cell_ns[w] : 0);
        ring_add(&slo->rings[w], more);
    }
}

/* How much of the window has passed since the start, at most all of it. */
static uint64_t filled_ns(const struct slo *slo, enum slo_window window)
{
    uint64_t past_ns = slo->now_ns - slo->start_ns, all_ns = cell_ns[window] * SLO_CELLS;

    return past_ns < all_ns ? past_ns : all_ns;
}

static uint64_t bad_of(struct slo_count sum)
{
    return sum.total > sum.good ? sum.total - sum.good : 0;
}

double slo_burn(const struct slo *slo, enum slo_window window)
{
    struct slo_count sum = slo->rings[window].sum;
    double share;

    if (sum.total == 0)
        return 0;
    share = (double)bad_of(sum) / (double)sum.total;
    share *= (double)filled_ns(slo, window) / (double)(cell_ns[window] * SLO_CELLS);
    return share * MILLION / slo->budget_ppm;
}

/* burn > tenths / 10, in whole numbers: at the threshold itself there is no alarm. */
static bool exceeds(const struct slo *slo, enum slo_window window, uint32_t tenths)
{
    struct slo_count sum = slo->rings[window].sum;
    uint64_t filled_ppm = filled_ns(slo, window) / (cell_ns[window] * SLO_CELLS / MILLION);

    return (wide)bad_of(sum) * filled_ppm * 10 > (wide)sum.total * tenths * slo->budget_ppm;
}

enum slo_alert slo_alert(const struct slo *slo)
{
    for (unsigned i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        if (exceeds(slo, pairs[i].brief, pairs[i].tenths) &&
            exceeds(slo, pairs[i].lengthy, pairs[i].tenths))
            return pairs[i].alert;
    return SLO_QUIET;
}

const char *slo_window_name(enum slo_window window)
{
    static const char *const names[SLO_WINDOWS] = {"5m", "30m", "1h", "6h", "3d"};

    return names[window];
}

const char *slo_alert_name(enum slo_alert alert)
{
    static const char *const names[] = {"quiet", "creeping", "burning", "blazing"};

    return names[alert];
}
