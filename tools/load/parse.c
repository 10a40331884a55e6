/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/load/parse.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tools/load/schedule.h"

#define NS_PER_S UINT64_C(1000000000)

struct unit {
    const char *name;
    uint64_t ns;
};

static const struct unit units[] = {
    {"us", 1000}, {"ms", 1000000}, {"s", NS_PER_S}, {"min", 60 * NS_PER_S}, {"h", 3600 * NS_PER_S}};

static int parse_unit(const char *text, uint64_t *ns)
{
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(text, units[i].name) == 0) {
            *ns = units[i].ns;
            return 0;
        }
    }
    return -EINVAL;
}

/* A decimal number in 0..max; *end is what follows it. */
static int parse_number(const char *text, uint64_t max, uint64_t *out, const char **end)
{
    char *rest;

    if (*text < '0' || *text > '9')
        return -EINVAL;
    errno = 0;
    *out = strtoull(text, &rest, 10);
    *end = rest;
    return errno || *out > max ? -EINVAL : 0;
}

int parse_whole(const char *text, uint64_t max, uint64_t *out)
{
    const char *end;

    return parse_number(text, max, out, &end) || *end ? -EINVAL : 0;
}

int parse_duration(const char *text, uint64_t *ns)
{
    uint64_t count, unit_ns;
    const char *end;

    if (parse_number(text, PARSE_DURATION_MAX_NS, &count, &end) || parse_unit(end, &unit_ns) ||
        count == 0 || count > PARSE_DURATION_MAX_NS / unit_ns)
        return -EINVAL;
    *ns = count * unit_ns;
    return 0;
}

int parse_frequency(const char *text, uint64_t *count, uint64_t *period_ns)
{
    const char *end;

    if (parse_number(text, SCHEDULE_RATE_MAX, count, &end) || *count == 0 || *end != '/')
        return -EINVAL;
    return parse_unit(end + 1, period_ns);
}

int parse_range(const char *text, uint64_t *from_ns, uint64_t *to_ns)
{
    const char *dots = strstr(text, "..");
    char first[32];

    if (!dots || (size_t)(dots - text) >= sizeof(first))
        return -EINVAL;
    memcpy(first, text, (size_t)(dots - text));
    first[dots - text] = '\0';
    if (parse_duration(first, from_ns) || parse_duration(dots + 2, to_ns) || *from_ns > *to_ns)
        return -EINVAL;
    return 0;
}

int parse_percent(const char *text, uint32_t *percent)
{
    const char *end;
    uint64_t n;

    if (parse_number(text, 50, &n, &end) || n == 0 || strcmp(end, "%"))
        return -EINVAL;
    *percent = (uint32_t)n;
    return 0;
}

const char *parse_unit_name(uint64_t ns)
{
    size_t i = 0;

    while (units[i].ns != ns)
        i++;
    return units[i].name;
}
