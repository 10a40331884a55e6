/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starting DPDK's environment from settings: memory mode, lcores, devices. Control thread, once per
 * process (EAL cannot be started twice).
 */
#ifndef SLUICE_WORKER_EAL_H
#define SLUICE_WORKER_EAL_H

#include <stdbool.h>
#include <stddef.h>

#include "dataplane/worker/settings.h"

/* lcore 0 is the control thread; worker i runs on lcore i + 1. */
#define EAL_WORKER_LCORE(worker) ((worker) + 1)

/*
 * 0 or -errno with a sentence in `why`. `*huge` says which memory was taken: with MEMORY_AUTO, huge
 * pages when enough of them are free.
 */
int eal_start(const struct dataplane_settings *settings, bool *huge, char *why, size_t why_bytes);
void eal_stop(void);

/* Length of the name in front of a device's arguments. */
size_t eal_device_name_bytes(const char *device);
bool eal_device_is_pci(const char *device);

#endif
