/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/config/set.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "control/config/limits.h"
#include "control/config/units.h"

int64_t set_whole(const char *text)
{
    uint64_t value;

    return units_integer(text, &value) == UNITS_OK && value <= INT64_MAX ? (int64_t)value : -1;
}

bool set_count(const char *text, const char *of, const char *name, uint32_t *count,
               struct config_refusal *no)
{
    int64_t value = strcmp(text, "unlimited") ? set_whole(text) : POLICY_WINDOW_MAX;
    char quoted[LIMITS_QUOTED_MAX];

    if (limits_count(value, of, count, no))
        return true;
    snprintf(no->why, sizeof(no->why), "%s is no %s", limits_quote(text, quoted), name);
    return false;
}

/* What was said and the keys there are. */
static int refuse_key(const struct setter *setters, size_t n, struct config_refusal *refusal)
{
    size_t used = 0;

    for (size_t i = 0; i < n && used < sizeof(refusal->range); i++)
        used += (size_t)snprintf(refusal->range + used, sizeof(refusal->range) - used, "%s%s",
                                 i ? " " : "", setters[i].key);
    return -EINVAL;
}

int set_one(const char *kind, const struct setter *setters, size_t n, void *target,
            const char *assignment, struct config_refusal *refusal)
{
    const char *equals = strchr(assignment, '=');
    char key[LIMITS_QUOTED_MAX], quoted[LIMITS_QUOTED_MAX];
    size_t i = 0;

    *refusal = (struct config_refusal){0};
    if (!equals) {
        snprintf(refusal->why, sizeof(refusal->why), "%s is no KEY=VALUE, without blanks",
                 limits_quote(assignment, quoted));
        return refuse_key(setters, n, refusal);
    }
    snprintf(key, sizeof(key), "%.*s", (int)(equals - assignment), assignment);
    while (i < n && strcmp(setters[i].key, key))
        i++;
    if (i == n) {
        snprintf(refusal->why, sizeof(refusal->why), "a %s has no key %s", kind,
                 limits_quote(key, quoted));
        return refuse_key(setters, n, refusal);
    }
    if (!equals[1]) {
        snprintf(refusal->why, sizeof(refusal->why), "no value follows the = (without blanks)");
        return -EINVAL;
    }
    if (!setters[i].set(target, equals + 1, refusal))
        return -EINVAL;
    *refusal = (struct config_refusal){0};
    return 0;
}
