/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/worker/eal.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <mntent.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dataplane/worker/leftovers.h"

/* Room for what we say ourselves: devices on both sides of every gate, lcores, options. */
#define ARGS_MAX (2 * DATAPLANE_GATES_MAX * DATAPLANE_DEVICES_MAX + 64)

struct args {
    char *text[ARGS_MAX];
    int n;
};

__attribute__((format(printf, 2, 3))) static void add(struct args *args, const char *format, ...)
{
    va_list list;

    if (args->n >= ARGS_MAX - 1)
        return;
    va_start(list, format);
    if (vasprintf(&args->text[args->n], format, list) >= 0)
        args->n++;
    va_end(list);
}

size_t eal_device_name_bytes(const char *device)
{
    return strcspn(device, ",");
}

/* [DOMAIN:]BUS:DEVICE.FUNCTION, in hexadecimal digits. */
bool eal_device_is_pci(const char *device)
{
    size_t n = eal_device_name_bytes(device), colons = 0, dots = 0;

    for (size_t i = 0; i < n; i++) {
        colons += device[i] == ':';
        dots += device[i] == '.';
        if (!isxdigit((unsigned char)device[i]) && device[i] != ':' && device[i] != '.')
            return false;
    }
    return dots == 1 && (colons == 1 || colons == 2);
}

/* Bytes of huge pages that are free, over all sizes the kernel lists for its default. */
static uint64_t huge_free_bytes(void)
{
    FILE *file = fopen("/proc/meminfo", "r");
    unsigned long long pages = 0, kib = 0;
    char line[128];

    if (!file)
        return 0;
    while (fgets(line, sizeof(line), file)) {
        sscanf(line, "HugePages_Free: %llu", &pages);
        sscanf(line, "Hugepagesize: %llu", &kib);
    }
    fclose(file);
    return pages * kib * 1024;
}

static bool hugetlbfs_is_mounted(void)
{
    FILE *file = setmntent("/proc/self/mounts", "r");
    const struct mntent *mount;
    bool found = false;

    if (!file)
        return false;
    while (!found && (mount = getmntent(file)))
        found = strcmp(mount->mnt_type, "hugetlbfs") == 0;
    endmntent(file);
    return found;
}

static bool port_has_memif(const struct port_settings *port)
{
    for (uint32_t i = 0; i < port->n_devices; i++)
        if (strncmp(port->devices[i], "net_memif", strlen("net_memif")) == 0)
            return true;
    return false;
}

/* memif passes its memory by descriptor over EAL's shared setup, and huge pages as files. */
static bool any_memif(const struct dataplane_settings *settings)
{
    for (uint32_t i = 0; i < settings->n_gates; i++)
        if (port_has_memif(&settings->gates[i].outside) ||
            port_has_memif(&settings->gates[i].inside))
            return true;
    return false;
}

static int choose_memory(const struct eal_settings *eal, bool memif, bool *huge, char *why,
                         size_t why_bytes)
{
    uint64_t needed = (uint64_t)eal->memory_mib << 20, available = huge_free_bytes();
    bool files = !memif || hugetlbfs_is_mounted();

    *huge =
        eal->memory == MEMORY_HUGE || (eal->memory == MEMORY_AUTO && available >= needed && files);
    if (!*huge || (available >= needed && files))
        return 0;
    if (!files)
        snprintf(why, why_bytes,
                 "eal.memory is \"huge\", and a memif needs a mounted hugetlbfs for that (mount -t "
                 "hugetlbfs none /dev/hugepages); or set eal.memory to \"auto\"");
    else
        snprintf(why, why_bytes,
                 "eal.memory is \"huge\" and eal.memory_mib is %u, but only %llu MiB of huge pages "
                 "are free; reserve more (sysctl vm.nr_hugepages), or set eal.memory to \"auto\"",
                 eal->memory_mib, (unsigned long long)(available >> 20));
    return -ENOMEM;
}

static void add_vdev(struct args *args, const char *device, const struct device_care *care)
{
    add(args, "--vdev=%s%s", device, care ? care->arguments(care->context, device) : "");
}

/* True if one of them is on the PCI bus. */
static bool add_devices(struct args *args, const struct port_settings *port,
                        const struct device_care *care)
{
    bool pci = false;

    for (uint32_t i = 0; i < port->n_devices; i++) {
        const char *device = port->devices[i];

        if (eal_device_is_pci(device))
            add(args, "--allow=%s", device);
        else
            add_vdev(args, device, care);
        pci |= eal_device_is_pci(device);
    }
    return pci;
}

static void add_lcores(struct args *args, const struct eal_settings *eal)
{
    char map[DATAPLANE_WORKERS_MAX * 16 + 16];
    int n = snprintf(map, sizeof(map), "0@%u", eal->main_cpu);

    for (uint32_t i = 0; i < eal->n_workers; i++)
        n += snprintf(map + n, sizeof(map) - (size_t)n, ",%u@%u", EAL_WORKER_LCORE(i),
                      eal->worker_cpus[i]);
    add(args, "--lcores=%s", map);
    add(args, "--main-lcore=0");
}

static void add_extra(struct args *args, const char *extra)
{
    while (*(extra += strspn(extra, " \t")) != '\0') {
        size_t n = strcspn(extra, " \t");

        add(args, "%.*s", (int)n, extra);
        extra += n;
    }
}

static void build_args(struct args *args, const struct dataplane_settings *settings, bool huge)
{
    bool pci = false;

    add(args, "sluiced");
    add_lcores(args, &settings->eal);
    add(args, "-m");
    add(args, "%u", settings->eal.memory_mib);
    for (uint32_t i = 0; i < settings->n_gates; i++) {
        pci |= add_devices(args, &settings->gates[i].outside, settings->care);
        pci |= add_devices(args, &settings->gates[i].inside, settings->care);
    }
    if (!pci)
        add(args, "--no-pci");
    if (!huge)
        add(args, "--no-huge");
    /* Leave no files behind. */
    if (!any_memif(settings))
        add(args, huge ? "--in-memory" : "--no-shconf");
    else if (huge && !strstr(settings->eal.extra, "--huge-unlink"))
        add(args, "--huge-unlink=always");
    add(args, "--file-prefix=" LEFTOVERS_PREFIX "%d", (int)getpid());
    add(args, "--no-telemetry");
    add(args, "--log-level=*:warning");
    add_extra(args, settings->eal.extra);
}

int eal_start(const struct dataplane_settings *settings, bool *huge, char *why, size_t why_bytes)
{
    struct args args = {.n = 0};
    char *argv[ARGS_MAX];
    int err = choose_memory(&settings->eal, any_memif(settings), huge, why, why_bytes);

    if (err)
        return err;
    build_args(&args, settings, *huge);
    /* EAL moves the pointers about, so it gets a copy of the array. */
    memcpy(argv, args.text, sizeof(argv));
    err = rte_eal_init(args.n, argv) < 0 ? -EIO : 0;
    fflush(stdout); /* EAL's usage, before what we say */
    for (int i = 0; i < args.n; i++)
        free(args.text[i]);
    if (err)
        snprintf(why, why_bytes, "EAL did not start: %s (its own lines above say more)%s%s",
                 rte_strerror(rte_errno), *settings->eal.extra ? "; eal.extra is " : "",
                 settings->eal.extra);
    leftovers_remove_dead(rte_eal_get_runtime_dir());
    if (err)
        leftovers_remove_own(rte_eal_get_runtime_dir());
    return err;
}

void eal_stop(void)
{
    char directory[PATH_MAX];

    snprintf(directory, sizeof(directory), "%s", rte_eal_get_runtime_dir());
    rte_eal_cleanup();
    leftovers_remove_own(directory);
}
