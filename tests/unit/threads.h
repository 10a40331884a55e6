/* SPDX-License-Identifier: BSD-3-Clause */
/* A few threads that do the same at once: what must be exact among them. */
#ifndef SLUICE_TESTS_THREADS_H
#define SLUICE_TESTS_THREADS_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define THREADS 4

/* Runs `body` in THREADS threads, each on its own element of an array of elements of
 * `element_bytes`, until all have ended. */
static inline void threads_run_each(void *(*body)(void *), void *array, size_t element_bytes)
{
    pthread_t threads[THREADS];

    for (unsigned i = 0; i < THREADS; i++) {
        void *element = (char *)array + i * element_bytes;

        assert_int_equal(pthread_create(&threads[i], NULL, body, element), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

/* The same on one thing that they share. */
static inline void threads_run(void *(*body)(void *), void *shared)
{
    threads_run_each(body, shared, 0);
}

/* One more holder, and the most that were ever there: counted by the test alone, as a backend
 * would. */
static inline void threads_count_in(uint32_t *inside, uint32_t *most)
{
    uint32_t n = __atomic_add_fetch(inside, 1, __ATOMIC_RELAXED);
    uint32_t m = __atomic_load_n(most, __ATOMIC_RELAXED);

    while (n > m &&
           !__atomic_compare_exchange_n(most, &m, n, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

static inline void threads_count_out(uint32_t *inside)
{
    __atomic_sub_fetch(inside, 1, __ATOMIC_RELAXED);
}

#endif
