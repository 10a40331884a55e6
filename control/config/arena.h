/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of one configuration: many allocations, freed together. One thread at a time. */
#ifndef SLUICE_CONFIG_ARENA_H
#define SLUICE_CONFIG_ARENA_H

#include <stddef.h>

struct config_arena;

struct config_arena *arena_create(void);
void arena_destroy(struct config_arena *arena);

/* Zeroed memory for `n` elements of `size` bytes, aligned for any type; NULL when there is none. */
void *arena_alloc(struct config_arena *arena, size_t n, size_t size);
char *arena_copy(struct config_arena *arena, const char *text);

#endif
