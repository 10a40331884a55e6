/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/config/literal.h"

#include <string.h>
#include <strings.h>

struct span {
    const char *at, *end;
};

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return 16;
}

static size_t skip_digits(struct span *s, int base)
{
    const char *start = s->at;

    while (s->at < s->end && digit_value(*s->at) < base)
        s->at++;
    return (size_t)(s->at - start);
}

static bool skip_one(struct span *s, const char *set)
{
    if (s->at == s->end || !strchr(set, *s->at) || !*s->at)
        return false;
    s->at++;
    return true;
}

static bool is_word(const char *text, size_t length, const char *word)
{
    return length == strlen(word) && !strncasecmp(text, word, length);
}

/* [+-]digits with a point, an exponent or both, as libconfig defines a float. */
static bool is_float(const char *text, size_t length)
{
    struct span s = {text, text + length};
    bool point, exponent;
    size_t digits;

    skip_one(&s, "+-");
    digits = skip_digits(&s, 10);
    point = skip_one(&s, ".");
    if (point)
        digits += skip_digits(&s, 10);
    exponent = digits && skip_one(&s, "eE");
    if (exponent) {
        skip_one(&s, "+-");
        if (!skip_digits(&s, 10))
            return false;
    }
    return digits && (point || exponent) && s.at == s.end;
}

/* Value of digits in `base`; false when it does not fit. */
static bool magnitude(struct span digits, unsigned base, uint64_t *value)
{
    for (*value = 0; digits.at < digits.end; digits.at++)
        if (__builtin_mul_overflow(*value, base, value) ||
            __builtin_add_overflow(*value, (uint64_t)digit_value(*digits.at), value))
            return false;
    return true;
}

static const char *integer_flaw(struct span digits, int base, bool negative, int64_t *value)
{
    uint64_t size, limit = (uint64_t)INT64_MAX + negative;

    if (base == 10 && digits.end - digits.at > 1 && *digits.at == '0')
        return "is ambiguous: some read a leading zero as octal, others as decimal";
    if (!magnitude(digits, (unsigned)base, &size) || size > limit)
        return "does not fit into 64 bits";
    *value = (int64_t)(negative ? 0 - size : size);
    return NULL;
}

static bool classify_integer(const char *text, size_t length, struct scan_node *node)
{
    struct span s = {text, text + length}, digits;
    bool negative = length && *text == '-', hex;

    hex = length > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    if (hex)
        s.at += 2;
    else
        skip_one(&s, "+-");
    digits.at = s.at;
    if (!skip_digits(&s, hex ? 16 : 10))
        return false;
    digits.end = s.at;
    if (skip_one(&s, "L"))
        skip_one(&s, "L");
    if (s.at != s.end)
        return false;
    node->kind = SCAN_INTEGER;
    node->flaw = integer_flaw(digits, hex ? 16 : 10, negative, &node->integer);
    return true;
}

void literal_classify(const char *text, size_t length, struct scan_node *node)
{
    node->flaw = NULL;
    if (is_word(text, length, "true") || is_word(text, length, "false"))
        node->kind = SCAN_BOOL;
    else if (is_float(text, length))
        node->kind = SCAN_FLOAT;
    else if (!classify_integer(text, length, node))
        node->kind = SCAN_BROKEN;
}
