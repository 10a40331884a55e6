/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/cli/show.h"

/* Why a program is off, a line each: too long for a table. */
static void show_why(const json_t *list, FILE *out)
{
    const json_t *item;
    size_t i;

    json_array_foreach (list, i, item) {
        const char *why = json_string_value(json_object_get(item, "why"));
        const char *device = json_string_value(json_object_get(item, "device"));

        if (why)
            fprintf(out, "\n%s: %s\n", device ? device : "-", why);
    }
}

static void show_xdp_status(const json_t *list, FILE *out)
{
    static const struct column columns[] = {
        {"<gate", "gate"},
        {"<side", "side"},
        {"<interface", "interface"},
        {"<wanted", "wanted.xdp"},
        {"<state", "state"},
        {"<mode", "mode"},
        {"program", "program"},
        {"heartbeat age, ms", "heartbeat_age_ms"},
        {"<standby", "standby"},
        {"<after", "standby_after"},
        {"<after exit", "after_exit"},
        {"<pins", "pins"},
    };

    SHOW_ROWS(out, NULL, list, columns);
    show_why(list, out);
}

static void show_xdp_counters(const json_t *list, FILE *out)
{
    static const struct column columns[] = {
        {"<gate", "gate"},           {"<side", "side"},
        {"<interface", "interface"}, {"received", "received"},
        {"guarded", "guarded"},      {"socket", "socket"},
        {"passed", "passed"},        {"redirected", "redirected"},
        {"dropped", "dropped"},
    };

    SHOW_ROWS(out, NULL, list, columns);
    show_members_down(out, "dropped, by reason", list, "interface", "dropped");
}

void show_xdp(const json_t *answer, FILE *out)
{
    const json_t *counters = json_object_get(answer, "counters");

    if (counters)
        show_xdp_counters(counters, out);
    else
        show_xdp_status(json_object_get(answer, "xdp"), out);
}
