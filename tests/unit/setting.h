/* SPDX-License-Identifier: BSD-3-Clause */
/* What a `set` was answered: taken without a word, or refused with words. */
#ifndef SLUICE_TESTS_SETTING_H
#define SLUICE_TESTS_SETTING_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "control/config/config.h"

static inline void assert_taken(int err, const struct config_refusal *refusal)
{
    assert_int_equal(err, 0);
    assert_string_equal(refusal->why, "");
    assert_string_equal(refusal->range, "");
    assert_null(refusal->key);
}

static inline void assert_refused(int err, const struct config_refusal *refusal, const char *why,
                                  const char *range)
{
    assert_int_equal(err, -EINVAL);
    assert_string_equal(refusal->why, why);
    assert_string_equal(refusal->range, range);
}

#endif
