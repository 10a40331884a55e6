/* SPDX-License-Identifier: BSD-3-Clause */
/* How clients behave. */
#include "tools/scenario/fields.h"
#include "tools/scenario/reading.h"

static const struct span tries_span = {1.0, 1000.0, "1..1000"};

#define BACKOFF_MAX_S 60.0 /* unless said */

void read_clients(struct reader *r, const config_setting_t *setting)
{
#define OF(member_) offsetof(struct scenario_clients, member_)
    static const char *const jitters[] = {
        [JITTER_NONE] = "none", [JITTER_FULL] = "full", [JITTER_HALF] = "half", NULL};
    static const struct field fields[] = {
        {"tries", FIELD_COUNT, OF(tries), &tries_span, NULL, false},
        {"timeout", FIELD_TIME, OF(timeout_s), &some_time, NULL, false},
        {"give_up", FIELD_TIME, OF(give_up_s), &some_time, NULL, false},
        {"backoff", FIELD_TIME, OF(backoff_s), &any_time, NULL, false},
        {"backoff_max", FIELD_TIME, OF(backoff_max_s), &any_time, NULL, false},
        {"jitter", FIELD_WORD, OF(jitter), NULL, jitters, false},
        {"retry_after", FIELD_FLAG, OF(retry_after), NULL, NULL, false},
        {"rtt", FIELD_TIME, OF(rtt_s), &any_time, NULL, false},
    };
#undef OF
    struct scenario_clients *clients = &scenario_of(r)->clients;

    READ_FIELDS(r, setting, fields, clients);
    if (!member(setting, "backoff_max"))
        clients->backoff_max_s =
            clients->backoff_s > BACKOFF_MAX_S ? clients->backoff_s : BACKOFF_MAX_S;
    if (clients->backoff_max_s < clients->backoff_s)
        refuse(r, member(setting, "backoff_max"), "", "is less than the first backoff");
}
