/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/numbers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Ends at a comma or the end of the text. */
static bool parse_item(const char *text, uint64_t max, uint64_t *number)
{
    char *end;
    unsigned long long value;
    uint64_t factor = 1;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    value = strtoull(text, &end, 10);
    if (*end == 'k' || *end == 'M')
        factor = *end++ == 'k' ? 1000 : 1000000;
    *number = value * factor;
    return errno == 0 && (*end == '\0' || *end == ',') && value <= max / factor;
}

bool number_parse(const char *text, uint64_t max, uint64_t *number)
{
    return !strchr(text, ',') && parse_item(text, max, number);
}

bool number_parse_count(const char *text, uint64_t max, uint64_t *number)
{
    return number_parse(text, max, number) && *number > 0;
}

const char *list_next(const char *item)
{
    const char *comma = strchr(item, ',');

    return comma ? comma + 1 : NULL;
}

bool number_parse_counts(const char *list, uint32_t max, uint32_t room, uint32_t *counts,
                         uint32_t *n)
{
    for (*n = 0; list; list = list_next(list)) {
        uint64_t count;

        if (*n == room || !parse_item(list, max, &count) || count == 0)
            return false;
        counts[(*n)++] = (uint32_t)count;
    }
    return true;
}
