/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/admission/wait.h"

_Static_assert(WAIT_LINES_MAX < 64, "the lines of a queue are bits of one word");

uint64_t wait_class_lines(enum policy_class class)
{
    uint64_t lines = 0;

    for (unsigned share = 0; share <= SHARES_MAX; share++)
        lines |= (uint64_t)1 << wait_line((uint8_t)share, (uint8_t) class);
    return lines;
}

uint64_t wait_share_lines(unsigned share)
{
    return (((uint64_t)1 << CLASS_MAX) - 1) << wait_line((uint8_t)share, 0);
}

size_t wait_pool_bytes(uint32_t max)
{
    return sizeof(struct wait_pool) + max * sizeof(struct waiter);
}

struct wait_pool *wait_pool_init(void *memory, uint32_t max)
{
    struct wait_pool *pool = memory;

    pool->max = max;
    pool->used = 0;
    pool->free = max > 0 ? 0 : WAIT_NONE;
    for (uint32_t i = 0; i < max; i++)
        pool->waiters[i].newer = i + 1 < max ? i + 1 : WAIT_NONE;
    return pool;
}

void wait_queue_init(struct wait_queue *queue)
{
    *queue = (struct wait_queue){.oldest_since_ns = UINT64_MAX};
    for (unsigned c = 0; c < CLASS_MAX; c++)
        queue->arrivals[c] = (struct wait_ends){WAIT_NONE, WAIT_NONE};
    for (unsigned line = 0; line < WAIT_LINES_MAX; line++) {
        queue->line[line] = (struct wait_ends){WAIT_NONE, WAIT_NONE};
        queue->weight[line] = 1;
    }
}

void wait_set_weight(struct wait_queue *queue, unsigned line, uint32_t weight)
{
    queue->weight[line] = weight;
}

/* -- lists -- */

static void append_arrival(struct wait_pool *pool, struct wait_ends *ends, uint32_t index)
{
    struct waiter *w = &pool->waiters[index];

    w->older = ends->last;
    w->newer = WAIT_NONE;
    if (ends->last == WAIT_NONE)
        ends->first = index;
    else
        pool->waiters[ends->last].newer = index;
    ends->last = index;
}

static void unlink_arrival(struct wait_pool *pool, struct wait_ends *ends, const struct waiter *w)
{
    if (w->older == WAIT_NONE)
        ends->first = w->newer;
    else
        pool->waiters[w->older].newer = w->newer;
    if (w->newer == WAIT_NONE)
        ends->last = w->older;
    else
        pool->waiters[w->newer].older = w->older;
}

/* Puts a waiter into its line, right behind `before`; WAIT_NONE: at its head. */
static void insert_behind(struct wait_pool *pool, struct wait_ends *ends, uint32_t index,
                          uint32_t before)
{
    struct waiter *w = &pool->waiters[index];

    w->before = before;
    w->behind = before == WAIT_NONE ? ends->first : pool->waiters[before].behind;
    if (before == WAIT_NONE)
        ends->first = index;
    else
        pool->waiters[before].behind = index;
    if (w->behind == WAIT_NONE)
        ends->last = index;
    else
        pool->waiters[w->behind].before = index;
}

static void unlink_line(struct wait_pool *pool, struct wait_ends *ends, const struct waiter *w)
{
    if (w->before == WAIT_NONE)
        ends->first = w->behind;
    else
        pool->waiters[w->before].behind = w->behind;
    if (w->behind == WAIT_NONE)
        ends->last = w->before;
    else
        pool->waiters[w->behind].before = w->before;
}

/* -- who comes, goes and is next -- */

/* Tells other threads what is there. */
static void publish(struct wait_pool *pool, struct wait_queue *queue, uint64_t length)
{
    const struct waiter *oldest = wait_oldest(pool, queue);

    __atomic_store_n(&queue->length, length, __ATOMIC_RELAXED);
    __atomic_store_n(&queue->oldest_since_ns, oldest ? oldest->since_ns : UINT64_MAX,
                     __ATOMIC_RELAXED);
}

struct waiter *wait_add(struct wait_pool *pool, struct wait_queue *queue,
                        const struct waiter *proto, enum policy_order order)
{
    uint32_t index = pool->free, before;
    struct waiter *w;
    struct wait_ends *line;

    if (index == WAIT_NONE)
        return NULL;
    w = &pool->waiters[index];
    pool->free = w->newer;
    pool->used++;
    *w = *proto;
    w->line = wait_line(w->share, w->class);
    line = &queue->line[w->line];
    before = line->last;
    if (order == ORDER_DEADLINE)
        while (before != WAIT_NONE && pool->waiters[before].until_ns > w->until_ns)
            before = pool->waiters[before].before;
    insert_behind(pool, line, index, before);
    append_arrival(pool, &queue->arrivals[w->class], index);
    queue->lines |= (uint64_t)1 << w->line;
    publish(pool, queue, queue->length + 1);
    return w;
}

void wait_remove(struct wait_pool *pool, struct wait_queue *queue, struct waiter *waiter)
{
    struct wait_ends *line = &queue->line[waiter->line];

    unlink_line(pool, line, waiter);
    unlink_arrival(pool, &queue->arrivals[waiter->class], waiter);
    if (line->first == WAIT_NONE)
        queue->lines &= ~((uint64_t)1 << waiter->line);
    waiter->newer = pool->free;
    pool->free = wait_index(pool, waiter);
    pool->used--;
    publish(pool, queue, queue->length - 1);
}

struct waiter *wait_oldest(struct wait_pool *pool, const struct wait_queue *queue)
{
    struct waiter *oldest = NULL;

    for (unsigned c = 0; c < CLASS_MAX; c++) {
        uint32_t first = queue->arrivals[c].first;

        if (first != WAIT_NONE && (!oldest || pool->waiters[first].since_ns < oldest->since_ns))
            oldest = &pool->waiters[first];
    }
    return oldest;
}

/* The line whose turn it is if it may go on, else the next one, in a circle. */
static unsigned next_line(const struct wait_queue *queue, uint64_t waiting)
{
    uint64_t later = waiting & ~(((uint64_t)2 << queue->turn) - 1);

    if (queue->left > 0 && (waiting >> queue->turn & 1))
        return queue->turn;
    return (unsigned)__builtin_ctzll(later ? later : waiting);
}

struct waiter *wait_next(struct wait_pool *pool, const struct wait_queue *queue,
                         enum policy_order order, bool overloaded, uint64_t allowed)
{
    uint64_t waiting = queue->lines & allowed;
    const struct wait_ends *line;

    if (waiting == 0)
        return NULL;
    line = &queue->line[next_line(queue, waiting)];
    return &pool->waiters[order == ORDER_ADAPTIVE && overloaded ? line->last : line->first];
}

void wait_taken(struct wait_queue *queue, const struct waiter *waiter)
{
    if (waiter->line != queue->turn || queue->left == 0) {
        queue->turn = waiter->line;
        queue->left = queue->weight[waiter->line];
    }
    queue->left--;
}

uint64_t wait_neediest(const struct wait_queue *queue, const struct window *shares,
                       const struct share_rules *rules, unsigned n_shares, uint64_t allowed)
{
    uint64_t waiting = queue->lines & allowed, lines = 0;
    uint64_t least_used = 0, least_weight = 1; /* of `lines` */

    if (n_shares == 0)
        return allowed;
    for (unsigned i = 0; i < n_shares; i++) {
        uint64_t of_share = waiting & wait_share_lines(i);
        uint64_t used, ours, theirs;

        if (of_share == 0)
            continue;
        used = window_used(&shares[i]);
        ours = used * least_weight;
        theirs = least_used * rules[i].weight;
        if (lines == 0 || ours < theirs) {
            lines = 0;
            least_used = used;
            least_weight = rules[i].weight;
        }
        if (lines == 0 || ours == theirs)
            lines |= of_share;
    }
    return lines;
}

struct waiter *wait_newest_of(struct wait_pool *pool, const struct wait_queue *queue,
                              enum policy_class class)
{
    for (unsigned c = 0; c < (unsigned)class; c++)
        if (queue->arrivals[c].last != WAIT_NONE)
            return &pool->waiters[queue->arrivals[c].last];
    return NULL;
}
