/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "control/serve/verb.h"

json_t *json_with(json_t *object, const char *key, json_t *value)
{
    if (object && json_object_set_new(object, key, value) == 0)
        return object;
    if (!object)
        json_decref(value);
    json_decref(object);
    return NULL;
}

json_t *json_and(json_t *list, json_t *value)
{
    if (list && json_array_append_new(list, value) == 0)
        return list;
    if (!list)
        json_decref(value);
    json_decref(list);
    return NULL;
}

json_t *json_joined(json_t *object, json_t *more)
{
    if (object && (!more || json_object_update(object, more) < 0)) {
        json_decref(object);
        object = NULL;
    }
    json_decref(more);
    return object;
}

json_t *json_error(const char *code, const char *message, const char *key, const char *range)
{
    json_t *error = json_pack("{s:s, s:s}", "code", code, "message", message);

    if (key)
        error = json_with(error, "key", json_string(key));
    if (range)
        error = json_with(error, "range", json_string(range));
    return json_with(json_object(), "error", error);
}

json_t *json_unknown(const char *kind, const char *name)
{
    char message[POLICY_NAME_MAX + 64];

    snprintf(message, sizeof(message), "there is no such %s", kind);
    return json_error("unknown", message, name, NULL);
}

json_t *json_listing(const char *name, json_t *list)
{
    return json_with(json_with(json_object(), "version", json_integer(ANSWER_VERSION)), name, list);
}

json_t *json_count(uint64_t count)
{
    return json_integer((json_int_t)count);
}

json_t *json_rounded(double value, unsigned places)
{
    double scale = 1;

    for (unsigned i = 0; i < places; i++)
        scale *= 10;
    return json_real(round(value * scale) / scale);
}

json_t *json_ms(uint64_t ns)
{
    return ns ? json_rounded((double)ns / 1e6, 3) : json_null();
}

json_t *json_classes(const double values[CLASS_MAX], unsigned places)
{
    json_t *object = json_object();

    for (unsigned c = 0; c < CLASS_MAX; c++)
        object = json_with(object, policy_class_name(c), json_rounded(values[c], places));
    return object;
}

json_t *json_reasons(const uint64_t *counts, unsigned max)
{
    json_t *reasons = json_object();

    for (unsigned r = REASON_NONE + 1; r < max; r++)
        reasons = json_with(reasons, reason_name(r), json_count(counts[r]));
    return reasons;
}

json_t *json_limit(uint32_t limit)
{
    return limit == POLICY_WINDOW_MAX ? json_string("unlimited") : json_integer(limit);
}

json_t *json_window(const struct window *window, uint32_t limit)
{
    return json_pack("{s:o, s:I, s:I, s:I}", "limit", json_limit(limit), "used",
                     (json_int_t)window_used(window), "peak", (json_int_t)window_peak(window),
                     "debt", (json_int_t)window_debt(window, limit));
}

static const char *period_name(uint32_t period_s)
{
    switch (period_s) {
    case 60:
        return "min";
    case 3600:
        return "h";
    case 86400:
        return "day";
    default:
        return "s";
    }
}

/* The two rates that have a word instead of a number. */
static const char *rate_word(const struct quota_rate *rate)
{
    if (rate->unlimited)
        return "unlimited";
    return rate->amount == 0 ? "0" : NULL;
}

json_t *json_rate(const struct quota_rate *rate)
{
    const char *word = rate_word(rate);

    if (word)
        return json_string(word);
    return json_sprintf("%" PRIu64 "/%s", rate->amount, period_name(rate->period_s));
}

json_t *json_bit_rate(const struct quota_rate *rate)
{
    static const char *const units[] = {"bit", "kbit", "Mbit", "Gbit"};
    const char *word = rate_word(rate);
    uint64_t amount = rate->amount;
    unsigned unit = 0;

    if (word)
        return json_string(word);
    for (; unit < 3 && amount % 1000 == 0; unit++)
        amount /= 1000;
    return json_sprintf("%" PRIu64 "%s/%s", amount, units[unit], period_name(rate->period_s));
}

json_t *json_duration(uint64_t duration_ns)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"s", 1000000000}, {"ms", 1000000}, {"us", 1000}};

    for (unsigned i = 0; i < 3; i++)
        if (duration_ns % units[i].ns == 0)
            return json_sprintf("%" PRIu64 "%s", duration_ns / units[i].ns, units[i].name);
    return json_sprintf("%" PRIu64 ".%03uus", duration_ns / 1000, (unsigned)(duration_ns % 1000));
}

static json_t *json_bucket(json_t *text, const struct quota_rate *rate)
{
    json_t *bucket = json_with(json_object(), "rate", text);

    return rate->unlimited ? bucket : json_with(bucket, "burst", json_count(rate->burst));
}

static json_t *json_erlangs(const struct policy_tenant *tenant, const struct quota_left *left)
{
    json_t *erlangs = json_object();

    if (tenant->milli_erlangs == POLICY_ERLANGS_UNLIMITED)
        return json_with(erlangs, "rate", json_string("unlimited"));
    erlangs = json_with(erlangs, "rate", json_rounded(tenant->milli_erlangs / 1000.0, 3));
    if (left)
        erlangs =
            json_with(erlangs, "level_s", json_rounded((double)left->occupancy_ms / 1000.0, 3));
    return erlangs;
}

json_t *json_quota(const struct policy_tenant *tenant, const struct quota_left *left)
{
    json_t *attempts = json_bucket(json_rate(&tenant->attempts), &tenant->attempts);

    if (left && !tenant->attempts.unlimited)
        attempts = json_with(attempts, "tokens", json_count(left->tokens));
    return json_pack("{s:o, s:o, s:o, s:o}", "attempts", attempts, "packets",
                     json_bucket(json_rate(&tenant->packets), &tenant->packets), "bits",
                     json_bucket(json_bit_rate(&tenant->bits), &tenant->bits), "erlangs",
                     json_erlangs(tenant, left));
}
