/* SPDX-License-Identifier: BSD-3-Clause */
/* What `set tenant` can change. */
#include <stdio.h>
#include <string.h>

#include "control/config/config.h"
#include "control/config/limits.h"
#include "control/config/set.h"

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

static bool set_attempts(void *target, const char *text, struct config_refusal *no)
{
    return set_events(&((struct policy_tenant *)target)->attempts, text, LIMITS_ATTEMPTS_BURST_MIN,
                      no);
}

static bool set_packets(void *target, const char *text, struct config_refusal *no)
{
    return set_events(&((struct policy_tenant *)target)->packets, text, LIMITS_PACKETS_BURST_MIN,
                      no);
}

static bool set_bits(void *target, const char *text, struct config_refusal *no)
{
    struct quota_rate *bits = &((struct policy_tenant *)target)->bits;

    if (!limits_bit_rate(text, bits, no))
        return false;
    if (bits->amount && !bits->burst)
        bits->burst = limits_default_burst_bytes(bits);
    return true;
}

static bool set_burst(struct quota_rate *rate, const char *text, struct config_refusal *no)
{
    char quoted[LIMITS_QUOTED_MAX];

    if (limits_burst(set_whole(text), rate, no))
        return true;
    snprintf(no->why, sizeof(no->why), "%s is no burst", limits_quote(text, quoted));
    return false;
}

static bool set_attempts_burst(void *target, const char *text, struct config_refusal *no)
{
    return set_burst(&((struct policy_tenant *)target)->attempts, text, no);
}

static bool set_packets_burst(void *target, const char *text, struct config_refusal *no)
{
    return set_burst(&((struct policy_tenant *)target)->packets, text, no);
}

static bool set_bits_burst(void *target, const char *text, struct config_refusal *no)
{
    return limits_burst_bytes(text, &((struct policy_tenant *)target)->bits, no);
}

static bool set_window(void *target, const char *text, struct config_refusal *no)
{
    return set_count(text, "slots", "window", &((struct policy_tenant *)target)->window, no);
}

static bool set_erlangs(void *target, const char *text, struct config_refusal *no)
{
    uint32_t *milli_erlangs = &((struct policy_tenant *)target)->milli_erlangs;

    if (strcmp(text, "unlimited"))
        return limits_decimal(text, &limits_erlangs, milli_erlangs, no);
    *milli_erlangs = POLICY_ERLANGS_UNLIMITED;
    return true;
}

static bool set_class(void *target, const char *text, struct config_refusal *no)
{
    return limits_class(text, &((struct policy_tenant *)target)->class, no);
}

int config_set_tenant(struct policy_tenant *tenant, const char *assignment,
                      struct config_refusal *refusal)
{
    static const struct setter setters[] = {
        {"quota.attempts", set_attempts},
        {"quota.attempts_burst", set_attempts_burst},
        {"quota.packets", set_packets},
        {"quota.packets_burst", set_packets_burst},
        {"quota.bits", set_bits},
        {"quota.bits_burst", set_bits_burst},
        {"quota.erlangs", set_erlangs},
        {"window", set_window},
        {"class", set_class},
    };
    struct policy_tenant changed = *tenant;
    int err = SET_ONE("tenant", setters, &changed, assignment, refusal);

    if (!err)
        *tenant = changed;
    return err;
}
