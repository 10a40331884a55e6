/* SPDX-License-Identifier: BSD-3-Clause */
/* Doubles: cmocka compares floats only. Include it behind cmocka.h. */
#ifndef SLUICE_TESTS_REAL_H
#define SLUICE_TESTS_REAL_H

#include <math.h>

#define assert_near(a, b, tolerance)                                                               \
    do {                                                                                           \
        double near_a = (a), near_b = (b);                                                         \
        if (near_a != near_b && !(fabs(near_a - near_b) <= (tolerance)))                           \
            fail_msg("%s is %.17g, not %.17g", #a, near_a, near_b);                                \
    } while (0)
/* To the last bit. */
#define assert_same(a, b) assert_near(a, b, 0.0)

#endif
