/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/config/limits.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "control/config/units.h"
#include "dataplane/admission/bucket.h"

#define GBIT 1000000000ull

_Static_assert(BUCKET_BYTES_RATE_MAX * 8 % GBIT == 0, "the maximum is named in whole Gbit/s");

const char *limits_quote(const char *text, char quoted[LIMITS_QUOTED_MAX])
{
    size_t n = 0;

    quoted[n++] = '"';
    for (; *text && n < LIMITS_QUOTED_MAX - 5; text++)
        quoted[n++] = *text >= ' ' && *text < 0x7f ? *text : '?';
    if (*text) {
        memcpy(quoted + n, "...", 3);
        n += 3;
    }
    quoted[n++] = '"';
    quoted[n] = '\0';
    return quoted;
}

static void rate_range(struct config_refusal *no)
{
    snprintf(no->range, sizeof(no->range), "0, unlimited, or 1..%" PRIu64 " per s, min, h or day",
             (uint64_t)BUCKET_RATE_MAX);
}

bool limits_rate(const char *text, struct quota_rate *rate, struct config_refusal *no)
{
    static const char *const wrong[] = {
        [UNITS_SYNTAX] = "is no rate",
        [UNITS_BARE] = "has no period, such as /s",
        [UNITS_INEXACT] = "is no whole number in its period",
        [UNITS_RANGE] = "is out of range",
    };
    enum units_result result = units_rate(text, rate);
    char quoted[LIMITS_QUOTED_MAX];

    if (result == UNITS_OK)
        return true;
    snprintf(no->why, sizeof(no->why), "%s %s", limits_quote(text, quoted), wrong[result]);
    rate_range(no);
    return false;
}

bool limits_bit_rate(const char *text, struct quota_rate *rate, struct config_refusal *no)
{
    static const char *const wrong[] = {
        [UNITS_SYNTAX] = "is no bit rate",
        [UNITS_BARE] = "has no unit, such as Mbit/s",
        [UNITS_INEXACT] = "is no whole number of bytes a second",
        [UNITS_RANGE] = "is out of range",
    };
    enum units_result result = units_bit_rate(text, rate);
    char quoted[LIMITS_QUOTED_MAX];

    if (result == UNITS_OK)
        return true;
    snprintf(no->why, sizeof(no->why), "%s %s", limits_quote(text, quoted), wrong[result]);
    snprintf(no->range, sizeof(no->range),
             "0, unlimited, or 8bit/s..%" PRIu64 "Gbit/s in bit, kbit, Mbit or Gbit/s",
             (uint64_t)(BUCKET_BYTES_RATE_MAX * 8 / GBIT));
    return false;
}

static void burst_range(const struct quota_rate *rate, struct config_refusal *no)
{
    const char *period = rate->period_s == 60      ? " with a rate per min"
                         : rate->period_s == 3600  ? " with a rate per h"
                         : rate->period_s == 86400 ? " with a rate per day"
                                                   : "";

    snprintf(no->range, sizeof(no->range), "0..%" PRIu64 "%s",
             (uint64_t)BUCKET_BURST_MAX(rate->period_s), period);
}

bool limits_burst(int64_t value, struct quota_rate *rate, struct config_refusal *no)
{
    if (value >= 0 && (uint64_t)value <= BUCKET_BURST_MAX(rate->period_s)) {
        rate->burst = (uint64_t)value;
        return true;
    }
    snprintf(no->why, sizeof(no->why), "%" PRId64 " is out of range", value);
    burst_range(rate, no);
    return false;
}

bool limits_fit(const struct quota_rate *rate, struct config_refusal *no)
{
    if (rate->burst <= BUCKET_BURST_MAX(rate->period_s))
        return true;
    snprintf(no->why, sizeof(no->why), "the burst of %" PRIu64 " is too large for this rate",
             rate->burst);
    burst_range(rate, no);
    return false;
}

bool limits_burst_bytes(const char *text, struct quota_rate *rate, struct config_refusal *no)
{
    static const char *const wrong[] = {
        [UNITS_SYNTAX] = "is no size",
        [UNITS_BARE] = "has no unit, such as KiB",
        [UNITS_INEXACT] = "is no whole number of bytes",
        [UNITS_RANGE] = "is out of range",
    };
    uint64_t bytes = 0;
    enum units_result result = units_bytes(text, &bytes);
    char quoted[LIMITS_QUOTED_MAX];

    if (result == UNITS_OK && (bytes < 1 || bytes > BUCKET_BYTES_BURST_MAX))
        result = UNITS_RANGE;
    if (result == UNITS_OK) {
        rate->burst = bytes;
        return true;
    }
    snprintf(no->why, sizeof(no->why), "%s %s", limits_quote(text, quoted), wrong[result]);
    snprintf(no->range, sizeof(no->range), "1B..%" PRIu64 "B in B, KiB, MiB or GiB",
             (uint64_t)BUCKET_BYTES_BURST_MAX);
    return false;
}

void limits_count_range(const char *of, char *range, size_t size)
{
    snprintf(range, size, "0..%d %s or \"unlimited\"", POLICY_WINDOW_MAX, of);
}

bool limits_count(int64_t value, const char *of, uint32_t *count, struct config_refusal *no)
{
    if (value >= 0 && value <= POLICY_WINDOW_MAX) {
        *count = (uint32_t)value;
        return true;
    }
    snprintf(no->why, sizeof(no->why), "%" PRId64 " is out of range", value);
    limits_count_range(of, no->range, sizeof(no->range));
    return false;
}

bool limits_class(const char *text, enum policy_class *class, struct config_refusal *no)
{
    static const char *const names[CLASS_MAX] = {
        [CLASS_BULK] = "bulk", [CLASS_NORMAL] = "normal", [CLASS_CRITICAL] = "critical"};
    char quoted[LIMITS_QUOTED_MAX];

    for (int i = 0; i < CLASS_MAX; i++) {
        if (!strcmp(names[i], text)) {
            *class = (enum policy_class)i;
            return true;
        }
    }
    snprintf(no->why, sizeof(no->why), "%s is no class", limits_quote(text, quoted));
    snprintf(no->range, sizeof(no->range), "bulk, normal or critical");
    return false;
}

uint64_t limits_default_burst(const struct quota_rate *rate, uint64_t least)
{
    uint64_t tenth = rate->amount / rate->period_s / 10;

    return tenth > least ? tenth : least;
}

uint64_t limits_default_burst_bytes(const struct quota_rate *rate)
{
    uint64_t tenth_bytes = rate->amount / 8 / 10;

    return tenth_bytes > LIMITS_BITS_BURST_MIN ? tenth_bytes : LIMITS_BITS_BURST_MIN;
}
