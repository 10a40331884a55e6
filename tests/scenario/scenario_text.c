/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/scenario/scenario_text.h"

#define FILE_NAME "s.conf"
#define FILES_MAX 8

static char directory[] = "/tmp/sluice-scenario-XXXXXX";
static const char *files[FILES_MAX];
static char *report;

int scenario_text_setup(void **state)
{
    (void)state;
    return mkdtemp(directory) && !chdir(directory) ? 0 : -1;
}

int scenario_text_teardown(void **state)
{
    (void)state;
    free(report);
    report = NULL;
    for (int i = 0; i < FILES_MAX && files[i]; i++)
        unlink(files[i]);
    return chdir("/") || rmdir(directory) ? -1 : 0;
}

void scenario_text_bytes(const char *name, const char *bytes, size_t length)
{
    FILE *file = fopen(name, "w");
    int i = 0;

    while (files[i] && files[i] != name)
        i++;
    assert_true(i < FILES_MAX);
    files[i] = name;
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

void scenario_text_file(const char *name, const char *text)
{
    scenario_text_bytes(name, text, strlen(text));
}

static int load(const char *text, const char *const *sets, struct scenario **scenario)
{
    static const char name[] = FILE_NAME;
    unsigned n_sets = 0;
    FILE *stream;
    size_t size;
    int error;

    scenario_text_file(name, text);
    while (sets && sets[n_sets])
        n_sets++;
    free(report);
    stream = open_memstream(&report, &size);
    assert_non_null(stream);
    error = scenario_read(FILE_NAME, sets, n_sets, stream, scenario);
    fclose(stream);
    return error;
}

struct scenario *scenario_text_accepted(const char *text, const char *const *sets,
                                        const char *expected)
{
    struct scenario *scenario;
    int error = load(text, sets, &scenario);

    assert_string_equal(report, expected);
    assert_int_equal(error, 0);
    assert_non_null(scenario);
    return scenario;
}

void scenario_text_refused(const char *text, const char *const *sets, const char *expected)
{
    struct scenario *scenario;
    int error = load(text, sets, &scenario);

    assert_string_equal(report, expected);
    assert_int_equal(error, -EINVAL);
    assert_null(scenario);
}
