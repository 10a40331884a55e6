/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads configuration text as the file front.conf and keeps what the loader said about it. */
#ifndef SLUICE_TESTS_CONFIG_TEXT_H
#define SLUICE_TESTS_CONFIG_TEXT_H

#include "control/config/config.h"

/* Settings or NULL; then *error is set. The caller frees the settings. */
struct settings *config_text_load(const char *text, int *error);

/* The machine that texts are checked against from now on; NULL, as at first: none. */
void config_text_on(const struct config_host *host);

/* What the last load reported, valid until the next one. */
const char *config_text_report(void);

/* Asserts that `text` is refused with exactly these lines, by -EINVAL or another error. */
void config_text_refused_as(int error, const char *text, const char *report);
void config_text_refused(const char *text, const char *report);

/* Asserts that `text` is accepted with exactly these lines (warnings; "" for none). */
struct settings *config_text_accepted(const char *text, const char *report);

/* cmocka group fixtures: an empty working directory of its own. */
int config_text_setup(void **state);
int config_text_teardown(void **state);

/* What every configuration needs, on the first line. */
#define CONFIG_GATES   "gates = ({ name = \"g\"; outside = [\"a\"]; inside = [\"b\"]; });"
#define CONFIG_TENANTS "tenants = ({ name = \"default\"; });"

/* A whole configuration: `setting` stands in the group flows, on its second line. */
#define FLOWS(setting) CONFIG_GATES CONFIG_TENANTS "\nflows = { " setting " };"

#endif
