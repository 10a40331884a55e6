/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "control/config/limits.h"
#include "control/config/reader.h"
#include "control/config/units.h"

const struct scan_node *node_of(const config_setting_t *setting)
{
    return config_setting_get_hook(setting);
}

void *reader_alloc(struct reader *r, size_t n, size_t size)
{
    void *memory = arena_alloc(r->arena, n, size);

    if (!memory)
        r->out_of_memory = true;
    return memory;
}

void refuse(struct reader *r, const config_setting_t *setting, const char *range,
            const char *format, ...)
{
    const struct scan_node *node = node_of(setting);
    char path[SCAN_PATH_MAX], text[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    scan_path(r->scan, node, path);
    if (*range)
        report_error(r->report, node->line, path, "%s (%s)", text, range);
    else
        report_error(r->report, node->line, path, "%s", text);
}

void warn(struct reader *r, const config_setting_t *setting, const char *format, ...)
{
    const struct scan_node *node = node_of(setting);
    char path[SCAN_PATH_MAX], text[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    report_warning(r->report, node->line, scan_path(r->scan, node, path), "%s", text);
}

/* The setting's value as it stands in the file, for messages. */
static const char *shown(struct reader *r, const config_setting_t *setting,
                         char text[LIMITS_QUOTED_MAX])
{
    static const char *const aggregates[] = {
        [SCAN_GROUP] = "a group", [SCAN_LIST] = "a list", [SCAN_ARRAY] = "an array"};
    const struct scan_node *node = node_of(setting);

    if (node->kind <= SCAN_ARRAY)
        return aggregates[node->kind];
    if (node->kind == SCAN_STRING)
        return limits_quote(config_setting_get_string(setting), text);
    snprintf(text, LIMITS_QUOTED_MAX, "%.*s",
             (int)(node->literal_length < 60 ? node->literal_length : 60),
             r->scan->text + node->literal_at);
    for (char *c = text; *c; c++)
        if (*c < ' ' || *c > 0x7e)
            *c = '?';
    return text;
}

static bool wrong_type(struct reader *r, const config_setting_t *setting, const char *wanted,
                       const char *range)
{
    static const char *const kinds[] = {[SCAN_STRING] = "is a string, no ",
                                        [SCAN_FLOAT] = "is a float, no ",
                                        [SCAN_BOOL] = "is a boolean, no "};
    enum scan_kind kind = node_of(setting)->kind;
    bool named = kind == SCAN_STRING || kind == SCAN_FLOAT || kind == SCAN_BOOL;
    char text[LIMITS_QUOTED_MAX];

    refuse(r, setting, range, "%s %s%s", shown(r, setting, text), named ? kinds[kind] : "is no ",
           wanted);
    return false;
}

bool read_any_integer(struct reader *r, const config_setting_t *setting, const char *range,
                      int64_t *value)
{
    const struct scan_node *node = node_of(setting);
    char text[LIMITS_QUOTED_MAX];

    if (node->kind != SCAN_INTEGER)
        return wrong_type(r, setting, "integer", range);
    if (node->flaw) {
        refuse(r, setting, range, "%s %s", shown(r, setting, text), node->flaw);
        return false;
    }
    *value = node->integer;
    return true;
}

bool read_integer(struct reader *r, const config_setting_t *setting, int64_t min, int64_t max,
                  int64_t *value)
{
    char range[64], text[LIMITS_QUOTED_MAX];
    int64_t read;

    snprintf(range, sizeof(range), "%" PRId64 "..%" PRId64, min, max);
    if (!read_any_integer(r, setting, range, &read))
        return false;
    if (read < min || read > max) {
        refuse(r, setting, range, "%s is out of range", shown(r, setting, text));
        return false;
    }
    *value = read;
    return true;
}

const char *read_string(struct reader *r, const config_setting_t *setting, const char *range)
{
    if (node_of(setting)->kind == SCAN_STRING)
        return config_setting_get_string(setting);
    wrong_type(r, setting, "string in quotes", range);
    return NULL;
}

static bool is_printable(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            return false;
    return true;
}

bool read_kept_string(struct reader *r, const config_setting_t *setting, size_t min, size_t max,
                      const char **value)
{
    char range[64], quoted[LIMITS_QUOTED_MAX];
    const char *text;
    size_t length;

    snprintf(range, sizeof(range), "%zu..%zu bytes, no control characters", min, max);
    text = read_string(r, setting, range);
    if (!text)
        return false;
    length = strlen(text);
    if (length < min || length > max || !is_printable(text)) {
        refuse(r, setting, range, "%s %s", limits_quote(text, quoted),
               length < min   ? "is too short"
               : length > max ? "is too long"
                              : "holds control characters");
        return false;
    }
    *value = arena_copy(r->arena, text);
    r->out_of_memory |= !*value;
    return *value != NULL;
}

bool read_name(struct reader *r, const config_setting_t *setting, char name[POLICY_NAME_MAX + 1])
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789._-";
    static const char range[] = "1..63 of A-Z a-z 0-9 . _ -";
    const char *text = read_string(r, setting, range);
    char quoted[LIMITS_QUOTED_MAX];
    size_t length;

    _Static_assert(POLICY_NAME_MAX == 63, "the range says so");
    if (!text)
        return false;
    length = strlen(text);
    if (length < 1 || length > POLICY_NAME_MAX || strspn(text, allowed) != length) {
        refuse(r, setting, range, "%s is no name", limits_quote(text, quoted));
        return false;
    }
    memcpy(name, text, length + 1);
    return true;
}

bool read_word(struct reader *r, const config_setting_t *setting, const char *const *words,
               int *index)
{
    char range[128] = "", quoted[LIMITS_QUOTED_MAX];
    const char *text;
    size_t used = 0;

    for (int i = 0; words[i] && used < sizeof(range); i++)
        used += (size_t)snprintf(range + used, sizeof(range) - used, "%s%s",
                                 i == 0         ? ""
                                 : words[i + 1] ? ", "
                                                : " or ",
                                 words[i]);
    text = read_string(r, setting, range);
    if (!text)
        return false;
    for (int i = 0; words[i]; i++) {
        if (!strcmp(words[i], text)) {
            *index = i;
            return true;
        }
    }
    refuse(r, setting, range, "%s is not one of its words", limits_quote(text, quoted));
    return false;
}

/* Rates are strings; only 0 needs neither unit nor quotes. */
static const char *rate_text(const config_setting_t *setting)
{
    const struct scan_node *node = node_of(setting);

    if (node->kind == SCAN_STRING)
        return config_setting_get_string(setting);
    return node->kind == SCAN_INTEGER && !node->flaw && node->integer == 0 ? "0" : NULL;
}

bool read_limited_rate(struct reader *r, const config_setting_t *setting, rate_limits *limits,
                       struct quota_rate *rate)
{
    const char *text = rate_text(setting);
    struct config_refusal no;

    if (text && limits(text, rate, &no))
        return true;
    if (!text) {
        limits("", rate, &no); /* for its range */
        return wrong_type(r, setting, "string in quotes", no.range);
    }
    refuse(r, setting, no.range, "%s", no.why);
    return false;
}

bool read_rate(struct reader *r, const config_setting_t *setting, struct quota_rate *rate)
{
    return read_limited_rate(r, setting, limits_rate, rate);
}

bool read_bit_rate(struct reader *r, const config_setting_t *setting, struct quota_rate *rate)
{
    return read_limited_rate(r, setting, limits_bit_rate, rate);
}

bool read_burst(struct reader *r, const config_setting_t *setting, struct quota_rate *rate)
{
    struct config_refusal no;
    int64_t value;

    limits_burst(-1, rate, &no); /* for its range */
    if (!read_any_integer(r, setting, no.range, &value))
        return false;
    if (limits_burst(value, rate, &no))
        return true;
    refuse(r, setting, no.range, "%s", no.why);
    return false;
}

bool read_burst_bytes(struct reader *r, const config_setting_t *setting, struct quota_rate *rate)
{
    struct config_refusal no;
    const char *text;

    limits_burst_bytes("", rate, &no); /* for its range */
    text = read_string(r, setting, no.range);
    if (!text)
        return false;
    if (limits_burst_bytes(text, rate, &no))
        return true;
    refuse(r, setting, no.range, "%s", no.why);
    return false;
}

bool read_count(struct reader *r, const config_setting_t *setting, const char *of, uint32_t *count)
{
    struct config_refusal no;
    int64_t value;

    if (node_of(setting)->kind == SCAN_STRING &&
        !strcmp(config_setting_get_string(setting), "unlimited")) {
        *count = POLICY_WINDOW_MAX;
        return true;
    }
    limits_count_range(of, no.range, sizeof(no.range));
    if (!read_any_integer(r, setting, no.range, &value))
        return false;
    if (limits_count(value, of, count, &no))
        return true;
    refuse(r, setting, no.range, "%s", no.why);
    return false;
}

bool read_duration(struct reader *r, const config_setting_t *setting,
                   const struct duration_limits *limits, uint64_t *duration_ns)
{
    const char *text = read_string(r, setting, limits->range);
    struct config_refusal no;

    if (!text)
        return false;
    if (limits_duration(text, limits, duration_ns, &no))
        return true;
    refuse(r, setting, no.range, "%s", no.why);
    return false;
}

bool read_decimal(struct reader *r, const config_setting_t *setting,
                  const struct decimal_limits *limits, uint32_t *value)
{
    const struct scan_node *node = node_of(setting);
    char text[LIMITS_QUOTED_MAX];
    struct config_refusal no;

    if (node->kind != SCAN_FLOAT && node->kind != SCAN_INTEGER)
        return wrong_type(r, setting, "number", limits->range);
    if (limits_decimal(shown(r, setting, text), limits, value, &no))
        return true;
    refuse(r, setting, no.range, "%s", no.why);
    return false;
}

int read_elements(struct reader *r, const config_setting_t *setting, bool array, int min, int max)
{
    enum scan_kind kind = node_of(setting)->kind;
    char range[48];
    int n;

    snprintf(range, sizeof(range), "%d..%d elements", min, max);
    if (kind != SCAN_LIST && !(array && kind == SCAN_ARRAY)) {
        wrong_type(r, setting, array ? "list or array" : "list of groups, ( { ... }, { ... } )",
                   range);
        return -1;
    }
    n = config_setting_length(setting);
    if (n < min || n > max) {
        refuse(r, setting, range, n ? "has %d elements" : "is empty", n);
        return -1;
    }
    return n;
}
