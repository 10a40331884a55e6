/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/config_text.h"

#define FILE_NAME "front.conf"

static char directory[] = "/tmp/sluice-config-XXXXXX";
static char *report;
static const struct config_host *host;

int config_text_setup(void **state)
{
    (void)state;
    return mkdtemp(directory) && !chdir(directory) ? 0 : -1;
}

int config_text_teardown(void **state)
{
    (void)state;
    free(report);
    report = NULL;
    unlink(FILE_NAME);
    return chdir("/") || rmdir(directory) ? -1 : 0;
}

void config_text_on(const struct config_host *machine)
{
    host = machine;
}

const char *config_text_report(void)
{
    return report;
}

struct settings *config_text_load(const char *text, int *error)
{
    FILE *file = fopen(FILE_NAME, "w"), *stream;
    struct settings *settings;
    size_t size;

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    free(report);
    stream = open_memstream(&report, &size);
    assert_non_null(stream);
    *error = config_load(FILE_NAME, host, stream, &settings);
    fclose(stream);
    return settings;
}

void config_text_refused_as(int wanted, const char *text, const char *expected)
{
    int error;
    struct settings *settings = config_text_load(text, &error);

    assert_string_equal(report, expected);
    assert_int_equal(error, wanted);
    assert_null(settings);
}

void config_text_refused(const char *text, const char *expected)
{
    config_text_refused_as(-EINVAL, text, expected);
}

struct settings *config_text_accepted(const char *text, const char *expected)
{
    int error;
    struct settings *settings = config_text_load(text, &error);

    assert_string_equal(report, expected);
    assert_int_equal(error, 0);
    assert_non_null(settings);
    return settings;
}
