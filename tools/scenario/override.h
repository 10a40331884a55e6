/* SPDX-License-Identifier: BSD-3-Clause */
/* Private to tools/scenario: settings by their keys, and other values in their place. */
#ifndef SLUICE_SCENARIO_OVERRIDE_H
#define SLUICE_SCENARIO_OVERRIDE_H

#include "control/config/document.h"

/*
 * The value that `key` names: settings by name, elements by place or, where they are groups with a
 * `name`, by that: "arrivals.0.rate", "stages.web.servers". NULL: there is none.
 */
const struct scan_node *key_find(const struct scan *scan, const char *key);

/* As far as there is a way to it: the last value on it, nodes[0] being the whole, and in *rest what
 * is left of the key. */
const struct scan_node *key_follow(const struct scan *scan, const char *key, const char **rest);

/* The same as key_find(), but it is a mistake that there is none: reported with what there is
 * instead, as one of `at` or, NULL, of what the key leads to. */
const struct scan_node *key_require(const struct scan *scan, const char *key,
                                    const struct scan_node *at, struct report *report);

/* The text of a number or string, without its quotes; false: there is none, or no room. */
bool key_text(const struct scan *scan, const char *key, char *text, size_t size);

/*
 * Puts the value of `set`, "key=value", into the text of a document that is not parsed yet, in
 * place of the one that stands there. Numbers, true and false are put there as they are given, and
 * so is what begins with a bracket or a quote; anything else in quotes. Lines keep their numbers.
 * Mistakes are reported; a text that cannot be scanned stays as it is, for document_parse() to
 * complain about. 0 or -ENOMEM.
 */
int override_apply(struct document *document, const char *set);

#endif
