/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tools/lab/queue.h"

#define NS_PER_S   UINT64_C(1000000000)
#define SERVICE_NS (4 * NS_PER_S / 170)
#define WORKS_MAX  3200u

/* A queue that is looked at whenever something arrives, and what came of all work so far. */
struct scene {
    struct queue queue;
    uint32_t n;
    uint64_t last_wait_ns, longest_ns, last_end_ns;
    struct queue_work works[WORKS_MAX];
};

static struct scene *new_scene(void)
{
    struct scene *scene = calloc(1, sizeof(*scene));

    assert_non_null(scene);
    scene->queue = (struct queue){.n_slots = 4, .service_ns = SERVICE_NS};
    return scene;
}

static struct queue_work *arrive(struct scene *scene, uint64_t now_ns)
{
    assert_true(scene->n < WORKS_MAX);
    queue_arrive(&scene->queue, &scene->works[scene->n], now_ns);
    return &scene->works[scene->n++];
}

static void finish_until(struct scene *scene, uint64_t now_ns)
{
    struct queue_work *work;

    while ((work = queue_finish(&scene->queue, now_ns))) {
        assert_true(work->end_ns >= scene->last_end_ns && work->end_ns <= now_ns);
        scene->last_end_ns = work->end_ns;
        scene->last_wait_ns = work->end_ns - SERVICE_NS - work->arrival_ns;
        if (scene->last_wait_ns > scene->longest_ns)
            scene->longest_ns = scene->last_wait_ns;
    }
}

static void offer(struct scene *scene, uint64_t from_ns, uint64_t n, uint64_t per_s)
{
    for (uint64_t i = 0; i < n; i++) {
        finish_until(scene, from_ns + i * NS_PER_S / per_s);
        arrive(scene, from_ns + i * NS_PER_S / per_s);
    }
}

/* 130/s, then 200/s for 10 s, then 130/s again, on 170/s: 300 behind, 1.76 s, drained after 7.5 s.
 */
static void four_slots_under_a_wave(void **state)
{
    struct scene *scene = new_scene();

    (void)state;
    offer(scene, 0, 130, 130);
    assert_int_equal(scene->longest_ns, 0);
    offer(scene, NS_PER_S, 2000, 200);
    assert_int_equal(scene->queue.n_waiting, 300);
    offer(scene, 11 * NS_PER_S, 7 * 130, 130);
    assert_in_range(scene->longest_ns, 1755000000, 1765000000);
    assert_int_not_equal(scene->last_wait_ns, 0);
    offer(scene, 18 * NS_PER_S, 78, 130);
    finish_until(scene, 20 * NS_PER_S);
    assert_int_equal(scene->last_wait_ns, 0);
    assert_int_equal(scene->queue.n_running, 0);
    free(scene);
}

static void saturation_is_exact(void **state)
{
    struct scene *scene = new_scene();

    (void)state;
    for (unsigned int i = 0; i < 1700; i++)
        arrive(scene, 5 * NS_PER_S);
    /* However late and seldom anybody looks. */
    finish_until(scene, 7 * NS_PER_S);
    finish_until(scene, 60 * NS_PER_S);
    assert_int_equal(scene->last_end_ns, 5 * NS_PER_S + 425 * SERVICE_NS);
    /* After a rest the slots are free: nothing is saved up. */
    assert_int_equal(arrive(scene, 99 * NS_PER_S)->end_ns, 99 * NS_PER_S + SERVICE_NS);
    free(scene);
}

/* All slots ended at 1 service time, but nobody has looked before work arrives later than that. */
static void work_never_starts_before_it_arrives(void **state)
{
    struct scene *scene = new_scene();
    struct queue_work *late;

    (void)state;
    for (unsigned int i = 0; i < 4; i++)
        arrive(scene, 0);
    late = arrive(scene, 3 * SERVICE_NS);
    assert_int_equal(late->end_ns, 0);
    finish_until(scene, 3 * SERVICE_NS);
    assert_int_equal(late->end_ns, 4 * SERVICE_NS);
    free(scene);
}

/* Two slots; ten times slower for what starts after 60 ns, and as before after 1099 ns. */
static void a_change_of_pace_is_for_work_that_starts_later(void **state)
{
    struct queue queue = {.n_slots = 2, .service_ns = 100};
    struct queue_work works[5];

    (void)state;
    for (unsigned int i = 0; i < 4; i++)
        queue_arrive(&queue, &works[i], 10 * i);
    assert_null(queue_finish(&queue, 60));
    queue.service_ns = 1000;
    assert_ptr_equal(queue_finish(&queue, 200), &works[0]);
    assert_int_equal(works[0].end_ns, 100);
    assert_int_equal(works[2].end_ns, 1100);
    assert_ptr_equal(queue_finish(&queue, 200), &works[1]);
    assert_int_equal(works[3].end_ns, 1110);
    assert_null(queue_finish(&queue, 1099));
    queue.service_ns = 100;
    queue_arrive(&queue, &works[4], 1099);
    assert_ptr_equal(queue_finish(&queue, 1100), &works[2]);
    assert_int_equal(works[4].end_ns, 1200);
    assert_ptr_equal(queue_finish(&queue, 9999), &works[3]);
    assert_ptr_equal(queue_finish(&queue, 9999), &works[4]);
    assert_null(queue_finish(&queue, 9999));
}

/* What runs at the old pace is overtaken by what starts at a faster one, on another slot. */
static void ends_are_in_order_though_starts_are_not(void **state)
{
    struct queue queue = {.n_slots = 4, .service_ns = 1000};
    struct queue_work works[4];

    (void)state;
    queue_arrive(&queue, &works[0], 0);
    queue_arrive(&queue, &works[1], 50);
    queue.service_ns = 100;
    queue_arrive(&queue, &works[2], 60);
    queue.service_ns = 945;
    queue_arrive(&queue, &works[3], 60);
    assert_ptr_equal(queue_finish(&queue, 2000), &works[2]);
    assert_ptr_equal(queue_finish(&queue, 2000), &works[0]);
    assert_ptr_equal(queue_finish(&queue, 2000), &works[3]);
    assert_ptr_equal(queue_finish(&queue, 2000), &works[1]);
    assert_null(queue_finish(&queue, 2000));
    assert_int_equal(queue.n_running, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_slots_under_a_wave),
        cmocka_unit_test(saturation_is_exact),
        cmocka_unit_test(work_never_starts_before_it_arrives),
        cmocka_unit_test(a_change_of_pace_is_for_work_that_starts_later),
        cmocka_unit_test(ends_are_in_order_though_starts_are_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
