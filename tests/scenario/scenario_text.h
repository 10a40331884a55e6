/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads scenario text as the file s.conf and keeps what was said about it. */
#ifndef SLUICE_TESTS_SCENARIO_TEXT_H
#define SLUICE_TESTS_SCENARIO_TEXT_H

#include "tools/scenario/scenario.h"

/* cmocka group fixtures: a working directory of its own. */
int scenario_text_setup(void **state);
int scenario_text_teardown(void **state);

/* A file beside the scenario, until the end. */
void scenario_text_file(const char *name, const char *text);
void scenario_text_bytes(const char *name, const char *bytes, size_t length);

/* Asserts that the scenario is read with exactly these lines said of it; the caller frees it.
 * `sets` ends with NULL. */
struct scenario *scenario_text_accepted(const char *text, const char *const *sets,
                                        const char *report);
void scenario_text_refused(const char *text, const char *const *sets, const char *report);

/* What every scenario needs, to stand on one line. */
#define REQUESTS "requests = ({ steps = ({ at = \"web\"; time = \"20ms\"; }); });"
#define STAGES   "stages = ({ name = \"web\"; servers = 4; });"
#define ARRIVALS "arrivals = ({ rate = \"130/s\"; });"
#define GATE_OF(setting)                                                                           \
    "{ tenants = ({ name = \"default\"; }, { name = \"acme\"; });"                                 \
    " services = ({ name = \"web\"; addresses = [\"10.9.0.10\"]; protocol = \"tcp\";"              \
    " ports = [\"80\"]; " setting " }); }"

/* Whole scenarios, with these on their second line. */
#define SCENARIO(settings) "duration = \"10s\";" ARRIVALS REQUESTS STAGES "\n" settings
#define WITH_ARRIVALS(settings)                                                                    \
    "duration = \"10s\";" REQUESTS STAGES "\narrivals = ({ " settings " });"
#define WITH_REQUESTS(settings)                                                                    \
    "duration = \"10s\";" ARRIVALS STAGES "\nrequests = ({ " settings " });"
#define WITH_TIME(time) WITH_REQUESTS("steps = ({ at = \"web\"; time = " time "; });")
#define WITH_STAGES(settings)                                                                      \
    "duration = \"10s\";" ARRIVALS REQUESTS "\nstages = ({ name = \"web\"; servers = 4; " settings \
    " });"

#endif
