/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/config/scan.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/scanner.h"

static bool scan_value(struct scanner *s, uint32_t node);
static bool scan_settings(struct scanner *s, uint32_t group, char closing);

/* Appends a node; `previous` is the last one of the same parent, or the parent itself for none. */
static bool add_node(struct scanner *s, uint32_t parent, uint32_t previous, uint32_t *added)
{
    struct scan *scan = s->scan;
    struct scan_node *node;

    if (scan->n_nodes == SCAN_NODES_MAX) {
        report_error(s->report, s->line, "", "too many values (at most %u)", SCAN_NODES_MAX);
        return scanner_give_up(s, -EINVAL);
    }
    if (scan->n_nodes == scan->capacity) {
        uint32_t capacity = scan->capacity ? scan->capacity * 2 : 64;

        node = realloc(scan->nodes, capacity * sizeof(*node));
        if (!node)
            return scanner_give_up(s, -ENOMEM);
        scan->nodes = node;
        scan->capacity = capacity;
    }
    *added = scan->n_nodes++;
    node = &scan->nodes[*added];
    *node = (struct scan_node){.line = s->line, .parent = parent, .sibling = *added};
    if (previous != parent) {
        node->sibling = previous;
        node->index = scan->nodes[previous].index + 1;
    }
    return true;
}

/* After an element: true when another one follows. */
static bool next_element(struct scanner *s, uint32_t parent, char closing)
{
    const char *expected = closing == ')' ? "',' or ')'" : "',' or ']'";
    char path[SCAN_PATH_MAX];
    size_t comma = s->at;

    if (!scanner_skip_blanks(s))
        return false;
    if (scanner_peek(s, 0) == closing)
        return false;
    if (scanner_peek(s, 0) != ',')
        return scanner_unexpected(s, parent, expected);
    comma = s->at++;
    if (!scanner_skip_blanks(s))
        return false;
    if (scanner_peek(s, 0) != closing)
        return true;
    report_error(s->report, s->line, scanner_path(s, parent, path),
                 "nothing follows the last comma");
    s->scan->for_libconfig[comma] = ' ';
    return false;
}

/* To libconfig, values are strings or, as every literal became 0, integers. */
static bool is_string(const struct scanner *s, uint32_t node)
{
    return s->scan->nodes[node].kind == SCAN_STRING;
}

/* libconfig wants one kind of value in an array and would not say where; it gets a list. */
static void refuse_mixture(struct scanner *s, uint32_t array, uint32_t element, size_t opening)
{
    char path[SCAN_PATH_MAX];

    report_error(s->report, s->line, scanner_path(s, element, path),
                 "%s in an array [...] of %s: put all of it in quotes, or make it a list (...)",
                 is_string(s, element) ? "text" : "a number",
                 is_string(s, element) ? "numbers" : "text");
    s->scan->nodes[array].kind = SCAN_LIST;
    s->scan->for_libconfig[opening] = '(';
}

static bool scan_elements(struct scanner *s, uint32_t parent, char closing)
{
    uint32_t previous = parent, first = s->scan->n_nodes, element;
    size_t opening = s->at - 1;

    if (!scanner_skip_blanks(s))
        return false;
    if (scanner_peek(s, 0) != closing) {
        do {
            if (!add_node(s, parent, previous, &element))
                return false;
            if (closing == ']' && scanner_peek(s, 0) && strchr("{([", scanner_peek(s, 0)))
                return scanner_unexpected(s, element, "a plain value in an array [...]");
            if (!scan_value(s, element))
                return false;
            if (s->scan->nodes[parent].kind == SCAN_ARRAY &&
                is_string(s, element) != is_string(s, first))
                refuse_mixture(s, parent, element, opening);
            previous = element;
        } while (next_element(s, parent, closing));
        if (s->error)
            return false;
    }
    if (s->scan->for_libconfig[opening] == '(')
        s->scan->for_libconfig[s->at] = ')';
    s->at++;
    return true;
}

static bool scan_aggregate(struct scanner *s, uint32_t node, enum scan_kind kind)
{
    bool ok;

    if (s->depth == SCAN_DEPTH_MAX) {
        report_error(s->report, s->line, "", "nested too deeply (at most %d levels)",
                     SCAN_DEPTH_MAX);
        return scanner_give_up(s, -EINVAL);
    }
    s->scan->nodes[node].kind = kind;
    s->scan->nodes[node].literal_at = (uint32_t)s->at;
    s->depth++;
    s->at++;
    if (kind == SCAN_GROUP)
        ok = scan_settings(s, node, '}');
    else
        ok = scan_elements(s, node, kind == SCAN_LIST ? ')' : ']');
    s->depth--;
    s->scan->nodes[node].literal_length = (uint32_t)s->at - s->scan->nodes[node].literal_at;
    s->value_line = s->line;
    return ok;
}

static bool scan_value(struct scanner *s, uint32_t node)
{
    if (!scanner_skip_blanks(s))
        return false;
    s->scan->nodes[node].line = s->line;
    switch (scanner_peek(s, 0)) {
    case '{':
        return scan_aggregate(s, node, SCAN_GROUP);
    case '(':
        return scan_aggregate(s, node, SCAN_LIST);
    case '[':
        return scan_aggregate(s, node, SCAN_ARRAY);
    case '"':
        return scanner_string(s, node);
    default:
        return scanner_literal(s, node);
    }
}

static bool is_name(char c, bool first)
{
    return isalpha((unsigned char)c) || c == '*' ||
           (!first && (isdigit((unsigned char)c) || c == '-' || c == '_'));
}

static bool scan_name(struct scanner *s, uint32_t group, uint32_t previous, uint32_t *node)
{
    size_t start = s->at;

    if (scanner_peek(s, 0) == '@')
        return scanner_refuse_include(s);
    if (group == 0 && s->at < s->length && strchr(")]}", scanner_peek(s, 0)))
        return scanner_unopened(s, previous);
    if (!is_name(scanner_peek(s, 0), true))
        return scanner_unexpected(s, group,
                                  group ? "the name of a setting or '}'" : "the name of a setting");
    while (is_name(scanner_peek(s, 0), false))
        s->at++;
    if (!add_node(s, group, previous, node))
        return false;
    if (s->scan->nodes[*node].index == SCAN_KEYS_MAX) {
        report_error(s->report, s->line, "", "too many settings in one group (at most %u)",
                     SCAN_KEYS_MAX);
        return scanner_give_up(s, -EINVAL);
    }
    s->scan->nodes[*node].name_at = (uint32_t)start;
    s->scan->nodes[*node].name_length = (uint32_t)(s->at - start);
    if (!scanner_skip_blanks(s))
        return false;
    if (scanner_peek(s, 0) != '=' && scanner_peek(s, 0) != ':')
        return scanner_unexpected(s, *node, "'='");
    s->at++;
    return true;
}

/* The earlier setting of that name in the same group, or the node itself. */
static uint32_t find_earlier(const struct scan *scan, uint32_t index)
{
    const struct scan_node *node = &scan->nodes[index];
    uint32_t i = index;

    while (scan->nodes[i].sibling != i) {
        i = scan->nodes[i].sibling;
        if (scan->nodes[i].name_length == node->name_length &&
            !memcmp(scan->text + scan->nodes[i].name_at, scan->text + node->name_at,
                    node->name_length))
            return i;
    }
    return index;
}

/* Settings must be separated; libconfig would not mind. */
static bool scan_terminator(struct scanner *s, uint32_t node, char closing)
{
    char path[SCAN_PATH_MAX];

    if (!scanner_skip_blanks(s))
        return false;
    if (scanner_peek(s, 0) == ';' || scanner_peek(s, 0) == ',') {
        s->at++;
        return true;
    }
    if (scanner_peek(s, 0) != closing && is_name(scanner_peek(s, 0), true))
        report_error(s->report, s->value_line, scanner_path(s, node, path),
                     "no semicolon behind it; the next setting starts in line %" PRIu32, s->line);
    return true;
}

static bool scan_setting(struct scanner *s, uint32_t group, char closing, uint32_t *previous)
{
    struct scan *scan = s->scan;
    size_t start = s->at;
    char path[SCAN_PATH_MAX];
    uint32_t line = s->line, node, earlier;

    if (!scan_name(s, group, *previous, &node))
        return false;
    earlier = find_earlier(scan, node);
    if (!scan_value(s, node))
        return false;
    scan->nodes[node].line = line;
    if (!scan_terminator(s, node, closing))
        return false;
    if (earlier == node) {
        *previous = node;
        return true;
    }
    report_error(s->report, line, scanner_path(s, node, path),
                 "given twice, first in line %" PRIu32, scan->nodes[earlier].line);
    scan->n_nodes = node;
    scanner_blank(s, start);
    return true;
}

/* Settings up to `closing`, which is taken; '\0' is the end of the text. */
static bool scan_settings(struct scanner *s, uint32_t group, char closing)
{
    uint32_t previous = group;

    for (;;) {
        if (!scanner_skip_blanks(s))
            return false;
        if (s->at >= s->length) {
            if (closing)
                return scanner_unexpected(s, group, "'}'");
            return true;
        }
        if (closing && scanner_peek(s, 0) == closing) {
            s->at++;
            return true;
        }
        if (!scan_setting(s, group, closing, &previous))
            return false;
    }
}

static uint32_t line_of(const char *text, const char *at)
{
    uint32_t line = 1;

    for (; text < at; text++)
        line += *text == '\n';
    return line;
}

int scan_text(struct scan *scan, const char *text, size_t length, struct report *report)
{
    struct scanner s = {.scan = scan, .report = report, .text = text, .length = length, .line = 1};
    const char *zero = memchr(text, '\0', length);
    uint32_t root;

    *scan = (struct scan){.text = text};
    if (zero) {
        report_error(report, line_of(text, zero), "", "this is no text: it holds a zero byte");
        return -EINVAL;
    }
    scan->for_libconfig = malloc(length + 2);
    if (!scan->for_libconfig)
        return -ENOMEM;
    memcpy(scan->for_libconfig, text, length);
    memcpy(scan->for_libconfig + length, "\n", 2);
    if (add_node(&s, SCAN_NO_PARENT, SCAN_NO_PARENT, &root))
        scan_settings(&s, root, '\0');
    return s.error;
}

void scan_clear(struct scan *scan)
{
    free(scan->nodes);
    free(scan->for_libconfig);
    *scan = (struct scan){0};
}

/* Writes from the end: the way leads from the leaf to the root. */
const char *scan_path(const struct scan *scan, const struct scan_node *node,
                      char path[SCAN_PATH_MAX])
{
    char *at = path + SCAN_PATH_MAX - 1;

    *at = '\0';
    for (; node->parent != SCAN_NO_PARENT; node = &scan->nodes[node->parent]) {
        char index[16];
        const char *part = index;
        size_t length = node->name_length, dot = *at && *at != '[';

        if (length)
            part = scan->text + node->name_at;
        else
            length = (size_t)snprintf(index, sizeof(index), "[%" PRIu32 "]", node->index);
        if (length + dot > (size_t)(at - path))
            break; /* absurdly long names: the innermost part stays */
        if (dot)
            *--at = '.';
        at -= length;
        memcpy(at, part, length);
    }
    return memmove(path, at, strlen(at) + 1);
}
