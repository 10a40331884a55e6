/* SPDX-License-Identifier: BSD-3-Clause */
/* Whom the gate of a scenario takes an address for, by its prefixes. */
#ifndef SLUICE_SCENARIO_TENANTS_H
#define SLUICE_SCENARIO_TENANTS_H

#include "tools/scenario/scenario.h"

/* Index of the tenant of the gate that has this name, or SCENARIO_NONE (there may be no gate). */
uint32_t tenant_find(const struct scenario *scenario, const char *name);
bool tenant_has_prefixes(const struct scenario *scenario, uint32_t tenant);
/* Who has the longest prefix around the address (16 bytes, IPv4 as ::ffff:a.b.c.d), or
 * SCENARIO_NONE. */
uint32_t tenant_of_address(const struct scenario *scenario, const uint8_t address[16]);

#endif
