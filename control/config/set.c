/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "control/config/config.h"
#include "control/config/limits.h"
#include "control/config/units.h"

/*
 * A changed rate keeps its burst, so that a command changes what it names and nothing else. Only a
 * tenant that had neither (unlimited or blocked so far, no burst configured) gets the default one.
 */
static bool set_events(struct quota_rate *rate, const char *text, uint64_t least,
                       struct config_refusal *no)
{
    bool had_burst = rate->amount || rate->burst;

    if (!limits_rate(text, rate, no) || !limits_fit(rate, no))
        return false;
    if (rate->amount && !had_burst)
        rate->burst = limits_default_burst(rate, least);
    return true;
}

static bool set_attempts(struct policy_tenant *t, const char *text, struct config_refusal *no)
{
    return set_events(&t->attempts, text, LIMITS_ATTEMPTS_BURST_MIN, no);
}

static bool set_packets(struct policy_tenant *t, const char *text, struct config_refusal *no)
{
    return set_events(&t->packets, text, LIMITS_PACKETS_BURST_MIN, no);
}

static bool set_bits(struct policy_tenant *t, const char *text, struct config_refusal *no)
{
    if (!limits_bit_rate(text, &t->bits, no))
        return false;
    if (t->bits.amount && !t->bits.burst)
        t->bits.burst = limits_default_burst_bytes(&t->bits);
    return true;
}

/* Whole numbers stand bare on a command line. */
static int64_t whole(const char *text)
{
    uint64_t value;

    return units_integer(text, &value) == UNITS_OK && value <= INT64_MAX ? (int64_t)value : -1;
}

static bool set_burst(struct quota_rate *rate, const char *text, struct config_refusal *no)
{
    char quoted[LIMITS_QUOTED_MAX];

    if (limits_burst(whole(text), rate, no))
        return true;
    snprintf(no->why, sizeof(no->why), "%s is no burst", limits_quote(text, quoted));
    return false;
}

static bool set_attempts_burst(struct policy_tenant *t, const char *text, struct config_refusal *no)
{
    return set_burst(&t->attempts, text, no);
}

static bool set_packets_burst(struct policy_tenant *t, const char *text, struct config_refusal *no)
{
    return set_burst(&t->packets, text, no);
}

static bool set_bits_burst(struct policy_tenant *t, const char *text, struct config_refusal *no)
{
    return limits_burst_bytes(text, &t->bits, no);
}

static bool set_window(struct policy_tenant *t, const char *text, struct config_refusal *no)
{
    int64_t slots = strcmp(text, "unlimited") ? whole(text) : POLICY_WINDOW_MAX;
    char quoted[LIMITS_QUOTED_MAX];

    if (limits_window(slots, &t->window, no))
        return true;
    snprintf(no->why, sizeof(no->why), "%s is no window", limits_quote(text, quoted));
    return false;
}

static bool set_class(struct policy_tenant *t, const char *text, struct config_refusal *no)
{
    return limits_class(text, &t->class, no);
}

static const struct setter {
    const char *key;
    bool (*set)(struct policy_tenant *tenant, const char *text, struct config_refusal *no);
} setters[] = {
    {"quota.attempts", set_attempts}, {"quota.attempts_burst", set_attempts_burst},
    {"quota.packets", set_packets},   {"quota.packets_burst", set_packets_burst},
    {"quota.bits", set_bits},         {"quota.bits_burst", set_bits_burst},
    {"window", set_window},           {"class", set_class},
};
#define SETTERS (sizeof(setters) / sizeof(setters[0]))

static const struct setter *find_setter(const char *assignment, size_t key_length)
{
    for (size_t i = 0; i < SETTERS; i++)
        if (strlen(setters[i].key) == key_length &&
            !strncmp(setters[i].key, assignment, key_length))
            return &setters[i];
    return NULL;
}

static int refuse_key(struct config_refusal *refusal, const char *format, const char *text)
{
    char quoted[LIMITS_QUOTED_MAX];
    size_t used = 0;

    snprintf(refusal->why, sizeof(refusal->why), format, limits_quote(text, quoted));
    for (size_t i = 0; i < SETTERS && used < sizeof(refusal->range); i++)
        used += (size_t)snprintf(refusal->range + used, sizeof(refusal->range) - used, "%s%s",
                                 i ? " " : "", setters[i].key);
    return -EINVAL;
}

int config_set_tenant(struct policy_tenant *tenant, const char *assignment,
                      struct config_refusal *refusal)
{
    const char *equals = strchr(assignment, '=');
    struct policy_tenant changed = *tenant;
    const struct setter *setter;
    char key[LIMITS_QUOTED_MAX];

    *refusal = (struct config_refusal){0};
    if (!equals)
        return refuse_key(refusal, "%s is no KEY=VALUE, without blanks", assignment);
    setter = find_setter(assignment, (size_t)(equals - assignment));
    if (!setter) {
        snprintf(key, sizeof(key), "%.*s", (int)(equals - assignment), assignment);
        return refuse_key(refusal, "a tenant has no key %s", key);
    }
    if (!equals[1]) {
        snprintf(refusal->why, sizeof(refusal->why), "no value follows the = (without blanks)");
        return -EINVAL;
    }
    if (!setter->set(&changed, equals + 1, refusal))
        return -EINVAL;
    *tenant = changed;
    *refusal = (struct config_refusal){0};
    return 0;
}
