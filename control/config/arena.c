/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/config/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct block {
    struct block *next;
    alignas(max_align_t) unsigned char memory[];
};

struct config_arena {
    struct block *blocks;
};

struct config_arena *arena_create(void)
{
    return calloc(1, sizeof(struct config_arena));
}

void arena_destroy(struct config_arena *arena)
{
    if (!arena)
        return;
    while (arena->blocks) {
        struct block *next = arena->blocks->next;

        free(arena->blocks);
        arena->blocks = next;
    }
    free(arena);
}

void *arena_alloc(struct config_arena *arena, size_t n, size_t size)
{
    struct block *block;
    size_t bytes;

    if (__builtin_mul_overflow(n, size, &bytes) || bytes > SIZE_MAX - sizeof(*block))
        return NULL;
    block = calloc(1, sizeof(*block) + bytes);
    if (!block)
        return NULL;
    block->next = arena->blocks;
    arena->blocks = block;
    return block->memory;
}

char *arena_copy(struct config_arena *arena, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = arena_alloc(arena, bytes, 1);

    return copy ? memcpy(copy, text, bytes) : NULL;
}
