/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints results: a table for people, CSV or JSON for programs, the same names in all of them. */
#ifndef SLUICE_LOAD_REPORT_H
#define SLUICE_LOAD_REPORT_H

#include "tools/load/options.h"
#include "tools/load/results.h"

/* To stdout. Finished results only. */
void report_show(const struct load_options *options, const struct results *results);
/* Says on stderr where the generator fell short of its schedule. */
void report_warn(const struct results *results, int not_sent_errno);

#endif
