/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/sim/number.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 17 /* any double is told from its neighbours by so many */

const char *number_exact(double value, char text[NUMBER_BYTES])
{
    int digits = 1, exponent;

    if (isnan(value)) {
        *text = '\0';
        return text;
    }
    do
        snprintf(text, NUMBER_BYTES, "%.*e", digits - 1, value);
    while (strtod(text, NULL) != value && digits++ < DIGITS_MAX);
    if (isinf(value))
        return text;
    exponent = atoi(strchr(text, 'e') + 1);
    if (exponent >= -4 && exponent < 16) {
        int decimals = digits - 1 - exponent;

        snprintf(text, NUMBER_BYTES, "%.*f", decimals > 0 ? decimals : 1, value);
    }
    return text;
}

const char *number_metric(double value, bool counts, char text[NUMBER_BYTES])
{
    if (!counts)
        return number_exact(value, text);
    snprintf(text, NUMBER_BYTES, "%.0f", value);
    return text;
}

bool number_parse(const char *text, uint64_t max, uint64_t *value)
{
    char *end;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0' && *value <= max;
}
