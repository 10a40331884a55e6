/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers with units, as operators write them, read exactly.
 *
 *   rate      20/s  /min  /h  /day                        events per period
 *   bit rate  200Mbit/s, 2.5Gbit/s; bit kbit Mbit Gbit    multiples of 1000, per second only
 *   size      256KiB; B KiB MiB GiB                       multiples of 1024
 *   duration  50ms; us ms s min h
 *
 * Digits, at most one decimal point, the unit, no blanks, no sign, no exponent. Decimals are fine
 * as long as the result is a whole number (of events, bits, bytes, ns). `0` needs no unit in a
 * rate, and `unlimited` is a word of rates. Nothing is rounded and nothing wraps. Pure functions.
 */
#ifndef SLUICE_CONFIG_UNITS_H
#define SLUICE_CONFIG_UNITS_H

#include <stdint.h>

#include "dataplane/policy/rate.h"

enum units_result {
    UNITS_OK,
    UNITS_SYNTAX,  /* not a number with one of the units */
    UNITS_BARE,    /* a number without a unit */
    UNITS_INEXACT, /* no whole number */
    UNITS_RANGE,   /* above what a bucket can hold, or above 64 bits */
};

/* Both set amount, period_s and unlimited, on UNITS_OK only, and leave `burst` alone. A bit rate is
 * a multiple of 8 bit/s, for buckets count whole bytes. */
enum units_result units_rate(const char *text, struct quota_rate *rate);
enum units_result units_bit_rate(const char *text, struct quota_rate *rate);

enum units_result units_bytes(const char *text, uint64_t *bytes);
enum units_result units_duration(const char *text, uint64_t *duration_ns);

/* A decimal without a unit, times `scale`: "0.98" and 1000000 are 980000. */
enum units_result units_decimal(const char *text, uint32_t scale, uint64_t *value);

/* Digits only. */
enum units_result units_integer(const char *text, uint64_t *value);

#endif
