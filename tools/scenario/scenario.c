/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/scenario/scenario.h"

#include <errno.h>
#include <string.h>

#include "tools/scenario/override.h"
#include "tools/scenario/reading.h"

static struct scenario *create_scenario(const char *path)
{
    struct config_arena *arena = arena_create();
    struct scenario *scenario = arena ? arena_alloc(arena, 1, sizeof(*scenario)) : NULL;
    struct scenario_memory *memory = arena ? arena_alloc(arena, 1, sizeof(*memory)) : NULL;
    const char *kept = arena ? arena_copy(arena, path) : NULL;

    if (!scenario || !memory || !kept) {
        arena_destroy(arena);
        return NULL;
    }
    memory->arena = arena;
    *scenario = (struct scenario){
        .path = kept,
        .about = "",
        .seed = 1,
        .duration_s = 1.0,
        .interval_s = 1.0,
        .workers = 1,
        .clients = {.tries = 1},
        .memory = memory,
    };
    return scenario;
}

/* Only then is there more to set within it than stands in the scenario. */
static bool gate_is_file(const struct document *document)
{
    struct report ignored = {0};
    struct scan scan;
    char name[512];
    bool is_file = !scan_text(&scan, document->text, document->length, &ignored) &&
                   key_find(&scan, "gate") && key_find(&scan, "gate")->kind == SCAN_STRING &&
                   !(key_text(&scan, "gate", name, sizeof(name)) && !strcmp(name, "none"));

    scan_clear(&scan);
    report_clear(&ignored);
    return is_file;
}

static int apply_sets(const struct scenario_reader *own, struct document *document)
{
    int error = 0;

    for (unsigned i = 0; i < own->n_sets && !error; i++)
        if (strncmp(own->sets[i], GATE_PREFIX, strlen(GATE_PREFIX)) || !gate_is_file(document))
            error = override_apply(document, own->sets[i]);
    return error;
}

static int read_document(struct scenario_reader *own)
{
    struct document *document = &own->memory->document;
    int error = document_open(document, own->scenario->path, own->out);

    if (error)
        return error;
    error = apply_sets(own, document);
    if (!error)
        error = document_parse(document);
    if (!error)
        read_sections(&own->reader, config_root_setting(&document->config));
    if (own->reader.out_of_memory || document->report.out_of_memory)
        error = -ENOMEM;
    else if (!error && document->report.errors)
        error = -EINVAL;
    document_tell(document, own->out);
    return error;
}

int scenario_read(const char *path, const char *const *sets, unsigned n_sets, FILE *report,
                  struct scenario **out)
{
    struct scenario *scenario = create_scenario(path);
    struct scenario_reader own = {
        .scenario = scenario, .sets = sets, .n_sets = n_sets, .out = report};
    int error;

    *out = NULL;
    if (!scenario)
        return -ENOMEM;
    own.memory = scenario->memory;
    own.reader = (struct reader){.scan = &own.memory->document.scan,
                                 .report = &own.memory->document.report,
                                 .arena = own.memory->arena};
    error = read_document(&own);
    if (!error)
        *out = scenario;
    else
        scenario_free(scenario);
    return error;
}

void scenario_free(struct scenario *scenario)
{
    struct scenario_memory *memory = scenario ? scenario->memory : NULL;

    if (!memory)
        return;
    config_free(scenario->gate);
    if (memory->gate.path)
        document_close(&memory->gate);
    if (memory->document.path)
        document_close(&memory->document);
    arena_destroy(memory->arena);
}

bool scenario_value(const struct scenario *scenario, const char *key, char *text, size_t size)
{
    const struct scenario_memory *memory = scenario->memory;
    const size_t prefix = strlen(GATE_PREFIX);

    if (key_text(&memory->document.scan, key, text, size))
        return true;
    return memory->gate.path && !strncmp(key, GATE_PREFIX, prefix) &&
           key_text(&memory->gate.scan, key + prefix, text, size);
}
