/* SPDX-License-Identifier: BSD-3-Clause */
/* A group of settings: which keys it knows, which are missing, and what a wrong one was meant to
 * be. */
#include <string.h>

#include "control/config/reader.h"

#define HINT_LENGTH_MAX 24
#define HINT_DISTANCE   2

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Edits from a to b: insert, delete, replace, swap neighbours (optimal string alignment). */
static int edit_distance(const char *a, const char *b)
{
    int rows[3][HINT_LENGTH_MAX + 1];
    int *before = rows[0], *above = rows[1], *row = rows[2], *spare;
    size_t length = strlen(b);

    if (strlen(a) > HINT_LENGTH_MAX || length > HINT_LENGTH_MAX)
        return HINT_LENGTH_MAX;
    for (size_t j = 0; j <= length; j++)
        above[j] = before[j] = (int)j;
    for (size_t i = 1; a[i - 1]; i++) {
        row[0] = (int)i;
        for (size_t j = 1; j <= length; j++) {
            row[j] = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = least(row[j], least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
        spare = before;
        before = above;
        above = row;
        row = spare;
    }
    return above[length];
}

/* The known key that was meant, or NULL. `brust` is as close to attempts_burst as to `burst`. */
static const char *nearest(const char *name, const struct key *keys, size_t n_keys)
{
    int best = least(HINT_DISTANCE, (int)strlen(name) / 3) + 1;
    const char *found = NULL;

    for (size_t i = 0; i < n_keys; i++) {
        const char *tail = strrchr(keys[i].name, '_');
        int distance = edit_distance(name, keys[i].name);

        if (tail)
            distance = least(distance, edit_distance(name, tail + 1));
        if (distance < best) {
            best = distance;
            found = keys[i].name;
        }
    }
    return found;
}

static void refuse_unknown(struct reader *r, const config_setting_t *setting,
                           const struct key *keys, size_t n_keys)
{
    const char *meant = nearest(config_setting_name(setting), keys, n_keys);
    char known[256] = "";
    size_t used = 0;

    for (size_t i = 0; i < n_keys && used < sizeof(known); i++)
        used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "",
                                 keys[i].name);
    if (meant)
        refuse(r, setting, known, "unknown key, perhaps %s was meant", meant);
    else
        refuse(r, setting, known, "unknown key");
}

static void require(struct reader *r, const config_setting_t *group, const char *name)
{
    const struct scan_node *node = node_of(group);
    char path[SCAN_PATH_MAX];

    scan_path(r->scan, node, path);
    if (*path)
        strncat(path, ".", sizeof(path) - strlen(path) - 1);
    strncat(path, name, sizeof(path) - strlen(path) - 1);
    report_error(r->report, node->line, path, "is missing");
}

uint32_t read_group(struct reader *r, const config_setting_t *group, const struct key *keys,
                    size_t n_keys, void *target)
{
    uint32_t given = 0;

    if (node_of(group)->kind != SCAN_GROUP) {
        refuse(r, group, "", "is no group { ... }");
        return 0;
    }
    for (int i = 0; i < config_setting_length(group); i++) {
        const config_setting_t *setting = config_setting_get_elem(group, (unsigned)i);
        size_t k = 0;

        while (k < n_keys && strcmp(keys[k].name, config_setting_name(setting)))
            k++;
        if (k == n_keys) {
            refuse_unknown(r, setting, keys, n_keys);
            continue;
        }
        given |= 1u << k;
        keys[k].read(r, setting, target);
    }
    for (size_t k = 0; k < n_keys; k++)
        if (keys[k].required && !(given & (1u << k)))
            require(r, group, keys[k].name);
    return given;
}
