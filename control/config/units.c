/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/config/units.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "dataplane/admission/bucket.h"

__extension__ typedef unsigned __int128 wide;

struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit periods[] = {{"s", 1}, {"min", 60}, {"h", 3600}, {"day", 86400}, {0}};
static const struct unit bit_rates[] = {
    {"bit/s", 1}, {"kbit/s", 1000}, {"Mbit/s", 1000000}, {"Gbit/s", 1000000000}, {0}};
static const struct unit sizes[] = {
    {"B", 1}, {"KiB", 1024}, {"MiB", 1024 * 1024}, {"GiB", 1024 * 1024 * 1024}, {0}};
static const struct unit durations[] = {{"us", 1000},
                                        {"ms", 1000000},
                                        {"s", BUCKET_NS_PER_S},
                                        {"min", 60 * BUCKET_NS_PER_S},
                                        {"h", 3600 * BUCKET_NS_PER_S},
                                        {0}};

/* digits / divisor, with as few decimals as the text allows. */
struct decimal {
    uint64_t digits, divisor;
    bool overflow;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void push_digit(struct decimal *number, char c)
{
    if (__builtin_mul_overflow(number->digits, 10u, &number->digits) ||
        __builtin_add_overflow(number->digits, (uint64_t)(c - '0'), &number->digits))
        number->overflow = true;
}

/* Reads `digits[.digits]`; returns what follows, or NULL. */
static const char *read_decimal(const char *text, struct decimal *number)
{
    uint32_t zeros = 0; /* trailing zeros of the fraction change nothing, so they wait */

    *number = (struct decimal){.divisor = 1};
    if (!is_digit(*text))
        return NULL;
    for (; is_digit(*text); text++)
        push_digit(number, *text);
    if (*text != '.')
        return text;
    if (!is_digit(*++text))
        return NULL;
    for (; is_digit(*text); text++) {
        if (*text == '0') {
            zeros++;
            continue;
        }
        for (; zeros && !number->overflow; zeros--) {
            push_digit(number, '0');
            number->overflow |= __builtin_mul_overflow(number->divisor, 10u, &number->divisor);
        }
        push_digit(number, *text);
        number->overflow |= __builtin_mul_overflow(number->divisor, 10u, &number->divisor);
    }
    return text;
}

static enum units_result times(const struct decimal *number, uint64_t factor, uint64_t *value)
{
    wide product = (wide)number->digits * factor;

    if (number->overflow)
        return UNITS_RANGE;
    if (product % number->divisor)
        return UNITS_INEXACT;
    product /= number->divisor;
    if (product > UINT64_MAX)
        return UNITS_RANGE;
    *value = (uint64_t)product;
    return UNITS_OK;
}

static const struct unit *find_unit(const struct unit *units, const char *name)
{
    for (; units->name; units++)
        if (!strcmp(units->name, name))
            return units;
    return NULL;
}

static enum units_result read_scaled(const char *text, const struct unit *units, uint64_t *value)
{
    struct decimal number;
    const char *rest = read_decimal(text, &number);
    const struct unit *unit = rest ? find_unit(units, rest) : NULL;

    if (!unit)
        return rest && !*rest ? UNITS_BARE : UNITS_SYNTAX;
    return times(&number, unit->factor, value);
}

static bool read_word(const char *text, struct quota_rate *rate)
{
    bool unlimited = !strcmp(text, "unlimited");

    if (!unlimited && strcmp(text, "0"))
        return false;
    rate->amount = 0;
    rate->period_s = 1;
    rate->unlimited = unlimited;
    return true;
}

enum units_result units_rate(const char *text, struct quota_rate *rate)
{
    const struct unit *period;
    enum units_result result;
    struct decimal number;
    const char *rest;
    uint64_t amount;

    if (read_word(text, rate))
        return UNITS_OK;
    rest = read_decimal(text, &number);
    if (!rest || *rest != '/')
        return rest && !*rest ? UNITS_BARE : UNITS_SYNTAX;
    period = find_unit(periods, rest + 1);
    if (!period)
        return UNITS_SYNTAX;
    result = times(&number, 1, &amount);
    if (result != UNITS_OK)
        return result;
    if (amount > BUCKET_RATE_MAX)
        return UNITS_RANGE;
    rate->amount = amount;
    rate->period_s = (uint32_t)period->factor;
    rate->unlimited = false;
    return UNITS_OK;
}

enum units_result units_bit_rate(const char *text, struct quota_rate *rate)
{
    enum units_result result;
    uint64_t bits;

    if (read_word(text, rate))
        return UNITS_OK;
    result = read_scaled(text, bit_rates, &bits);
    if (result != UNITS_OK)
        return result;
    if (bits > BUCKET_BYTES_RATE_MAX * 8)
        return UNITS_RANGE;
    if (bits % 8)
        return UNITS_INEXACT;
    rate->amount = bits;
    rate->period_s = 1;
    rate->unlimited = false;
    return UNITS_OK;
}

enum units_result units_bytes(const char *text, uint64_t *bytes)
{
    return read_scaled(text, sizes, bytes);
}

enum units_result units_duration(const char *text, uint64_t *duration_ns)
{
    return read_scaled(text, durations, duration_ns);
}

enum units_result units_decimal(const char *text, uint32_t scale, uint64_t *value)
{
    struct decimal number;
    const char *rest = read_decimal(text, &number);

    return rest && !*rest ? times(&number, scale, value) : UNITS_SYNTAX;
}

enum units_result units_integer(const char *text, uint64_t *value)
{
    struct decimal number;
    const char *rest = read_decimal(text, &number);

    if (!rest || *rest || strchr(text, '.'))
        return UNITS_SYNTAX;
    return times(&number, 1, value);
}
