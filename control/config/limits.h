/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the limits of tenants and services may be, and the words for a refusal: one place for the
 * file and for `sluicectl set`. Each returns false and fills `no` when the value is not allowed;
 * the target is then unchanged. Pure functions.
 *
 * Bursts that are not given are a tenth of a second's worth, at least 1 attempt, 32 packets (one
 * receive burst) or 64 KiB (the largest IP packet).
 */
#ifndef SLUICE_CONFIG_LIMITS_H
#define SLUICE_CONFIG_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "control/config/config.h"

#define LIMITS_ATTEMPTS_BURST_MIN 1u
#define LIMITS_PACKETS_BURST_MIN  32u
#define LIMITS_BITS_BURST_MIN     65536u /* bytes */

/* A bit bucket smaller than this can never pass a full Ethernet packet (quotas count IP bytes). */
#define LIMITS_FULL_PACKET_BYTES 1500u

/* `text` is a rate; sets all of `rate` but its burst. */
bool limits_rate(const char *text, struct quota_rate *rate, struct config_refusal *no);
bool limits_bit_rate(const char *text, struct quota_rate *rate, struct config_refusal *no);

/* The highest burst depends on the period of the rate. A negative `value` is out of range. */
bool limits_burst(int64_t value, struct quota_rate *rate, struct config_refusal *no);
bool limits_burst_bytes(const char *text, struct quota_rate *rate, struct config_refusal *no);

/* Of slots or connections, as `of` says: 0 .. POLICY_WINDOW_MAX. */
bool limits_count(int64_t value, const char *of, uint32_t *count, struct config_refusal *no);
void limits_count_range(const char *of, char *range, size_t size);

bool limits_class(const char *text, enum policy_class *class, struct config_refusal *no);

/* Does the burst fit the period? It may not after the rate has changed. */
bool limits_fit(const struct quota_rate *rate, struct config_refusal *no);

uint64_t limits_default_burst(const struct quota_rate *rate, uint64_t least);
uint64_t limits_default_burst_bytes(const struct quota_rate *rate);

/* `text` in quotes, cut to what a message can carry, without control characters. */
#define LIMITS_QUOTED_MAX 80
const char *limits_quote(const char *text, char quoted[LIMITS_QUOTED_MAX]);

bool limits_places(int64_t value, uint32_t *places, struct config_refusal *no);

/* Whole multiples of `step_ns` from min_ns to max_ns; `range` says so in words. */
struct duration_limits {
    uint64_t min_ns, max_ns, step_ns;
    const char *range;
};
extern const struct duration_limits limits_age;
bool limits_duration(const char *text, const struct duration_limits *limits, uint64_t *duration_ns,
                     struct config_refusal *no);
/* A duration, or "none": 0. */
bool limits_deadline(const char *text, uint64_t *deadline_ns, struct config_refusal *no);

/* Decimals times `scale`, up to `max` after that; `range` says so in words. */
struct decimal_limits {
    uint32_t scale, max;
    const char *range;
};
extern const struct decimal_limits limits_ceiling, limits_objective, limits_erlangs;
bool limits_decimal(const char *text, const struct decimal_limits *limits, uint32_t *value,
                    struct config_refusal *no);

/* A rate above 0, or "unlimited": not known. */
bool limits_capacity(const char *text, struct quota_rate *capacity, struct config_refusal *no);

/* Of all services together. */
uint64_t limits_waiting_places(const struct policy_spec *spec);

/* The connections of a service that states none, for its window. */
uint32_t limits_default_connections(uint32_t window);

/* Do the parts of a service fit each other? `no->key` names the part that does not. */
bool limits_fit_reserve(const struct policy_service *service, struct config_refusal *no);
bool limits_fit_shares(const struct policy_service *service, struct config_refusal *no);

#endif
