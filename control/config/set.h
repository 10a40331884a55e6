/* SPDX-License-Identifier: BSD-3-Clause */
/* Private to control/config: one KEY=VALUE of `sluicectl set`, for a tenant or a service. */
#ifndef SLUICE_CONFIG_SET_H
#define SLUICE_CONFIG_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control/config/config.h"

struct setter {
    const char *key;
    /* May leave `target` half changed when it returns false. */
    bool (*set)(void *target, const char *text, struct config_refusal *no);
};

/* 0, or -EINVAL and why; `target` may then be half changed. `kind` names it in words. */
int set_one(const char *kind, const struct setter *setters, size_t n, void *target,
            const char *assignment, struct config_refusal *refusal);
#define SET_ONE(kind, setters, target, assignment, refusal)                                        \
    set_one(kind, setters, sizeof(setters) / sizeof((setters)[0]), target, assignment, refusal)

/* Whole numbers stand bare on a command line; -1: it is none. */
int64_t set_whole(const char *text);

/* Of slots or connections, as `of` says, or "unlimited"; `name` is what it is in a message. */
bool set_count(const char *text, const char *of, const char *name, uint32_t *count,
               struct config_refusal *no);

#endif
