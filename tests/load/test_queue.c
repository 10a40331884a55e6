/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tools/lab/queue.h"

#define NS_PER_S   UINT64_C(1000000000)
#define SERVICE_NS (4 * NS_PER_S / 170)

/* Arrivals of one phase at a constant rate; the longest wait of the queue so far is kept. */
struct phase {
    uint64_t from_ns, n, per_s;
};

static void offer_phase(struct queue *queue, const struct phase *phase, uint64_t *longest_ns,
                        uint64_t *last_wait_ns)
{
    for (uint64_t i = 0; i < phase->n; i++) {
        uint64_t now_ns = phase->from_ns + i * NS_PER_S / phase->per_s;

        *last_wait_ns = queue_arrive(queue, now_ns) - SERVICE_NS - now_ns;
        if (*last_wait_ns > *longest_ns)
            *longest_ns = *last_wait_ns;
        if (*last_wait_ns == 0 && *longest_ns > 0)
            return; /* drained */
    }
}

/* 130/s, then 200/s for 10 s, then 130/s again, on 170/s: 300 behind, 1.76 s, drained after 7.5 s.
 */
static void four_slots_under_a_wave(void **state)
{
    struct queue queue = {.n_slots = 4, .service_ns = SERVICE_NS};
    uint64_t longest_ns = 0, wait_ns = 0;

    (void)state;
    offer_phase(&queue, &(struct phase){0, 130, 130}, &longest_ns, &wait_ns);
    assert_int_equal(longest_ns, 0);
    offer_phase(&queue, &(struct phase){NS_PER_S, 2000, 200}, &longest_ns, &wait_ns);
    assert_in_range(longest_ns, 1755000000, 1765000000);
    offer_phase(&queue, &(struct phase){11 * NS_PER_S, 971, 130}, &longest_ns, &wait_ns);
    assert_int_not_equal(wait_ns, 0);
    offer_phase(&queue, &(struct phase){11 * NS_PER_S + 971 * NS_PER_S / 130, 10, 130}, &longest_ns,
                &wait_ns);
    assert_int_equal(wait_ns, 0);
}

static void saturation_is_exact(void **state)
{
    struct queue queue = {.n_slots = 4, .service_ns = SERVICE_NS};
    uint64_t end_ns = 0;

    (void)state;
    for (unsigned int i = 0; i < 1700; i++)
        end_ns = queue_arrive(&queue, 5 * NS_PER_S);
    assert_int_equal(end_ns, 5 * NS_PER_S + 425 * SERVICE_NS);
    /* After a rest the slots are free: nothing is saved up. */
    assert_int_equal(queue_arrive(&queue, 99 * NS_PER_S), 99 * NS_PER_S + SERVICE_NS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_slots_under_a_wave),
        cmocka_unit_test(saturation_is_exact),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
