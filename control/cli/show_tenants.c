/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/cli/show.h"

void show_tenants(const json_t *answer, FILE *out)
{
    static const struct column limits[] = {
        {"<name", "name"},
        {"<class", "class"},
        {"attempts", "quota.attempts.rate"},
        {"burst", "quota.attempts.burst"},
        {"tokens", "quota.attempts.tokens"},
        {"packets", "quota.packets.rate"},
        {"bits", "quota.bits.rate"},
        {"erlangs", "quota.erlangs.rate"},
        {"left, s", "quota.erlangs.level_s"},
        {"retries", "retries.left"},
        {"window", "window.limit"},
        {"used", "window.used"},
        {"peak", "window.peak"},
        {"debt", "window.debt"},
    };
    static const struct column work[] = {
        {"<name", "name"},        {"offered", "offered"},
        {"attempts", "attempts"}, {"in packets", "attempt_packets"},
        {"waited", "waited"},     {"cancelled", "cancelled"},
        {"refused", "refused"},   {"admitted", "admitted"},
        {"adopted", "adopted"},   {"useful", "useful"},
        {"late", "late"},         {"unfinished", "unfinished"},
    };
    static const struct column counts[] = {
        {"<name", "name"},
        {"over packets", "dropped.packets"},
        {"over bits", "dropped.bits"},
        {"packets in", "packets.in"},
        {"packets out", "packets.out"},
        {"bytes in", "bytes.in"},
        {"bytes out", "bytes.out"},
    };
    const json_t *list = json_object_get(answer, "tenants");

    SHOW_ROWS(out, NULL, list, limits);
    SHOW_ROWS(out, "work", list, work);
    SHOW_ROWS(out, "traffic", list, counts);
    show_members(out, "refused, by reason", list, "name", "refused");
}
