/* SPDX-License-Identifier: BSD-3-Clause */
/* A worker that stops lets nobody wait who does not know it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/overload.h"

/* One by one: who was displaced meanwhile is told so, and the others that it is over. */
static void everybody_who_waits_is_told(void **state)
{
    struct gate *g = *state;
    struct released r;
    unsigned told[REASON_ATTEMPT_MAX] = {0};

    g->services[WEB].window = 1;
    g->services[WEB].wait = (struct policy_wait){.places = 2, .age_ns = CORE_S};
    gate_adopt(g);
    gate_fill(g, BULK, 1);
    assert_int_equal(gate_ask(g, BULK).verdict, VERDICT_WAIT);
    assert_int_equal(gate_ask(g, BULK).verdict, VERDICT_WAIT);
    assert_int_equal(gate_ask(g, CRITICAL).verdict, VERDICT_WAIT);
    while (admission_dismiss(g->crew.workers[0], g->now_ns, &r, 1) == 1) {
        assert_int_equal(r.decision.verdict, VERDICT_REFUSE);
        told[r.decision.reason]++;
    }
    assert_int_equal(told[REASON_CAPACITY], 1);
    assert_int_equal(told[REASON_GATEWAY], 2);
    assert_int_equal(gate_waiting(g, WEB), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVERLOAD_TEST(everybody_who_waits_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
