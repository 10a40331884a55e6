/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses and prefixes in text. IPv4 as a.b.c.d only: its IPv6-mapped spelling (::ffff:a.b.c.d)
 * is refused, so that one network has one spelling.
 */
#ifndef SLUICE_CONFIG_ADDRESS_TEXT_H
#define SLUICE_CONFIG_ADDRESS_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/policy/address.h"

#define ADDRESS_TEXT_MAX 64 /* bytes, with a prefix length */

bool address_parse(const char *text, struct address *address);

/* "10.1.0.0/16", "2001:db8::/32"; a bare address is a host. `bits` in the mapped form. */
bool prefix_parse(const char *text, struct address *network, uint8_t *bits);

const char *address_format(const struct address *address, char text[ADDRESS_TEXT_MAX]);
const char *prefix_format(const struct address *network, uint8_t bits, char text[ADDRESS_TEXT_MAX]);

#endif
