/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The verbs one by one, and the pieces of JSON they share. Private to this folder.
 *
 * Every function returns a new reference, or NULL when there is no memory; a NULL handed in as a
 * part makes the whole NULL, so that only the last caller needs to look.
 */
#ifndef SLUICE_SERVE_VERB_H
#define SLUICE_SERVE_VERB_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "control/plane/plane.h"
#include "control/serve/socket.h"

#define ANSWER_VERSION 1

/* What was asked: words[0] is the verb. */
struct request {
    struct plane *plane;
    char **words;
    unsigned n_words;
};

/* A list that may be long: its name in the answer and its elements, which are made one by one. A
 * piece of so many has some 20 kB and takes about a millisecond of the control thread's time. */
struct listing {
    const char *name;
    uint32_t piece;
    uint32_t (*count)(const struct plane *plane);
    json_t *(*item)(const struct plane *plane, uint32_t index);
};

extern const struct listing listing_tenants, listing_services, listing_queues, listing_denied;

/* {"version":1, NAME: [items]} in pieces, or an answer in one; both NULL when there is no memory.
 */
struct control_answer *answer_listing(const struct plane *plane, const struct listing *listing);
struct control_answer *answer_whole(json_t *json);

json_t *verb_status(const struct request *request);
json_t *verb_tenant(const struct request *request);
json_t *verb_service(const struct request *request);
json_t *verb_workers(const struct request *request);
json_t *verb_ports(const struct request *request);
json_t *verb_set(const struct request *request);
json_t *verb_xdp_status(const struct request *request);
json_t *verb_xdp_counters(const struct request *request);

/* What the XDP programs have counted, the terms of their invariant 1; and how they are, in brief.
 */
json_t *json_xdp_counters(const struct plane *plane);
json_t *json_xdp_brief(const struct plane *plane);
json_t *verb_deny_add(const struct request *request);
json_t *verb_deny_del(const struct request *request);

/* `workers --steps DURATION`: starts sampling and tells for how long, "sampling_ms". */
json_t *sample_steps(const struct request *request);

/* Adds to a worker what its last sampling has brought; nothing when there was none. */
json_t *json_with_steps(json_t *object, const struct dataplane *dp, uint32_t worker);

/* Adds to a service what room it has and who has it: connections, capacity, deadline, wait queue,
 * reserves, shares, shedding, breaker, probes. */
json_t *json_with_room(json_t *object, const struct plane *plane,
                       const struct policy_service *service, const struct service_view *view);

/* And what becomes of its work: latency, ledger, promise, demand, objective. */
json_t *json_with_record(json_t *object, const struct plane *plane,
                         const struct policy_service *service, const struct service_view *view);

/* `key` and `range` may be NULL. */
json_t *json_error(const char *code, const char *message, const char *key, const char *range);
json_t *json_unknown(const char *kind, const char *name);

/* {"version":1, NAME: list}. */
json_t *json_listing(const char *name, json_t *list);

/* Adds to an object or a list that may be NULL already; returns it, or NULL if that fails. */
json_t *json_with(json_t *object, const char *key, json_t *value);
json_t *json_and(json_t *list, json_t *value);

/* Moves the members of `more` into `object`; takes both, either may be NULL already. */
json_t *json_joined(json_t *object, json_t *more);

/* Counters beyond 2^63 do not occur. */
json_t *json_count(uint64_t count);

/* Rounded to `places` decimals (0 .. 6). */
json_t *json_rounded(double value, unsigned places);

/* Milliseconds, to three decimals; null for 0, which stands for unknown or none. */
json_t *json_ms(uint64_t ns);

/* {"bulk":0.0, "normal":0.0, "critical":0.0}, rounded. */
json_t *json_classes(const double values[CLASS_MAX], unsigned places);

/* {"rate":0, ...}: every reason in [REASON_NONE + 1, max), zeros included. */
json_t *json_reasons(const uint64_t *counts, unsigned max);

/* A limit on slots: a number, or "unlimited". */
json_t *json_limit(uint32_t limit);
json_t *json_window(const struct window *window, uint32_t limit);

/* As the configuration writes it: "20/s", "200Mbit/s", "unlimited", "0". */
json_t *json_rate(const struct quota_rate *rate);
json_t *json_bit_rate(const struct quota_rate *rate);

/* "100ms", "1s": in the largest of s, ms and us that it is a whole number of. */
json_t *json_duration(uint64_t duration_ns);

/* What is left of a tenant's quotas. */
struct quota_left {
    uint64_t tokens;      /* attempts */
    int64_t occupancy_ms; /* slot-ms; below zero: owed */
};

/* {"attempts":{rate, burst, tokens}, "packets":{rate, burst}, "bits":{rate, burst},
 * "erlangs":{rate, level_s}}; an unlimited rate stands alone. `left` may be NULL: what is stated,
 * not what is left. */
json_t *json_quota(const struct policy_tenant *tenant, const struct quota_left *left);

#endif
