/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "control/cli/show.h"
#include "control/cli/table.h"

#define KEY_MAX 256

/* One row for each value of `now` that is not the same in `before`, under its dotted name. */
static void changes(struct table *table, const char *prefix, const json_t *before,
                    const json_t *now)
{
    const char *key;
    json_t *value;

    json_object_foreach ((json_t *)now, key, value) {
        const json_t *old = json_object_get(before, key);
        char name[KEY_MAX];

        snprintf(name, sizeof(name), "%s%s%s", prefix, *prefix ? "." : "", key);
        if (json_is_object(value)) {
            changes(table, name, old, value);
        } else if (!old || !json_equal(old, value)) {
            table_cell(table, name);
            show_cell(table, old);
            show_cell(table, value);
        }
    }
}

void show_set(const json_t *answer, FILE *out)
{
    const char *kind = json_object_get(answer, "tenant") ? "tenant" : "service";
    struct table table;

    fprintf(out, "%s %s, policy epoch %" JSON_INTEGER_FORMAT "\n", kind,
            json_string_value(json_object_get(answer, kind)),
            json_integer_value(json_object_get(answer, "epoch")));
    table_start(&table, 3);
    table_cell(&table, "<changed");
    table_cell(&table, "from");
    table_cell(&table, "to");
    changes(&table, "", json_object_get(answer, "old"), json_object_get(answer, "new"));
    table_finish(&table, out);
}
