/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/cli/show.h"

void show_services(const json_t *answer, FILE *out)
{
    static const struct column limits[] = {
        {"<name", "name"},       {"<addresses", "addresses"}, {"<protocol", "protocol"},
        {"<ports", "ports"},     {"<tenant", "tenant"},       {"<unit", "unit"},
        {"<refuse", "refuse"},   {"at most", "refuse_rate"},  {"window", "window.limit"},
        {"used", "window.used"}, {"peak", "window.peak"},     {"debt", "window.debt"},
    };
    static const struct column counts[] = {
        {"<name", "name"},
        {"attempts", "attempts"},
        {"in packets", "attempt_packets"},
        {"admitted", "admitted"},
        {"adopted", "adopted"},
        {"refused", "refused"},
        {"answered", "answered"},
        {"unanswered", "unanswered"},
        {"finished", "outcomes.finished"},
        {"reset", "outcomes.reset"},
        {"aborted", "outcomes.aborted"},
        {"aged", "outcomes.aged"},
    };
    const json_t *list = json_object_get(answer, "services");

    SHOW_ROWS(out, NULL, list, limits);
    SHOW_ROWS(out, "attempts and how they ended", list, counts);
    show_members(out, "refused, by reason", list, "name", "refused");
}
