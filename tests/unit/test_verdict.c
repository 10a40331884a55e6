/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dataplane/admission/verdict.h"

/* Quota and capacity are never merged: 429 is the tenant's doing, 503 is ours. */
static void kinds_and_statuses_agree(void **state)
{
    static const int status_of[] = {
        [REASON_KIND_NONE] = 0,      [REASON_KIND_QUOTA] = 429,  [REASON_KIND_CAPACITY] = 503,
        [REASON_KIND_GATEWAY] = 503, [REASON_KIND_POLICY] = 403, [REASON_KIND_DROP] = 0,
    };

    (void)state;
    for (int r = REASON_NONE; r < REASON_MAX; r++) {
        assert_int_equal(reason_http_status((enum reason)r),
                         status_of[reason_kind((enum reason)r)]);
        /* Those that can refuse an attempt come first. */
        assert_int_equal(r > REASON_NONE && r < REASON_ATTEMPT_MAX,
                         reason_http_status((enum reason)r) != 0);
    }
}

static void names_are_those_of_the_interface(void **state)
{
    static const char *const names[] = {"none",     "rate",    "packets",  "bits",        "share",
                                        "erlangs",  "retries", "capacity", "connections", "shed",
                                        "deadline", "breaker", "gateway",  "table",       "denied"};

    (void)state;
    assert_int_equal(sizeof(names) / sizeof(names[0]), REASON_ATTEMPT_MAX);
    for (int r = 0; r < REASON_ATTEMPT_MAX; r++)
        assert_string_equal(reason_name((enum reason)r), names[r]);
    assert_string_equal(reason_name(REASON_MALFORMED_TCP_FLAGS), "malformed:tcp_flags");
    for (int a = 0; a < REASON_MAX; a++)
        for (int b = a + 1; b < REASON_MAX; b++)
            assert_string_not_equal(reason_name((enum reason)a), reason_name((enum reason)b));
}

static void out_of_range_is_none(void **state)
{
    (void)state;
    assert_string_equal(reason_name(REASON_MAX), "none");
    assert_string_equal(reason_name((enum reason) - 1), "none");
    assert_int_equal(reason_http_status(REASON_MAX), 0);
    assert_int_equal(reason_kind(REASON_MAX), REASON_KIND_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_and_statuses_agree),
        cmocka_unit_test(names_are_those_of_the_interface),
        cmocka_unit_test(out_of_range_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
