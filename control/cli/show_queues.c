/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/cli/show.h"

void show_queues(const json_t *answer, FILE *out)
{
    static const struct column columns[] = {
        {"<place", "place"},         {"<of", "of"},
        {"bound", "bound"},          {"fill", "fill"},
        {"oldest, ms", "oldest_ms"}, {"<fill from", "depth_source"},
    };

    SHOW_ROWS(out, NULL, json_object_get(answer, "queues"), columns);
}
