/* SPDX-License-Identifier: BSD-3-Clause */
/* Private to tools/scenario: the reader of a scenario, and its sections. */
#ifndef SLUICE_SCENARIO_READING_H
#define SLUICE_SCENARIO_READING_H

#include "control/config/document.h"
#include "control/config/reader.h"
#include "tools/scenario/scenario.h"

/* What a scenario owns. */
struct scenario_memory {
    struct config_arena *arena;
    struct document document;
    struct document gate; /* of a file; no path: none was read */
};

struct scenario_reader {
    struct reader reader;
    struct scenario *scenario;
    struct scenario_memory *memory;
    const char *const *sets; /* key=value; those that begin with "gate." are for its file */
    unsigned n_sets;
    FILE *out;
};

/* What reads scenarios is given the reader of a scenario_reader. */
static inline struct scenario_reader *scenario_reader(struct reader *r)
{
    return (struct scenario_reader *)r;
}

static inline struct scenario *scenario_of(struct reader *r)
{
    return scenario_reader(r)->scenario;
}

/* `name` in the folder of the scenario, unless it is a whole path. NULL: out of memory. */
const char *beside_scenario(struct reader *r, const char *name);

/* Memory for the groups of a list and their number; NULL: there are none, or there is no memory. */
void *read_list(struct reader *r, const config_setting_t *setting, uint32_t max, size_t size,
                uint32_t *n);

#define GATE_PREFIX "gate." /* of keys that are within it */

/* All of it. */
void read_sections(struct reader *r, const config_setting_t *root);

/* Sections, in the order in which they are read: what is named comes before what names it. */
void read_stages(struct reader *r, const config_setting_t *setting);
void read_requests(struct reader *r, const config_setting_t *setting);
void read_gate(struct reader *r, const config_setting_t *setting);
void read_arrivals(struct reader *r, const config_setting_t *setting);
void read_clients(struct reader *r, const config_setting_t *setting);
void read_events(struct reader *r, const config_setting_t *setting);
void read_scaler(struct reader *r, const config_setting_t *setting);
void read_variants(struct reader *r, const config_setting_t *setting);
void read_sweep(struct reader *r, const config_setting_t *setting);
void read_columns(struct reader *r, const config_setting_t *setting);

/* The times of arrivals: `times` in the scenario or `trace`, a file. */
void read_times(struct reader *r, const config_setting_t *setting,
                struct scenario_arrivals *arrivals);
void read_trace(struct reader *r, const config_setting_t *setting,
                struct scenario_arrivals *arrivals);

#endif
