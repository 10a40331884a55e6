/* SPDX-License-Identifier: BSD-3-Clause */
/* Integers of a configuration: exact to 64 bits, or an error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "tests/unit/config_text.h"

static void flows_max(const char *text, uint32_t value)
{
    struct settings *s = config_text_accepted(text, "");

    assert_int_equal(s->dataplane.flows_max, value);
    config_free(s);
}

static void case_H01_integers_are_exact_or_an_error(void **state)
{
    (void)state;
    flows_max(FLOWS("max = 2048;"), 2048);
    flows_max(FLOWS("max = 2048L;"), 2048);
    flows_max(FLOWS("max = 2048LL;"), 2048);
    flows_max(FLOWS("max = 0x1000;"), 4096);
    flows_max(FLOWS("max = 0XfffL;"), 4095);
    flows_max(FLOWS("max = +2048;"), 2048);
    config_text_refused(FLOWS("max = 10737418240;"), "front.conf:2: flows.max: 10737418240 is out "
                                                     "of range (1024..16777216)\n");
    config_text_refused(FLOWS("max = 10737418240L;"), "front.conf:2: flows.max: 10737418240L is "
                                                      "out of range (1024..16777216)\n");
    /* 2^32 + 4096 and 2^64 + 4096: both are 4096 once wrapped. */
    config_text_refused(FLOWS("max = 4294971392;"), "front.conf:2: flows.max: 4294971392 is out of "
                                                    "range (1024..16777216)\n");
    config_text_refused(FLOWS("max = 0x100001000;"), "front.conf:2: flows.max: 0x100001000 is out "
                                                     "of range (1024..16777216)\n");
    config_text_refused(FLOWS("max = 18446744073709555712;"),
                        "front.conf:2: flows.max: 18446744073709555712 does not fit into 64 bits "
                        "(1024..16777216)\n");
    config_text_refused(FLOWS("max = 0xFFFFFFFF;"), "front.conf:2: flows.max: 0xFFFFFFFF is out of "
                                                    "range (1024..16777216)\n");
    config_text_refused(FLOWS("max = 0xFFFFFFFFL;"), "front.conf:2: flows.max: 0xFFFFFFFFL is out "
                                                     "of range (1024..16777216)\n");
    config_text_refused(FLOWS("max = -1;"),
                        "front.conf:2: flows.max: -1 is out of range (1024..16777216)\n");
    config_text_refused(FLOWS("max = 9223372036854775808;"),
                        "front.conf:2: flows.max: 9223372036854775808 does not fit into 64 bits "
                        "(1024..16777216)\n");
    config_text_refused(FLOWS("max = 9223372036854775807;"),
                        "front.conf:2: flows.max: 9223372036854775807 is out of range "
                        "(1024..16777216)\n");
}

/* The widest integer key takes values above 32 bits with and without L. */
static void case_H01_64_bit_values_are_honoured(void **state)
{
    static const char *const literals[] = {"8589934593", "8589934593L", "0x200000001",
                                           "0x200000001L"};
    char text[512];

    (void)state;
    for (size_t i = 0; i < sizeof(literals) / sizeof(literals[0]); i++) {
        struct settings *s;

        snprintf(text, sizeof(text),
                 CONFIG_GATES "tenants = ({ name = \"default\"; quota = { attempts = \"1/s\"; "
                              "attempts_burst = %s; }; });",
                 literals[i]);
        s = config_text_accepted(text, "");
        assert_true(s->policy.tenants[0].attempts.burst == 8589934593);
        config_free(s);
    }
}

static void case_H01_what_is_no_integer(void **state)
{
    (void)state;
    config_text_refused(FLOWS("max = 1e9;"),
                        "front.conf:2: flows.max: 1e9 is a float, no integer (1024..16777216)\n");
    config_text_refused(FLOWS("max = 2048.0;"), "front.conf:2: flows.max: 2048.0 is a float, no "
                                                "integer (1024..16777216)\n");
    config_text_refused(FLOWS("max = 1_000_000;"),
                        "front.conf:2: flows.max: 1_000_000 is no integer (1024..16777216)\n");
    config_text_refused(FLOWS("max = \"100\";"), "front.conf:2: flows.max: \"100\" is a string, no "
                                                 "integer (1024..16777216)\n");
    config_text_refused(FLOWS("max = true;"), "front.conf:2: flows.max: true is a boolean, no "
                                              "integer (1024..16777216)\n");
    config_text_refused(FLOWS("max = 0b1000000000000;"), "front.conf:2: flows.max: 0b1000000000000 "
                                                         "is no integer (1024..16777216)\n");
    config_text_refused(FLOWS("max = [4096];"),
                        "front.conf:2: flows.max: an array is no integer (1024..16777216)\n");
    config_text_refused(FLOWS("max = 010000;"),
                        "front.conf:2: flows.max: 010000 is ambiguous: some read a leading zero as "
                        "octal, others as decimal (1024..16777216)\n");
    config_text_refused(FLOWS("max = ;"),
                        "front.conf:2: flows.max: syntax error: a value expected, not ';'\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(case_H01_integers_are_exact_or_an_error),
        cmocka_unit_test(case_H01_64_bit_values_are_honoured),
        cmocka_unit_test(case_H01_what_is_no_integer),
    };

    return cmocka_run_group_tests(tests, config_text_setup, config_text_teardown);
}
