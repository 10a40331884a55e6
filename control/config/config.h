/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Configuration file (libconfig syntax) -> checked settings.
 *
 * Every mistake is reported, not only the first, one line each:
 *   FILE:LINE: tenants[1].quota.attempts: what is wrong (allowed range)
 * Unknown keys, duplicate keys and names, wrong types and numbers out of range are errors; host
 * bits in a prefix are a warning. Integers are read exactly, as 64 bits, from the text itself,
 * because libconfig 1.5 silently wraps literals above 32 bits without `L`. `@include` is refused:
 * the library's scanner may end the process on a bad one.
 *
 * One thread at a time; nothing here touches DPDK or a live policy.
 */
#ifndef SLUICE_CONFIG_CONFIG_H
#define SLUICE_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "dataplane/policy/policy.h"
#include "dataplane/worker/settings.h"

#define CONFIG_FILE_MAX_BYTES (16u * 1024 * 1024)

struct control_settings {
    const char *socket;
    uint64_t period_ns; /* 10 ms .. 1 s */
    const char *pins;   /* folder of the BPF file system, for what outlives the daemon */
    const char *deny;   /* file of the deny list */
};

/* Everything a daemon runs on. Owns all memory it points to. */
struct settings {
    struct dataplane_settings dataplane;
    struct control_settings control;
    struct policy_spec policy;
    struct config_arena *arena;
};

/* Receive queues of a network interface: rx and combined of `ethtool -l`. */
struct config_channels {
    uint32_t rx, combined;
};

/*
 * The machine that a file is checked against: are its CPUs, network interfaces and PCI devices
 * there? A file may be checked on another machine than the one it is for, so there it is a warning
 * that something is missing; to start it is `required`, and an error.
 */
struct config_host {
    const char *root;                 /* in front of /sys and /proc; "" but for tests */
    bool (*may_run_on)(uint32_t cpu); /* does the kernel let this process run there? */
    /* False: the interface, or its driver, does not tell. */
    bool (*channels_of)(const char *interface, struct config_channels *channels);
    bool required;
};
struct config_host config_this_host(bool required);

/*
 * Reads and checks `path`, against `host` if that is not NULL; errors and warnings go to `report`,
 * one line each. 0 and *out filled, or -EINVAL (the file is wrong, or no regular file), -ENODEV
 * (the file is good, but not for this host), -ENOENT/-EACCES/-EISDIR/-EFBIG and their like (it
 * cannot be read), -ENOMEM.
 */
int config_load(const char *path, const struct config_host *host, FILE *report,
                struct settings **out);
void config_free(struct settings *settings);

/*
 * Applies one `KEY=VALUE` of `sluicectl set tenant NAME ...` to a tenant of the specification:
 * "quota.attempts=200/s", "quota.attempts_burst=20", "window=5" and their like, with the grammar
 * and ranges of the file. A changed rate keeps its burst. 0, or -EINVAL with what is wrong in `why`
 * and the allowed range in `range` ("" if none); the tenant is then unchanged.
 */
struct config_refusal {
    char why[256];
    char range[128];
    const char *key; /* the part that does not fit, where that is not what was assigned */
};
int config_set_tenant(struct policy_tenant *tenant, const char *assignment,
                      struct config_refusal *refusal);

/*
 * The same for `set service`: window, connections, capacity, deadline, wait.places, wait.age,
 * shed.ceiling, breaker (auto, open, closed) and admit ("10% over 60s" or "10%/60s"; "100%": all).
 * A window takes the connections along where they were its default.
 */
int config_set_service(struct policy_service *service, const char *assignment,
                       struct config_refusal *refusal);

/*
 * Can services[index] become `service`: do its reserve and shares still fit the window, and its
 * waiting places what was made at the start (settings->dataplane.waiting_max, less the others')?
 * 0, or -EINVAL with the part that does not fit in `refusal->key`.
 */
int config_fit_service(const struct settings *settings, uint32_t index,
                       const struct policy_service *service, struct config_refusal *refusal);

#endif
