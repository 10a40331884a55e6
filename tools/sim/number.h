/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers as text that reads back as the same number, and parts of a command line. */
#ifndef SLUICE_SIM_NUMBER_H
#define SLUICE_SIM_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NUMBER_BYTES 40

/* The shortest text that reads back exactly, with ".0" if it is whole and an exponent below 1e-4
 * and from 1e16 on, as Python prints a float. NAN is "". Returns `text`. */
const char *number_exact(double value, char text[NUMBER_BYTES]);
/* A count as a count, anything else exactly. */
const char *number_metric(double value, bool counts, char text[NUMBER_BYTES]);

/* A decimal number of at most `max`, and nothing else. */
bool number_parse(const char *text, uint64_t max, uint64_t *value);

#endif
