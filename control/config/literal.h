/* SPDX-License-Identifier: BSD-3-Clause */
/* What an unquoted literal of a configuration is. */
#ifndef SLUICE_CONFIG_LITERAL_H
#define SLUICE_CONFIG_LITERAL_H

#include <stddef.h>

#include "control/config/scan.h"

/* Sets kind, integer and flaw. */
void literal_classify(const char *text, size_t length, struct scan_node *node);

#endif
