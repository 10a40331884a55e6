/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When arrivals come. Where the rate is constant by pieces it is followed exactly: a gap that ends
 * behind a change of the rate is stretched or shortened there, so that the expected number of
 * arrivals in any time is the rate's integral over it. With a decaying rate a gap has the rate of
 * its beginning, as in the models that are reproduced with it.
 */
#include <math.h>

#include "tools/scenario/draw.h"

/* Since the last spike began, or -1 before the first. */
static double spike_phase_s(const struct scenario_arrivals *arrivals, double t_s)
{
    return t_s < arrivals->from_s ? -1.0 : fmod(t_s - arrivals->from_s, arrivals->every_s);
}

/* The order of these operations is the FaxRx model's, whose rates are reproduced to the last bit.
 */
static double decaying_rate(const struct scenario_arrivals *arrivals, double t_s)
{
    double phase_s = spike_phase_s(arrivals, t_s), base = arrivals->rate_per_s;
    double peak = base * arrivals->factor, k = arrivals->decay / arrivals->width_s;

    if (phase_s < 0.0 || phase_s >= arrivals->width_s)
        return base;
    return base + (peak - base) * exp(-k * phase_s);
}

/* A piece of constant rate. */
struct piece {
    double rate_per_s, end_s;
};

static struct piece step_piece(const struct scenario_arrivals *arrivals, double t_s)
{
    double end_s = arrivals->from_s + arrivals->for_s;

    if (t_s < arrivals->from_s)
        return (struct piece){arrivals->rate_per_s, arrivals->from_s};
    if (t_s < end_s)
        return (struct piece){arrivals->rate_per_s * arrivals->factor, end_s};
    return (struct piece){arrivals->rate_per_s, INFINITY};
}

static struct piece on_off_piece(const struct scenario_arrivals *arrivals, double t_s)
{
    double period_s = arrivals->on_s + arrivals->off_s, begin_s, on_end_s;

    if (t_s < arrivals->from_s)
        return (struct piece){arrivals->rate_per_s, arrivals->from_s};
    begin_s = arrivals->from_s + floor((t_s - arrivals->from_s) / period_s) * period_s;
    if (begin_s + period_s <= t_s) /* the quotient was rounded down */
        begin_s += period_s;
    on_end_s = begin_s + arrivals->on_s;
    if (t_s < on_end_s)
        return (struct piece){arrivals->rate_per_s * arrivals->factor, on_end_s};
    return (struct piece){arrivals->rate_per_s * arrivals->rest, begin_s + period_s};
}

static struct piece piece_at(const struct scenario_arrivals *arrivals, double t_s)
{
    switch (arrivals->shape) {
    case ARRIVE_STEP:
        return step_piece(arrivals, t_s);
    case ARRIVE_ON_OFF:
        return on_off_piece(arrivals, t_s);
    default:
        return (struct piece){arrivals->rate_per_s, INFINITY};
    }
}

double arrivals_rate(const struct scenario_arrivals *arrivals, double t_s)
{
    if (arrivals->shape == ARRIVE_DECAY)
        return decaying_rate(arrivals, t_s);
    return piece_at(arrivals, t_s).rate_per_s;
}

/* Whole periods of on and off that hold fewer than `*many`, which they are taken from. */
static double skip_periods(const struct scenario_arrivals *arrivals, double t_s, double *many)
{
    double on = arrivals->factor * arrivals->on_s, off = arrivals->rest * arrivals->off_s;
    double each = arrivals->rate_per_s * (on + off), periods = floor(*many / each);

    *many = fmax(*many - periods * each, 0.0);
    return t_s + periods * (arrivals->on_s + arrivals->off_s);
}

/* When so many (a fraction, too) have been expected since `t_s`. */
static double walk(const struct scenario_arrivals *arrivals, double t_s, double many)
{
    while (t_s < arrivals->stop_s) {
        struct piece piece;

        if (arrivals->shape == ARRIVE_ON_OFF && t_s >= arrivals->from_s)
            t_s = skip_periods(arrivals, t_s, &many);
        piece = piece_at(arrivals, t_s);
        if (piece.end_s == INFINITY || piece.rate_per_s * (piece.end_s - t_s) > many)
            return t_s + many / piece.rate_per_s;
        many -= piece.rate_per_s * (piece.end_s - t_s);
        t_s = piece.end_s;
    }
    return INFINITY;
}

/* Evenly spaced arrivals are counted from their start, so that no error adds up and one that is due
 * when the rate changes comes at that very time. A producer that waited goes on from where it is.
 */
static double next_even_s(const struct scenario_arrivals *arrivals, double now_s, uint64_t n)
{
    if (n == 0)
        return walk(arrivals, arrivals->start_s, 0.0);
    if (arrivals->shape == ARRIVE_DECAY)
        return now_s + 1.0 / decaying_rate(arrivals, now_s);
    if (arrivals->blocks)
        return walk(arrivals, now_s, 1.0);
    return walk(arrivals, arrivals->start_s, (double)n);
}

double draw_next_arrival_s(struct random_state *state, const struct scenario_arrivals *arrivals,
                           double now_s, uint64_t n)
{
    double next_s;

    if (arrivals->count && n >= arrivals->count)
        return INFINITY;
    if (arrivals->shape == ARRIVE_TRACE)
        next_s = n < arrivals->n_trace ? arrivals->trace_s[n] : INFINITY;
    else if (!arrivals->poisson)
        next_s = next_even_s(arrivals, now_s, n);
    else if (arrivals->shape == ARRIVE_DECAY || arrivals->shape == ARRIVE_STEADY)
        next_s = now_s + random_exponential(state, arrivals_rate(arrivals, now_s));
    else
        next_s = walk(arrivals, now_s, random_exponential(state, 1.0));
    return next_s < arrivals->stop_s ? next_s : INFINITY;
}

/* Bursts begin every `every_s` from `from_s` on and last `long_s`; the last one before `stop_s`. */
static double last_end_s(const struct scenario_arrivals *arrivals, double every_s, double long_s)
{
    double before = ceil((arrivals->stop_s - arrivals->from_s) / every_s) - 1.0;

    return arrivals->from_s + before * every_s + long_s;
}

static double burst_end_s(const struct scenario_arrivals *arrivals)
{
    bool rises = arrivals->factor > 1.0;

    switch (arrivals->shape) {
    case ARRIVE_STEP:
        return rises ? arrivals->from_s + arrivals->for_s : 0.0;
    case ARRIVE_DECAY:
        return rises ? last_end_s(arrivals, arrivals->every_s, arrivals->width_s) : 0.0;
    case ARRIVE_ON_OFF:
        return last_end_s(arrivals, arrivals->on_s + arrivals->off_s, arrivals->on_s);
    default:
        return 0.0;
    }
}

double scenario_burst_end_s(const struct scenario *scenario)
{
    double end_s = 0.0;

    for (uint32_t i = 0; i < scenario->n_arrivals; i++) {
        const struct scenario_arrivals *arrivals = &scenario->arrivals[i];

        if (arrivals->from_s < arrivals->stop_s)
            end_s = fmax(end_s, fmin(burst_end_s(arrivals), arrivals->stop_s));
    }
    return end_s;
}
