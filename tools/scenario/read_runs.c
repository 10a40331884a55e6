/* SPDX-License-Identifier: BSD-3-Clause */
/* Which runs are made of a scenario, and what is printed of each: variants, sweep, columns. */
#include <string.h>

#include "control/config/limits.h"
#include "tools/scenario/fields.h"
#include "tools/scenario/override.h"
#include "tools/scenario/reading.h"

#define TEXT_MAX 4000
#define SETS_MAX 64

/* Does the key stand in the scenario? What is in the file of a gate shows when it is set. Where
 * something was set already, keys may have gone with it. */
static void check_key(struct reader *r, const config_setting_t *setting, const char *key)
{
    const struct scan_node *gate = key_find(r->scan, "gate");

    if (scenario_reader(r)->n_sets)
        return;
    if (gate && gate->kind == SCAN_STRING && !strncmp(key, "gate.", 5))
        return;
    key_require(r->scan, key, node_of(setting), r->report);
}

static void check_set(struct reader *r, const config_setting_t *setting, const char *set)
{
    const char *equals = strchr(set, '=');
    char key[SCAN_PATH_MAX], quoted[LIMITS_QUOTED_MAX];

    if (!equals || equals == set || equals - set >= (ptrdiff_t)sizeof(key)) {
        refuse(r, setting, "KEY=VALUE", "%s is no setting", limits_quote(set, quoted));
        return;
    }
    snprintf(key, sizeof(key), "%.*s", (int)(equals - set), set);
    check_key(r, setting, key);
}

static void read_variant(struct reader *r, const config_setting_t *group,
                         struct scenario_variant *variant)
{
    static const struct field fields[] = {
        {"name", FIELD_NAME, offsetof(struct scenario_variant, name), NULL, NULL, true},
        {.name = "set", .kind = FIELD_OTHER},
    };
    const config_setting_t *set = member(group, "set");
    int n = set ? read_elements(r, set, true, 0, SETS_MAX) : 0;
    const char **sets = reader_alloc(r, SETS_MAX, sizeof(*sets));

    READ_FIELDS(r, group, fields, variant);
    for (int i = 0; sets && i < n; i++) {
        const config_setting_t *element = config_setting_get_elem(set, (unsigned)i);

        if (!read_kept_string(r, element, 1, TEXT_MAX, &sets[variant->n_sets]))
            continue;
        check_set(r, element, sets[variant->n_sets++]);
    }
    variant->sets = sets;
}

void read_variants(struct reader *r, const config_setting_t *setting)
{
    struct scenario *scenario = scenario_of(r);

    scenario->variants = read_list(r, setting, SCENARIO_VARIANTS_MAX, sizeof(*scenario->variants),
                                   &scenario->n_variants);
    for (uint32_t i = 0; i < scenario->n_variants; i++) {
        scenario->variants[i].name = "";
        read_variant(r, config_setting_get_elem(setting, i), &scenario->variants[i]);
    }
}

/* A plain value as it stands in the file; of a string, what it says. */
static const char *keep_value(struct reader *r, const config_setting_t *element)
{
    const struct scan_node *node = node_of(element);
    const char *text = NULL;
    char *kept;

    if (node->kind == SCAN_STRING)
        return read_kept_string(r, element, 1, TEXT_MAX, &text) ? text : NULL;
    kept = reader_alloc(r, node->literal_length + 1, 1);
    if (kept)
        memcpy(kept, r->scan->text + node->literal_at, node->literal_length);
    return kept;
}

void read_sweep(struct reader *r, const config_setting_t *setting)
{
    struct scenario *scenario = scenario_of(r);
    static const struct field fields[] = {
        {"key", FIELD_TEXT, offsetof(struct scenario, sweep_key), NULL, NULL, true},
        {.name = "values", .kind = FIELD_OTHER, .required = true},
    };
    const config_setting_t *values = member(setting, "values");
    const char **kept = reader_alloc(r, SCENARIO_VALUES_MAX, sizeof(*kept));
    int n = values ? read_elements(r, values, true, 1, SCENARIO_VALUES_MAX) : 0;

    READ_FIELDS(r, setting, fields, scenario);
    if (scenario->sweep_key)
        check_key(r, member(setting, "key"), scenario->sweep_key);
    for (int i = 0; kept && i < n; i++)
        kept[i] = keep_value(r, config_setting_get_elem(values, (unsigned)i));
    scenario->values = kept;
    scenario->n_values = kept && n > 0 ? (uint32_t)n : 0;
}

static bool split_column(struct reader *r, const char *text, struct scenario_column *column)
{
    const char *equals = strchr(text, '=');
    char *name = arena_copy(r->arena, text);

    if (!name) {
        r->out_of_memory = true;
        return true;
    }
    if (equals)
        name[equals - text] = '\0';
    column->name = name;
    column->source = equals ? name + (equals - text) + 1 : name;
    return *column->name && *column->source;
}

void read_columns(struct reader *r, const config_setting_t *setting)
{
    struct scenario *scenario = scenario_of(r);
    int n = read_elements(r, setting, true, 1, SCENARIO_COLUMNS_MAX);

    scenario->columns = reader_alloc(r, SCENARIO_COLUMNS_MAX, sizeof(*scenario->columns));
    for (int i = 0; scenario->columns && i < n; i++) {
        const config_setting_t *element = config_setting_get_elem(setting, (unsigned)i);
        const char *text;

        if (!read_kept_string(r, element, 1, TEXT_MAX, &text))
            continue;
        if (!split_column(r, text, &scenario->columns[scenario->n_columns++]))
            refuse(r, element, "NAME or NAME=SOURCE", "is no column");
    }
}
