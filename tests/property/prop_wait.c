/* SPDX-License-Identifier: BSD-3-Clause */
/* The queue of waiters against a plain list that is searched from end to end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "dataplane/admission/wait.h"
#include "tests/property/random.h"

#define POOL       40
#define OPERATIONS 300000

/* Who waits, in the order of arrival; cookies count up and so tell them apart. */
struct list {
    struct waiter *waiters[POOL]; /* the pool's */
    struct waiter copies[POOL];   /* as they were added */
    unsigned n;
    unsigned turn;
    uint32_t left, weight[WAIT_LINES_MAX];
};

static unsigned line_of(const struct waiter *w)
{
    return w->share * 3u + w->class;
}

static bool allowed_line(uint64_t allowed, unsigned line)
{
    return allowed >> line & 1;
}

static bool line_waits(const struct list *l, unsigned line)
{
    for (unsigned i = 0; i < l->n; i++)
        if (line_of(&l->copies[i]) == line)
            return true;
    return false;
}

/* Number in the list of who is next; l->n if nobody. */
static unsigned list_next(const struct list *l, enum policy_order order, bool overloaded,
                          uint64_t allowed)
{
    unsigned line = l->turn, next = l->n;

    for (unsigned k = l->left ? 0 : 1; k <= WAIT_LINES_MAX; k++) {
        line = (l->turn + k) % WAIT_LINES_MAX;
        if (allowed_line(allowed, line) && line_waits(l, line))
            break;
    }
    if (!allowed_line(allowed, line))
        return l->n;
    for (unsigned i = 0; i < l->n; i++) {
        const struct waiter *w = &l->copies[i];

        if (line_of(w) != line)
            continue;
        if (next == l->n || (order == ORDER_ADAPTIVE && overloaded) ||
            (order == ORDER_DEADLINE && w->until_ns < l->copies[next].until_ns))
            next = i;
    }
    return next;
}

static void list_taken(struct list *l, unsigned line)
{
    if (line != l->turn || l->left == 0) {
        l->turn = line;
        l->left = l->weight[line];
    }
    l->left--;
}

static unsigned list_newest_of(const struct list *l, enum policy_class class)
{
    for (unsigned c = 0; c < (unsigned)class; c++)
        for (unsigned i = l->n; i-- > 0;)
            if (l->copies[i].class == c)
                return i;
    return l->n;
}

static struct waiter *list_at(const struct list *l, unsigned i)
{
    return i < l->n ? l->waiters[i] : NULL;
}

static void list_remove(struct list *l, unsigned i)
{
    l->n--;
    for (; i < l->n; i++) {
        l->waiters[i] = l->waiters[i + 1];
        l->copies[i] = l->copies[i + 1];
    }
}

struct pair {
    struct wait_pool *pool;
    struct wait_queue queue;
    struct list list;
    enum policy_order order;
    uint64_t seed, now_ns, cookie;
};

static void pair_add(struct pair *p)
{
    /* Mostly few lines, so that they are long. */
    uint8_t shares = random_below(&p->seed, 4) ? 2 : SHARES_MAX + 1;
    struct waiter proto = {
        .cookie = ++p->cookie,
        .since_ns = p->now_ns += random_below(&p->seed, 3),
        .until_ns = random_below(&p->seed, 9) ? random_below(&p->seed, 20) : WAIT_FOREVER,
        .line = 77, /* is not taken over */
        .share = (uint8_t)random_below(&p->seed, shares),
        .class = (uint8_t)random_below(&p->seed, CLASS_MAX),
    };
    struct waiter *w = wait_add(p->pool, &p->queue, &proto, p->order);

    assert_int_equal(w != NULL, p->list.n < POOL);
    if (!w)
        return;
    p->list.waiters[p->list.n] = w;
    p->list.copies[p->list.n++] = proto;
}

static void pair_remove(struct pair *p, unsigned i)
{
    wait_remove(p->pool, &p->queue, p->list.waiters[i]);
    list_remove(&p->list, i);
}

static void pair_take(struct pair *p)
{
    bool overloaded = random_below(&p->seed, 2);
    uint64_t allowed = WAIT_ALL_LINES;
    unsigned i;
    struct waiter *w;

    if (random_below(&p->seed, 2))
        allowed &= random_u64(&p->seed);
    i = list_next(&p->list, p->order, overloaded, allowed);
    w = wait_next(p->pool, &p->queue, p->order, overloaded, allowed);
    assert_ptr_equal(w, list_at(&p->list, i));
    if (!w || random_below(&p->seed, 4) == 0)
        return; /* no slot for him after all */
    assert_int_equal(w->cookie, p->list.copies[i].cookie);
    wait_taken(&p->queue, w);
    list_taken(&p->list, line_of(w));
    pair_remove(p, i);
}

static void pair_reweigh(struct pair *p)
{
    unsigned line = (unsigned)random_below(&p->seed, WAIT_LINES_MAX);

    p->list.weight[line] = 1 + (uint32_t)random_below(&p->seed, 4);
    wait_set_weight(&p->queue, line, p->list.weight[line]);
}

static void pair_check(struct pair *p)
{
    const struct list *l = &p->list;
    const struct waiter *oldest = wait_oldest(p->pool, &p->queue);
    enum policy_class class = (enum policy_class)random_below(&p->seed, CLASS_MAX);

    assert_int_equal(wait_length(&p->queue), l->n);
    assert_int_equal(p->pool->used, l->n);
    assert_int_equal(oldest != NULL, l->n > 0);
    assert_true(wait_oldest_since_ns(&p->queue) == (l->n ? l->copies[0].since_ns : UINT64_MAX));
    if (oldest)
        assert_int_equal(oldest->since_ns, l->copies[0].since_ns);
    assert_ptr_equal(wait_newest_of(p->pool, &p->queue, class),
                     list_at(l, list_newest_of(l, class)));
}

static void pair_step(struct pair *p, bool growing)
{
    uint64_t r = random_below(&p->seed, 100);

    if (r < (growing ? 55 : 35))
        pair_add(p);
    else if (r < 85)
        pair_take(p);
    else if (r < 97 && p->list.n > 0) /* expired, displaced, cancelled: anybody */
        pair_remove(p, (unsigned)random_below(&p->seed, p->list.n));
    else
        pair_reweigh(p);
    pair_check(p);
}

static void queue_agrees_with_the_list(void **state)
{
    (void)state;
    for (unsigned order = 0; order < ORDER_MAX; order++) {
        struct pair p = {.order = (enum policy_order)order, .seed = 1 + order};

        p.pool = wait_pool_init(aligned_alloc(64, wait_pool_bytes(POOL)), POOL);
        wait_queue_init(&p.queue);
        for (unsigned line = 0; line < WAIT_LINES_MAX; line++)
            p.list.weight[line] = 1;
        for (unsigned i = 0; i < OPERATIONS; i++)
            pair_step(&p, i / 1024 % 2 == 0);
        assert_true(p.cookie > OPERATIONS / 4);
        free(p.pool);
    }
}

/* Lines that always have somebody waiting: at any moment each is served in proportion to its
 * weight, within one turn, whoever else waits for a while and leaves again. */
static void turns_are_fair_within_a_quantum(void **state)
{
    static const uint32_t weight[3] = {1, 2, 4};
    struct pair p = {.seed = 5};
    uint64_t served[4] = {0};

    (void)state;
    p.pool = wait_pool_init(aligned_alloc(64, wait_pool_bytes(POOL)), POOL);
    wait_queue_init(&p.queue);
    for (uint8_t share = 0; share < 3; share++) {
        wait_set_weight(&p.queue, wait_line(share, CLASS_NORMAL), weight[share]);
        for (unsigned i = 0; i < 5; i++)
            wait_add(p.pool, &p.queue, &(struct waiter){.share = share, .class = CLASS_NORMAL},
                     ORDER_FIFO);
    }
    for (unsigned i = 0; i < 70000; i++) {
        struct waiter *w = wait_next(p.pool, &p.queue, ORDER_FIFO, false, WAIT_ALL_LINES);
        struct waiter again = *w;

        served[w->share]++;
        wait_taken(&p.queue, w);
        wait_remove(p.pool, &p.queue, w);
        if (again.share < 3)
            wait_add(p.pool, &p.queue, &again, ORDER_FIFO);
        if (random_below(&p.seed, 10) == 0)
            wait_add(p.pool, &p.queue, &(struct waiter){.share = 3}, ORDER_FIFO);
        for (unsigned a = 0; a < 3; a++)
            for (unsigned b = 0; b < 3; b++) /* turns completed differ by less than one */
                assert_true(served[a] * weight[b] <= served[b] * weight[a] + weight[a] * weight[b]);
    }
    assert_true(served[3] > 4000);
    free(p.pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queue_agrees_with_the_list),
        cmocka_unit_test(turns_are_fair_within_a_quantum),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
