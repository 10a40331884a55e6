/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/cli/show.h"

static void show_count(const json_t *answer, const char *key, FILE *out)
{
    json_int_t n = json_integer_value(json_object_get(answer, key));

    if (n)
        fprintf(out, "%s %" JSON_INTEGER_FORMAT ", ", key, n);
}

/* What was done, what else was meant than was given, and what is still to come. */
static void show_change(const json_t *answer, FILE *out)
{
    const char *unsaved = json_string_value(json_object_get(answer, "unsaved"));
    const json_t *masked;
    size_t i;

    show_count(answer, "added", out);
    show_count(answer, "renewed", out);
    show_count(answer, "deleted", out);
    show_count(answer, "repeated", out);
    fprintf(out, "%" JSON_INTEGER_FORMAT " denied, policy epoch %" JSON_INTEGER_FORMAT "\n",
            json_integer_value(json_object_get(answer, "entries")),
            json_integer_value(json_object_get(answer, "epoch")));
    json_array_foreach (json_object_get(answer, "masked"), i, masked)
        fprintf(out, "%s has host bits, %s is meant\n",
                json_string_value(json_object_get(masked, "given")),
                json_string_value(json_object_get(masked, "meant")));
    if (json_is_true(json_object_get(answer, "pending")))
        fprintf(out, "not in force yet, the daemon goes on trying\n");
    if (unsaved)
        fprintf(out, "not saved, the daemon goes on trying: %s\n", unsaved);
}

void show_deny(const json_t *answer, FILE *out)
{
    static const struct column columns[] = {{"<prefix", "prefix"}, {"expires in", "expires_in"}};
    const json_t *list = json_object_get(answer, "denied");

    if (list)
        SHOW_ROWS(out, NULL, list, columns);
    else
        show_change(answer, out);
}
