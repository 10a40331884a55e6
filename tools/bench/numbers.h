/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers as the options of sluice-bench give them: digits, and k or M for thousands or millions.
 */
#ifndef SLUICE_BENCH_NUMBERS_H
#define SLUICE_BENCH_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

/* 0 to `max`. */
bool number_parse(const char *text, uint64_t max, uint64_t *number);

/* 1 to `max`. */
bool number_parse_count(const char *text, uint64_t max, uint64_t *number);

/* The next item of a list with commas; NULL after the last one. */
const char *list_next(const char *item);

/* A list of 1 to `room` counts, each 1 to `max`. */
bool number_parse_counts(const char *list, uint32_t max, uint32_t room, uint32_t *counts,
                         uint32_t *n);

#endif
