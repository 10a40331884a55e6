/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Things of one size, known by number, that come and go: memory in pieces that stay where they are,
 * and is given out again. A thing keeps its content between two lives (so that a generation can
 * count them); new memory is zero. Sizes are whole 64-bit words. One thread.
 */
#ifndef SLUICE_SIM_POOL_H
#define SLUICE_SIM_POOL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define POOL_NONE        UINT32_MAX
#define POOL_PIECE       4096u
#define POOL_PIECES_MAX  65536u
#define POOL_FIRST_FREED 1024u

struct pool {
    size_t bytes; /* of one */
    uint8_t **pieces;
    uint32_t touched; /* numbers ever given out */
    uint32_t *freed;  /* a stack of numbers */
    uint32_t n_freed, room_freed;
};

static inline void *pool_at(const struct pool *pool, uint32_t number)
{
    return pool->pieces[number / POOL_PIECE] + (number % POOL_PIECE) * pool->bytes;
}

static inline int pool_init(struct pool *pool, size_t bytes)
{
    *pool = (struct pool){.bytes = (bytes + 7) & ~(size_t)7};
    pool->pieces = calloc(POOL_PIECES_MAX, sizeof(*pool->pieces));
    return pool->pieces ? 0 : -1;
}

static inline void pool_destroy(struct pool *pool)
{
    for (uint32_t i = 0; pool->pieces && i * POOL_PIECE < pool->touched; i++)
        free(pool->pieces[i]);
    free(pool->pieces);
    free(pool->freed);
}

/* A number, or POOL_NONE: out of memory. */
static inline uint32_t pool_take(struct pool *pool)
{
    uint32_t piece = pool->touched / POOL_PIECE;

    if (pool->n_freed)
        return pool->freed[--pool->n_freed];
    if (pool->touched % POOL_PIECE == 0) {
        if (piece == POOL_PIECES_MAX)
            return POOL_NONE;
        pool->pieces[piece] = calloc(POOL_PIECE, pool->bytes);
        if (!pool->pieces[piece])
            return POOL_NONE;
    }
    return pool->touched++;
}

/* False: out of memory; then it is lost. */
static inline bool pool_put(struct pool *pool, uint32_t number)
{
    if (pool->n_freed == pool->room_freed) {
        uint32_t room = pool->room_freed ? 2 * pool->room_freed : POOL_FIRST_FREED;
        uint32_t *freed = realloc(pool->freed, room * sizeof(*freed));

        if (!freed)
            return false;
        pool->freed = freed;
        pool->room_freed = room;
    }
    pool->freed[pool->n_freed++] = number;
    return true;
}

#endif
