/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/scenario/draw.h"

#include <math.h>

#define SHIFT    397u /* the m of MT19937 */
#define MATRIX   0x9908b0dfu
#define HIGH_BIT 0x80000000u
#define LOW_BITS 0x7fffffffu

static void seed_plainly(struct random_state *state, uint32_t seed)
{
    state->words[0] = seed;
    for (uint32_t i = 1; i < RANDOM_WORDS; i++)
        state->words[i] = 1812433253u * (state->words[i - 1] ^ (state->words[i - 1] >> 30)) + i;
}

/* The word at *i from the one before it; the last word also stands in front of the first. */
static void advance_seeding(struct random_state *state, uint32_t *i)
{
    if (++*i < RANDOM_WORDS)
        return;
    state->words[0] = state->words[RANDOM_WORDS - 1];
    *i = 1;
}

static uint32_t mix_before(const struct random_state *state, uint32_t i)
{
    return state->words[i - 1] ^ (state->words[i - 1] >> 30);
}

/* init_by_array() of the reference implementation. */
void random_seed(struct random_state *state, uint64_t seed)
{
    const uint32_t digits[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t n_digits = digits[1] ? 2 : 1, i = 1, j = 0;

    seed_plainly(state, 19650218u);
    for (uint32_t k = 0; k < RANDOM_WORDS; k++) {
        state->words[i] = (state->words[i] ^ (mix_before(state, i) * 1664525u)) + digits[j] + j;
        advance_seeding(state, &i);
        j = (j + 1) % n_digits;
    }
    for (uint32_t k = 1; k < RANDOM_WORDS; k++) {
        state->words[i] = (state->words[i] ^ (mix_before(state, i) * 1566083941u)) - i;
        advance_seeding(state, &i);
    }
    state->words[0] = HIGH_BIT;
    state->next = RANDOM_WORDS;
}

static void generate(struct random_state *state)
{
    uint32_t *w = state->words;

    for (uint32_t i = 0; i < RANDOM_WORDS; i++) {
        uint32_t y = (w[i] & HIGH_BIT) | (w[(i + 1) % RANDOM_WORDS] & LOW_BITS);

        w[i] = w[(i + SHIFT) % RANDOM_WORDS] ^ (y >> 1) ^ (y & 1 ? MATRIX : 0);
    }
    state->next = 0;
}

static uint32_t random_word(struct random_state *state)
{
    uint32_t y;

    if (state->next == RANDOM_WORDS)
        generate(state);
    y = state->words[state->next++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}

double random_uniform(struct random_state *state)
{
    uint32_t high = random_word(state) >> 5, low = random_word(state) >> 6;

    return (high * 67108864.0 + low) / 9007199254740992.0;
}

double random_exponential(struct random_state *state, double rate_per_s)
{
    return -log(1.0 - random_uniform(state)) / rate_per_s;
}

/* Box and Muller 1958, the cosine half: two numbers each time, none is kept for the next. */
static double random_normal(struct random_state *state)
{
    double radius = sqrt(-2.0 * log(1.0 - random_uniform(state)));

    return radius * cos(2.0 * M_PI * random_uniform(state));
}

/* sigma^2 = log(1 + cv^2) and mu = log(mean) - sigma^2 / 2 give the mean and the cv asked for. */
static double draw_lognormal(struct random_state *state, const struct draw *draw)
{
    double variance = log1p(draw->cv * draw->cv);

    return draw->mean_s * exp(sqrt(variance) * random_normal(state) - variance / 2.0);
}

/* The least value is mean (shape - 1) / shape. */
static double draw_pareto(struct random_state *state, const struct draw *draw)
{
    double least_s = draw->mean_s * (draw->shape - 1.0) / draw->shape;

    return least_s * pow(1.0 - random_uniform(state), -1.0 / draw->shape);
}

double draw_time_s(struct random_state *state, const struct draw *draw, uint64_t n)
{
    switch (draw->kind) {
    case DRAW_EXPONENTIAL:
        return random_exponential(state, draw->rate_per_s);
    case DRAW_LOGNORMAL:
        return draw_lognormal(state, draw);
    case DRAW_PARETO:
        return draw_pareto(state, draw);
    case DRAW_TWO_POINT:
        return random_uniform(state) < draw->share ? draw->other_s : draw->mean_s;
    case DRAW_EVERY:
        return (n + 1) % draw->every ? draw->mean_s : draw->other_s;
    case DRAW_FIXED:
        break;
    }
    return draw->mean_s;
}

double draw_backoff_s(struct random_state *state, const struct scenario_clients *clients,
                      uint32_t k)
{
    /* Beyond 2^1000 whatever there is is the maximum. */
    double backoff_s = ldexp(clients->backoff_s, k < 1000 ? (int)k : 1000);

    if (backoff_s > clients->backoff_max_s)
        backoff_s = clients->backoff_max_s;
    switch (clients->jitter) {
    case JITTER_FULL:
        return backoff_s * random_uniform(state);
    case JITTER_HALF:
        return backoff_s * (0.5 + 0.5 * random_uniform(state));
    case JITTER_NONE:
        break;
    }
    return backoff_s;
}

uint32_t draw_kind(struct random_state *state, const struct scenario *scenario,
                   const struct scenario_arrivals *arrivals)
{
    double sum = 0.0, reached = 0.0, drawn;
    uint32_t i;

    if (arrivals->n_kinds == 1)
        return arrivals->kinds[0];
    for (i = 0; i < arrivals->n_kinds; i++)
        sum += scenario->kinds[arrivals->kinds[i]].weight;
    drawn = random_uniform(state) * sum;
    for (i = 0; i < arrivals->n_kinds - 1; i++) {
        reached += scenario->kinds[arrivals->kinds[i]].weight;
        if (reached > drawn)
            break;
    }
    return arrivals->kinds[i];
}
