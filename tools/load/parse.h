/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers as people write them. All readers take the whole text and return 0 or -EINVAL. */
#ifndef SLUICE_LOAD_PARSE_H
#define SLUICE_LOAD_PARSE_H

#include <stdint.h>

#define PARSE_DURATION_MAX_NS (3600 * UINT64_C(1000000000))

/* 0 to `max`. */
int parse_whole(const char *text, uint64_t max, uint64_t *out);
/* "50ms": a whole number of us, ms, s, min or h, above 0, an hour at most. */
int parse_duration(const char *text, uint64_t *ns);
/* "850/s": 1 to SCHEDULE_RATE_MAX in one of these units. */
int parse_frequency(const char *text, uint64_t *count, uint64_t *period_ns);
/* "50ms..1s": two of them, the first not above the second. */
int parse_range(const char *text, uint64_t *from_ns, uint64_t *to_ns);
/* "2%": a whole percentage, 1 to 50. */
int parse_percent(const char *text, uint32_t *percent);
/* "s", "min" and the like; `ns` is that of a rate that was read. */
const char *parse_unit_name(uint64_t ns);

#endif
