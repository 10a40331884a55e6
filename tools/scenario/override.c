/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/scenario/override.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/limits.h"
#include "control/config/literal.h"

#define VALUE_MAX 4096u /* bytes of a value */

/* The child of `parent` behind `after` (NULL: its first), NULL: no more. Parents stand before their
 * children, and children in their order. */
static const struct scan_node *next_child(const struct scan *scan, const struct scan_node *parent,
                                          const struct scan_node *after)
{
    const struct scan_node *end = scan->nodes + scan->n_nodes;

    for (const struct scan_node *node = (after ? after : parent) + 1; node < end; node++)
        if (node->parent == parent - scan->nodes)
            return node;
    return NULL;
}

/* A part of the text. */
struct text {
    const char *at;
    size_t length;
};

static struct text name_of(const struct scan *scan, const struct scan_node *node)
{
    return (struct text){scan->text + node->name_at, node->name_length};
}

/* What stands between the quotes of the `name` of an element. */
static struct text name_within(const struct scan *scan, const struct scan_node *element)
{
    const struct scan_node *node = NULL;

    while (element->kind == SCAN_GROUP && (node = next_child(scan, element, node)))
        if (node->kind == SCAN_STRING && node->name_length == 4 &&
            !memcmp(scan->text + node->name_at, "name", 4))
            return (struct text){scan->text + node->literal_at + 1, node->literal_length - 2};
    return (struct text){0};
}

/* The key behind `part`, where the key begins with that; else NULL. */
static const char *behind(const char *key, struct text part)
{
    if (!part.length || strncmp(key, part.at, part.length))
        return NULL;
    key += part.length;
    return *key == '.' || *key == '\0' ? key + (*key == '.') : NULL;
}

static struct text place_of(const struct scan_node *element, char digits[16])
{
    return (struct text){digits, (size_t)snprintf(digits, 16, "%u", element->index)};
}

/* One step of the way. */
static const struct scan_node *find_child(const struct scan *scan, const struct scan_node *parent,
                                          const char **key)
{
    const struct scan_node *node = NULL;
    const char *rest = NULL;
    char digits[16];

    if (parent->kind > SCAN_ARRAY)
        return NULL;
    while ((node = next_child(scan, parent, node))) {
        if (parent->kind == SCAN_GROUP)
            rest = behind(*key, name_of(scan, node));
        else
            rest = behind(*key, place_of(node, digits));
        if (!rest)
            rest = behind(*key, name_within(scan, node));
        if (rest) {
            *key = rest;
            return node;
        }
    }
    return NULL;
}

const struct scan_node *key_follow(const struct scan *scan, const char *key, const char **rest)
{
    const struct scan_node *node = &scan->nodes[0], *child;

    while (*key && (child = find_child(scan, node, &key)))
        node = child;
    *rest = key;
    return node;
}

const struct scan_node *key_find(const struct scan *scan, const char *key)
{
    const char *rest;
    const struct scan_node *node = key_follow(scan, key, &rest);

    return *rest || node == scan->nodes ? NULL : node;
}

static void list_children(const struct scan *scan, const struct scan_node *parent, char *list,
                          size_t size)
{
    const struct scan_node *node = NULL;
    size_t used = 0;
    char digits[16];

    *list = '\0';
    while (parent->kind <= SCAN_ARRAY && (node = next_child(scan, parent, node)) && used < size) {
        struct text part = node->name_length ? name_of(scan, node) : name_within(scan, node);

        if (!part.length)
            part = place_of(node, digits);
        used += (size_t)snprintf(list + used, size - used, "%s%.*s", used ? ", " : "",
                                 (int)part.length, part.at);
    }
}

const struct scan_node *key_require(const struct scan *scan, const char *key,
                                    const struct scan_node *at, struct report *report)
{
    const struct scan_node *node = key_find(scan, key), *near;
    char list[256], path[SCAN_PATH_MAX], quoted[LIMITS_QUOTED_MAX];
    const char *rest;

    if (node)
        return node;
    near = key_follow(scan, key, &rest);
    list_children(scan, near, list, sizeof(list));
    if (!at)
        at = near;
    report_error(report, at->line, scan_path(scan, at, path),
                 "there is no %s to be set by %s, only what the file has can be set (%s)",
                 limits_quote(rest, quoted), key, *list ? list : "it has no parts");
    return NULL;
}

/* Does the value stand in the text as it is given? All of an array is in quotes, or nothing. */
static bool stands_alone(const struct scan *scan, const struct scan_node *node, const char *value)
{
    struct scan_node as = {0};

    if (*value && strchr("{([\"", *value))
        return true;
    if (scan->nodes[node->parent].kind == SCAN_ARRAY)
        return node->kind != SCAN_STRING;
    literal_classify(value, strlen(value), &as);
    return as.kind != SCAN_BROKEN && !as.flaw;
}

static char *write_value(char *at, const char *value, bool quoted)
{
    if (quoted)
        *at++ = '"';
    for (; *value; value++) {
        if (quoted && (*value == '"' || *value == '\\'))
            *at++ = '\\';
        *at++ = *value;
    }
    if (quoted)
        *at++ = '"';
    return at;
}

/* The lines of the old value stay, empty, behind the new one. */
static int splice(struct document *document, const struct scan *scan, const struct scan_node *node,
                  const char *value)
{
    const char *old = document->text + node->literal_at, *end = old + node->literal_length;
    size_t room = document->length + 2 * strlen(value) + 2, head = node->literal_at;
    char *text = malloc(room), *at;

    if (!text)
        return -ENOMEM;
    memcpy(text, document->text, head);
    at = write_value(text + head, value, !stands_alone(scan, node, value));
    for (; old < end; old++)
        if (*old == '\n')
            *at++ = '\n';
    memcpy(at, end, (size_t)(document->text + document->length - end));
    document->length = (size_t)(at - text) + (size_t)(document->text + document->length - end);
    free(document->text);
    document->text = text;
    return 0;
}

static bool is_one_line(const char *value)
{
    for (const char *c = value; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return false;
    return strlen(value) <= VALUE_MAX;
}

bool key_text(const struct scan *scan, const char *key, char *text, size_t size)
{
    const struct scan_node *node = key_find(scan, key);
    size_t quotes;

    if (!node ||
        (node->kind != SCAN_STRING && node->kind != SCAN_INTEGER && node->kind != SCAN_FLOAT))
        return false;
    quotes = node->kind == SCAN_STRING;
    if (node->literal_length - 2 * quotes >= size)
        return false;
    memcpy(text, scan->text + node->literal_at + quotes, node->literal_length - 2 * quotes);
    text[node->literal_length - 2 * quotes] = '\0';
    return true;
}

static int apply(struct document *document, const struct scan *scan, const char *set)
{
    const char *equals = strchr(set, '=');
    char key[SCAN_PATH_MAX], quoted[LIMITS_QUOTED_MAX];
    const struct scan_node *node;

    if (!equals || equals == set || equals - set >= (ptrdiff_t)sizeof(key)) {
        report_error(&document->report, 1, "", "%s is no setting (KEY=VALUE)",
                     limits_quote(set, quoted));
        return 0;
    }
    snprintf(key, sizeof(key), "%.*s", (int)(equals - set), set);
    node = key_require(scan, key, NULL, &document->report);
    if (node && !is_one_line(equals + 1)) {
        report_error(&document->report, node->line, key,
                     "what is set is no line of text (0..%u bytes, no control characters)",
                     VALUE_MAX);
        node = NULL;
    }
    return node ? splice(document, scan, node, equals + 1) : 0;
}

int override_apply(struct document *document, const char *set)
{
    struct report ignored = {0};
    struct scan scan;
    int error = scan_text(&scan, document->text, document->length, &ignored);

    if (!error)
        error = apply(document, &scan, set);
    scan_clear(&scan);
    report_clear(&ignored);
    return error == -ENOMEM ? error : 0;
}
