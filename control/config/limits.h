/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a tenant's limits may be, and the words for a refusal: one place for the file and for
 * `sluicectl set`. Each returns false and fills `no` when the value is not allowed; the target is
 * then unchanged. Pure functions.
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

bool limits_window(int64_t value, uint32_t *slots, struct config_refusal *no);
bool limits_class(const char *text, enum policy_class *class, struct config_refusal *no);

/* Does the burst fit the period? It may not after the rate has changed. */
bool limits_fit(const struct quota_rate *rate, struct config_refusal *no);

uint64_t limits_default_burst(const struct quota_rate *rate, uint64_t least);
uint64_t limits_default_burst_bytes(const struct quota_rate *rate);

/* `text` in quotes, cut to what a message can carry, without control characters. */
#define LIMITS_QUOTED_MAX 80
const char *limits_quote(const char *text, char quoted[LIMITS_QUOTED_MAX]);

/* The allowed windows in words. */
void limits_window_range(char *range, size_t size);

#endif
