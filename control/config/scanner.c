/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/config/scanner.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "control/config/literal.h"

/* Characters that cannot be part of an unquoted literal. */
#define DELIMITERS " \t\r\n\f;,(){}[]\"="

const char *scanner_path(const struct scanner *s, uint32_t node, char path[SCAN_PATH_MAX])
{
    return scan_path(s->scan, &s->scan->nodes[node], path);
}

bool scanner_give_up(struct scanner *s, int error)
{
    s->error = error;
    return false;
}

char scanner_peek(const struct scanner *s, size_t ahead)
{
    return s->at + ahead < s->length ? s->text[s->at + ahead] : '\0';
}

bool scanner_unopened(struct scanner *s, uint32_t node)
{
    char path[SCAN_PATH_MAX];

    report_error(s->report, s->line, scanner_path(s, node, path),
                 "syntax error: '%c' closes nothing: its opening bracket is missing",
                 scanner_peek(s, 0));
    return scanner_give_up(s, -EINVAL);
}

bool scanner_unexpected(struct scanner *s, uint32_t node, const char *expected)
{
    const struct scan_node *opened = &s->scan->nodes[node];
    char path[SCAN_PATH_MAX], found[16], where[40] = "";
    char c = scanner_peek(s, 0);

    scanner_path(s, node, path);
    if (node && opened->kind <= SCAN_ARRAY && opened->line != s->line)
        snprintf(where, sizeof(where), " ('%c' is in line %" PRIu32 ")", "{(["[opened->kind],
                 opened -> line);
    if (s->at >= s->length)
        strcpy(found, "end of file");
    else
        snprintf(found, sizeof(found), isprint((unsigned char)c) ? "'%c'" : "byte %d",
                 (unsigned char)c);
    report_error(s->report, s->line, path, "syntax error: %s expected, not %s%s", expected, found,
                 where);
    return scanner_give_up(s, -EINVAL);
}

static void next_line(struct scanner *s)
{
    s->line += s->text[s->at++] == '\n';
}

void scanner_blank(struct scanner *s, size_t start)
{
    for (size_t i = start; i < s->at; i++)
        if (s->text[i] != '\n')
            s->scan->for_libconfig[i] = ' ';
}

static bool comment_starts(const struct scanner *s)
{
    char c = scanner_peek(s, 0);

    return c == '#' || (c == '/' && (scanner_peek(s, 1) == '/' || scanner_peek(s, 1) == '*'));
}

static bool skip_comment(struct scanner *s)
{
    uint32_t start = s->line;

    if (scanner_peek(s, 0) == '#' || scanner_peek(s, 1) == '/') {
        while (s->at < s->length && scanner_peek(s, 0) != '\n')
            s->at++;
        return true;
    }
    for (s->at += 2; s->at < s->length; next_line(s)) {
        if (scanner_peek(s, 0) == '*' && scanner_peek(s, 1) == '/') {
            s->at += 2;
            return true;
        }
    }
    report_error(s->report, start, "", "syntax error: this comment has no end");
    return scanner_give_up(s, -EINVAL);
}

bool scanner_skip_blanks(struct scanner *s)
{
    while (s->at < s->length) {
        if (comment_starts(s)) {
            if (!skip_comment(s))
                return false;
        } else if (strchr(" \t\r\n\f", scanner_peek(s, 0))) {
            next_line(s);
        } else {
            break;
        }
    }
    return true;
}

bool scanner_refuse_include(struct scanner *s)
{
    report_error(s->report, s->line, "",
                 "@include is not supported: keep the configuration in one file");
    return scanner_give_up(s, -EINVAL);
}

/* Does the escape at the cursor mean the same in every libconfig? \x00 would end the string. */
static bool known_escape(const struct scanner *s)
{
    char c = scanner_peek(s, 1);

    if (c == 'x' || c == 'X')
        return isxdigit((unsigned char)scanner_peek(s, 2)) &&
               isxdigit((unsigned char)scanner_peek(s, 3)) &&
               !(scanner_peek(s, 2) == '0' && scanner_peek(s, 3) == '0');
    return c && strchr("\\\"nrtf", c);
}

static bool skip_string(struct scanner *s, uint32_t node)
{
    char path[SCAN_PATH_MAX];

    for (s->at++; s->at < s->length && scanner_peek(s, 0) != '\n'; s->at++) {
        if (scanner_peek(s, 0) == '"') {
            s->at++;
            s->value_line = s->line;
            return true;
        }
        if (scanner_peek(s, 0) != '\\')
            continue;
        if (!known_escape(s)) {
            report_error(s->report, s->line, scanner_path(s, node, path),
                         "unknown escape in a string (\\\\ \\\" \\n \\r \\t \\f \\xHH, not \\x00)");
            s->scan->for_libconfig[s->at] = '?';
        }
        s->at += scanner_peek(s, 1) == '\\' || scanner_peek(s, 1) == '"';
    }
    report_error(s->report, s->line, scanner_path(s, node, path),
                 "syntax error: this string has no closing quote in its line");
    return scanner_give_up(s, -EINVAL);
}

/* A string, or several in a row that libconfig joins to one. Where elements are separated by commas
 * that is a forgotten comma. */
bool scanner_string(struct scanner *s, uint32_t index)
{
    bool element = s->scan->nodes[index].name_length == 0;
    size_t start = s->at;
    char path[SCAN_PATH_MAX];

    s->scan->nodes[index].kind = SCAN_STRING;
    s->scan->nodes[index].literal_at = (uint32_t)start;
    if (!skip_string(s, index))
        return false;
    s->scan->nodes[index].literal_length = (uint32_t)(s->at - start);
    while (scanner_skip_blanks(s) && scanner_peek(s, 0) == '"') {
        if (element)
            report_error(s->report, s->line, scanner_path(s, index, path),
                         "two strings without a comma between them");
        if (!skip_string(s, index))
            return false;
        s->scan->nodes[index].literal_length = (uint32_t)(s->at - start);
    }
    return !s->error;
}

bool scanner_literal(struct scanner *s, uint32_t index)
{
    struct scan_node *node = &s->scan->nodes[index];
    size_t start = s->at;

    if (scanner_peek(s, 0) == '@')
        return scanner_refuse_include(s);
    while (s->at < s->length && !strchr(DELIMITERS, scanner_peek(s, 0)) && !comment_starts(s))
        s->at++;
    if (s->at == start)
        return scanner_unexpected(s, index, "a value");
    node->literal_at = (uint32_t)start;
    node->literal_length = (uint32_t)(s->at - start);
    literal_classify(s->text + start, s->at - start, node);
    scanner_blank(s, start);
    s->scan->for_libconfig[start] = '0';
    s->value_line = s->line;
    return true;
}
