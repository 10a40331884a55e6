/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/config/host.h"

#include <dirent.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/config/limits.h"
#include "control/config/settings_reader.h"

#define LISTED_MAX    160 /* bytes of what is there, in a message */
#define INTERFACE_MAX 15

/* A mask that the process was given (taskset) can be left again, a cpuset cannot: only the kernel
 * knows which it is. */
static bool may_run_on(uint32_t cpu)
{
    cpu_set_t before, wanted;
    bool may;

    if (sched_getaffinity(0, sizeof(before), &before) != 0)
        return true;
    CPU_ZERO(&wanted);
    CPU_SET(cpu, &wanted);
    may = sched_setaffinity(0, sizeof(wanted), &wanted) == 0;
    sched_setaffinity(0, sizeof(before), &before);
    return may;
}

struct config_host config_this_host(bool required)
{
    return (struct config_host){.root = "", .may_run_on = may_run_on, .required = required};
}

__attribute__((format(printf, 3, 4))) static void
missing(struct reader *r, const config_setting_t *setting, const char *format, ...)
{
    char text[384];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (!settings_reader(r)->host->required) {
        warn(r, setting, "%s", text);
        return;
    }
    refuse(r, setting, "", "%s", text);
    settings_reader(r)->n_missing++;
}

static FILE *open_file(struct reader *r, const char *path)
{
    char whole[PATH_MAX];

    snprintf(whole, sizeof(whole), "%s%s", settings_reader(r)->host->root, path);
    return fopen(whole, "re");
}

/* ", NAME" behind the list, or ", ..." once it is full. */
static void append(char list[LISTED_MAX], const char *name)
{
    size_t used = strlen(list);

    if (used + strlen(name) + sizeof(", , ...") <= LISTED_MAX)
        snprintf(list + used, LISTED_MAX - used, "%s%s", used ? ", " : "", name);
    else if (used < 3 || strcmp(list + used - 3, "..."))
        snprintf(list + used, LISTED_MAX - used, ", ...");
}

/* -- CPUs -- */

/* Is `cpu` in a list such as 0-3,8? */
static bool is_listed(const char *list, uint32_t cpu)
{
    while (*list) {
        char *rest;
        unsigned long first = strtoul(list, &rest, 10), last = first;

        if (*rest == '-')
            last = strtoul(rest + 1, &rest, 10);
        if (cpu >= first && cpu <= last)
            return true;
        list = rest + (*rest == ',');
        if (*rest != ',')
            return false;
    }
    return false;
}

void host_check_cpu(struct reader *r, const config_setting_t *setting, uint32_t cpu,
                    const char *default_of)
{
    FILE *file = settings_reader(r)->host ? open_file(r, "/sys/devices/system/cpu/online") : NULL;
    char online[LISTED_MAX] = "";

    if (!file)
        return;
    if (fgets(online, sizeof(online), file))
        online[strcspn(online, "\n")] = '\0';
    fclose(file);
    if (!*online)
        return;
    if (!is_listed(online, cpu))
        missing(r, setting, "there is no CPU %u here%s%s (online: %s)", cpu,
                *default_of ? ", the default of " : "", default_of, online);
    else if (!settings_reader(r)->host->may_run_on(cpu))
        missing(r, setting,
                "CPU %u%s%s is not for this process (its cpuset; taskset -cp $$ shows it)", cpu,
                *default_of ? ", the default of " : "", default_of);
}

/* -- devices -- */

/* Those of the network namespace this process is in; /sys may show another one's. */
static bool find_interface(struct reader *r, const char *wanted, char there[LISTED_MAX])
{
    FILE *file = open_file(r, "/proc/net/dev");
    char line[512], name[INTERFACE_MAX + 1];
    bool found = !file;

    while (!found && fgets(line, sizeof(line), file)) {
        if (!strchr(line, ':') || sscanf(line, " %15[^: \n]", name) != 1)
            continue; /* the heading */
        found = !strcmp(name, wanted);
        append(there, name);
    }
    if (file)
        fclose(file);
    return found;
}

static bool has_interface(const char *device)
{
    return !strncmp(device, "net_af_packet", strlen("net_af_packet")) ||
           !strncmp(device, "net_af_xdp", strlen("net_af_xdp"));
}

bool host_interface_of(const char *device, char name[HOST_INTERFACE_MAX])
{
    const char *at = has_interface(device) ? strstr(device, ",iface=") : NULL;

    if (!at)
        return false; /* its driver will ask for one */
    at += strlen(",iface=");
    snprintf(name, HOST_INTERFACE_MAX, "%.*s", (int)strcspn(at, ","), at);
    return true;
}

static void check_interface(struct reader *r, const config_setting_t *setting, const char *name)
{
    char quoted[LIMITS_QUOTED_MAX], there[LISTED_MAX] = "";

    if (!find_interface(r, name, there))
        missing(r, setting, "there is no interface %s in this network namespace (there are: %s)",
                limits_quote(name, quoted), *there ? there : "none");
}

/* The device's full name in /sys, or false: it is no PCI address. */
static bool pci_name(const char *device, char name[32])
{
    unsigned domain = 0, bus, slot, function;
    size_t length = strcspn(device, ",");
    int read = 0;

    if (sscanf(device, "%4x:%2x:%2x.%1x%n", &domain, &bus, &slot, &function, &read) != 4) {
        domain = 0;
        if (sscanf(device, "%2x:%2x.%1x%n", &bus, &slot, &function, &read) != 3)
            return false;
    }
    snprintf(name, 32, "%04x:%02x:%02x.%x", domain, bus, slot, function);
    return (size_t)read == length;
}

bool host_is_pci(const char *device)
{
    char name[32];

    return pci_name(device, name);
}

/* PCI devices of class 02: network controllers. */
static void list_network_cards(struct reader *r, char there[LISTED_MAX])
{
    struct dirent **entries;
    char path[PATH_MAX];
    int n;

    snprintf(path, sizeof(path), "%s/sys/bus/pci/devices", settings_reader(r)->host->root);
    n = scandir(path, &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char class[16] = "";
        FILE *file;

        snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.64s/class", entries[i]->d_name);
        file = open_file(r, path);
        if (file && fgets(class, sizeof(class), file) && !strncmp(class, "0x02", 4))
            append(there, entries[i]->d_name);
        if (file)
            fclose(file);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
}

static void check_pci(struct reader *r, const config_setting_t *setting, const char *name)
{
    char path[PATH_MAX], there[LISTED_MAX] = "";

    snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s", settings_reader(r)->host->root, name);
    if (access(path, F_OK) == 0)
        return;
    list_network_cards(r, there);
    missing(r, setting, "there is no PCI device %s here (network cards: %s)", name,
            *there ? there : "none");
}

void host_check_device(struct reader *r, const config_setting_t *setting, const char *device)
{
    char interface[HOST_INTERFACE_MAX], card[32];

    if (!settings_reader(r)->host)
        return;
    if (host_interface_of(device, interface))
        check_interface(r, setting, interface);
    else if (pci_name(device, card))
        check_pci(r, setting, card);
}
