/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings from a document. */
#include <errno.h>

#include "control/config/document.h"
#include "control/config/settings_reader.h"

static struct settings *create_settings(void)
{
    struct config_arena *arena = arena_create();
    struct settings *settings = arena ? arena_alloc(arena, 1, sizeof(*settings)) : NULL;

    if (settings)
        settings->arena = arena;
    else
        arena_destroy(arena);
    return settings;
}

void config_free(struct settings *settings)
{
    if (settings)
        arena_destroy(settings->arena);
}

int config_read_document(struct document *document, const struct config_host *host,
                         struct settings **out)
{
    struct settings *settings = create_settings();
    struct settings_reader own = {
        .reader = {.scan = &document->scan, .report = &document->report},
        .settings = settings,
        .host = host,
    };
    struct reader *r = &own.reader;
    int error = 0;

    *out = NULL;
    if (!settings)
        return -ENOMEM;
    r->arena = settings->arena;
    read_root(r, config_root_setting(&document->config));
    check_all(r);
    check_idle_timeouts(r); /* of a daemon's file: in a scenario's group no client vanishes */
    if (r->out_of_memory || document->report.out_of_memory)
        error = -ENOMEM;
    else if (document->report.errors > own.n_missing)
        error = -EINVAL;
    else if (own.n_missing)
        error = -ENODEV;
    if (!error)
        *out = settings;
    else
        config_free(settings);
    return error;
}

struct settings *config_read_gate(const struct reader *reader, const config_setting_t *group)
{
    struct settings *settings = create_settings();
    struct settings_reader own = {.reader = *reader, .settings = settings};

    if (!settings)
        return NULL;
    own.reader.arena = settings->arena;
    read_gate_group(&own.reader, group);
    check_all(&own.reader);
    if (!own.reader.out_of_memory)
        return settings;
    config_free(settings);
    return NULL;
}

int config_load(const char *path, const struct config_host *host, FILE *report,
                struct settings **out)
{
    struct document document;
    int error = document_open(&document, path, report);

    *out = NULL;
    if (error)
        goto out;
    error = document_parse(&document);
    if (!error)
        error = config_read_document(&document, host, out);
    document_tell(&document, report);
    if (error == -ENOMEM)
        fprintf(report, "%s: not enough memory\n", path);
out:
    document_close(&document);
    return error;
}
