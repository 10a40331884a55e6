/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/cli/show.h"

#include <string.h>

#include "control/cli/table.h"

const json_t *show_at(const json_t *object, const char *path)
{
    size_t length;

    for (; object && *path; path += length + (path[length] == '.')) {
        length = strcspn(path, ".");
        object = json_object_getn(object, path, length);
    }
    return object;
}

static void list_cell(struct table *table, const json_t *list)
{
    char text[512] = "";
    size_t used = 0, i;
    const json_t *value;

    json_array_foreach (list, i, value) {
        int n = snprintf(text + used, sizeof(text) - used, "%s%s", i ? "," : "",
                         json_is_string(value) ? json_string_value(value) : "?");

        if (n < 0 || used + (size_t)n >= sizeof(text)) {
            memcpy(text + sizeof(text) - 4, "...", 4);
            break;
        }
        used += (size_t)n;
    }
    table_cell(table, text[0] ? text : "-");
}

static void sum_cell(struct table *table, const json_t *object)
{
    json_int_t sum = 0;
    const char *key;
    json_t *value;

    json_object_foreach ((json_t *)object, key, value)
        sum += json_integer_value(value);
    table_cellf(table, "%" JSON_INTEGER_FORMAT, sum);
}

void show_cell(struct table *table, const json_t *value)
{
    if (json_is_string(value))
        table_cell(table, json_string_value(value));
    else if (json_is_integer(value))
        table_cellf(table, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        table_cellf(table, "%.12g", json_real_value(value));
    else if (json_is_array(value))
        list_cell(table, value);
    else if (json_is_object(value))
        sum_cell(table, value);
    else
        table_cell(table, "-");
}

static void print_title(FILE *out, const char *title)
{
    if (title)
        fprintf(out, "\n%s\n", title);
}

void show_rows(FILE *out, const char *title, const json_t *list, const struct column *columns,
               unsigned n_columns)
{
    struct table table;
    const json_t *item;
    size_t i;

    print_title(out, title);
    table_start(&table, n_columns);
    for (unsigned c = 0; c < n_columns; c++)
        table_cell(&table, columns[c].heading);
    json_array_foreach (list, i, item)
        for (unsigned c = 0; c < n_columns; c++)
            show_cell(&table, show_at(item, columns[c].path));
    table_finish(&table, out);
}

void show_keyed(FILE *out, const char *title, const json_t *object, const struct column *columns,
                unsigned n_columns)
{
    struct table table;
    const char *key;
    json_t *value;

    print_title(out, title);
    table_start(&table, n_columns);
    for (unsigned c = 0; c < n_columns; c++)
        table_cell(&table, columns[c].heading);
    json_object_foreach ((json_t *)object, key, value) {
        for (unsigned c = 0; c < n_columns; c++) {
            if (columns[c].path[0])
                show_cell(&table, show_at(value, columns[c].path));
            else
                table_cell(&table, key);
        }
    }
    table_finish(&table, out);
}

void show_members(FILE *out, const char *title, const json_t *list, const char *name,
                  const char *member)
{
    json_t *first = (json_t *)show_at(json_array_get(list, 0), member);
    struct table table;
    const json_t *item;
    const char *key;
    json_t *value;
    size_t i;

    print_title(out, title);
    table_start(&table, 1 + (unsigned)json_object_size(first));
    table_cellf(&table, "<%s", name);
    json_object_foreach (first, key, value)
        table_cell(&table, key);
    json_array_foreach (list, i, item) {
        show_cell(&table, show_at(item, name));
        json_object_foreach (first, key, value)
            show_cell(&table, json_object_get(show_at(item, member), key));
    }
    table_finish(&table, out);
}

void show_members_down(FILE *out, const char *title, const json_t *list, const char *name,
                       const char *member)
{
    json_t *first = (json_t *)show_at(json_array_get(list, 0), member);
    struct table table;
    const json_t *item;
    const char *key;
    json_t *value;
    size_t i;

    print_title(out, title);
    table_start(&table, 1 + (unsigned)json_array_size(list));
    table_cellf(&table, "<%s", name);
    json_array_foreach (list, i, item)
        show_cell(&table, show_at(item, name));
    json_object_foreach (first, key, value) {
        table_cell(&table, key);
        json_array_foreach (list, i, item)
            show_cell(&table, json_object_get(show_at(item, member), key));
    }
    table_finish(&table, out);
}
