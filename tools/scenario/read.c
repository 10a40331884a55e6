/* SPDX-License-Identifier: BSD-3-Clause */
/* The sections of a scenario: which there are, and the gate. */
#include <errno.h>
#include <string.h>

#include "control/config/limits.h"
#include "tools/scenario/fields.h"
#include "tools/scenario/override.h"
#include "tools/scenario/reading.h"

#define OF(member_) offsetof(struct scenario, member_)

#define INTERVALS_MAX 1e6

const char *beside_scenario(struct reader *r, const char *name)
{
    const char *path = scenario_of(r)->path, *slash = strrchr(path, '/');
    size_t folder = *name != '/' && slash ? (size_t)(slash + 1 - path) : 0;
    char *whole = reader_alloc(r, folder + strlen(name) + 1, 1);

    if (!whole)
        return NULL;
    memcpy(whole, path, folder);
    strcpy(whole + folder, name);
    return whole;
}

void *read_list(struct reader *r, const config_setting_t *setting, uint32_t max, size_t size,
                uint32_t *n)
{
    int length = read_elements(r, setting, false, 1, (int)max);
    void *elements = length > 0 ? reader_alloc(r, (size_t)length, size) : NULL;

    *n = 0;
    for (int i = 0; elements && i < length; i++) {
        const config_setting_t *element = config_setting_get_elem(setting, (unsigned)i);

        if (node_of(element)->kind != SCAN_GROUP) {
            refuse(r, element, "", "is no group { ... }");
            return NULL;
        }
    }
    *n = elements ? (uint32_t)length : 0;
    return elements;
}

/* What is set within the file of the gate. */
static int apply_gate_sets(struct reader *r, struct document *gate)
{
    const struct scenario_reader *own = scenario_reader(r);
    int error = 0;

    for (unsigned i = 0; i < own->n_sets && !error; i++)
        if (!strncmp(own->sets[i], GATE_PREFIX, strlen(GATE_PREFIX)))
            error = override_apply(gate, own->sets[i] + strlen(GATE_PREFIX));
    return error;
}

static int load_gate(struct reader *r, struct document *gate, const char *path)
{
    int error = document_open(gate, path, scenario_reader(r)->out);

    if (!error)
        error = apply_gate_sets(r, gate);
    if (!error)
        error = document_parse(gate);
    if (!error)
        error = config_read_document(gate, NULL, &scenario_of(r)->gate);
    document_tell(gate, scenario_reader(r)->out);
    return error;
}

static void read_gate_file(struct reader *r, const config_setting_t *setting, const char *name)
{
    const char *path = beside_scenario(r, name);
    char quoted[LIMITS_QUOTED_MAX];
    int error = path ? load_gate(r, &scenario_reader(r)->memory->gate, path) : -ENOMEM;

    if (error == -ENOMEM)
        r->out_of_memory = true;
    else if (error)
        refuse(r, setting, "", "%s is no gate, for what was said of it",
               limits_quote(path, quoted));
}

void read_gate(struct reader *r, const config_setting_t *setting)
{
    static const char range[] = "a group, the name of a file, or \"none\"";
    struct scenario *scenario = scenario_of(r);
    const char *name;

    if (node_of(setting)->kind == SCAN_GROUP) {
        scenario->gate = config_read_gate(r, setting);
        r->out_of_memory |= !scenario->gate;
    } else {
        name = read_string(r, setting, range);
        if (name && strcmp(name, "none"))
            read_gate_file(r, setting, name);
    }
    if (scenario->gate && !scenario->gate->policy.n_services &&
        (node_of(setting)->kind != SCAN_GROUP || member(setting, "services")))
        refuse(r, setting, "", "the gate has no service");
}

/* Lines of text, the first of them a title. */
static void read_about(struct reader *r, const config_setting_t *setting)
{
    static const char range[] = "1..4000 bytes, no control characters but \\n";
    const char *text = read_string(r, setting, range);
    size_t length = text ? strlen(text) : 0;

    if (!text)
        return;
    for (const char *c = text; *c; c++)
        if (((unsigned char)*c < ' ' && *c != '\n') || *c == 0x7f)
            length = 0;
    if (length == 0 || length > 4000) {
        refuse(r, setting, range, "is no such text");
        return;
    }
    scenario_of(r)->about = arena_copy(r->arena, text);
    r->out_of_memory |= !scenario_of(r)->about;
}

/* The values that stand alone. */
static void read_plain(struct reader *r, const config_setting_t *root)
{
    static const struct span seed_span = {0.0, 9007199254740992.0, "0..9007199254740992"};
    static const struct span workers_span = {1.0, DATAPLANE_WORKERS_MAX, "1..64"};
    static const struct span duration_span = {1e-3, 31536000.0, "1ms..8760h"};
    static const char *const ends[] = {"play", "cut", NULL};
    static const struct field fields[] = {
        {.name = "about", .kind = FIELD_OTHER},
        {"seed", FIELD_LONG, OF(seed), &seed_span, NULL, false},
        {"duration", FIELD_TIME, OF(duration_s), &duration_span, NULL, true},
        {"interval", FIELD_TIME, OF(interval_s), &duration_span, NULL, false},
        {"workers", FIELD_COUNT, OF(workers), &workers_span, NULL, false},
        {.name = "end", .kind = FIELD_OTHER},
        {.name = "stages", .kind = FIELD_OTHER, .required = true},
        {.name = "requests", .kind = FIELD_OTHER, .required = true},
        {.name = "gate", .kind = FIELD_OTHER},
        {.name = "arrivals", .kind = FIELD_OTHER, .required = true},
        {.name = "clients", .kind = FIELD_OTHER},
        {.name = "events", .kind = FIELD_OTHER},
        {.name = "scaler", .kind = FIELD_OTHER},
        {.name = "variants", .kind = FIELD_OTHER},
        {.name = "sweep", .kind = FIELD_OTHER},
        {.name = "columns", .kind = FIELD_OTHER},
    };
    struct scenario *scenario = scenario_of(r);
    const config_setting_t *end = member(root, "end"), *interval = member(root, "interval");
    int word;

    READ_FIELDS(r, root, fields, scenario);
    if (member(root, "about"))
        read_about(r, member(root, "about"));
    if (end && read_word(r, end, ends, &word))
        scenario->cut = word;
    if (scenario->duration_s / scenario->interval_s > INTERVALS_MAX)
        refuse(r, interval ? interval : root, "1000000 intervals at most",
               "the interval is too short for the duration");
}

void read_sections(struct reader *r, const config_setting_t *root)
{
    static const struct {
        const char *name;
        void (*read)(struct reader *r, const config_setting_t *setting);
    } sections[] = {
        {"stages", read_stages},     {"requests", read_requests}, {"gate", read_gate},
        {"arrivals", read_arrivals}, {"clients", read_clients},   {"events", read_events},
        {"scaler", read_scaler},     {"variants", read_variants}, {"sweep", read_sweep},
        {"columns", read_columns},
    };

    read_plain(r, root);
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
        const config_setting_t *setting = member(root, sections[i].name);

        if (setting)
            sections[i].read(r, setting);
    }
}
