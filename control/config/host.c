/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/config/host.h"

#include <dirent.h>
#include <limits.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
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

/* By a socket, which is in the namespace of this process; /sys may show another one's. */
static bool channels_of(const char *interface, struct config_channels *channels)
{
    struct ethtool_channels asked = {.cmd = ETHTOOL_GCHANNELS};
    struct ifreq request = {.ifr_data = (void *)&asked};
    int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool known;

    if (sock < 0)
        return false;
    snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", interface);
    known = ioctl(sock, SIOCETHTOOL, &request) == 0;
    close(sock);
    *channels = (struct config_channels){asked.rx_count, asked.combined_count};
    return known;
}

struct config_host config_this_host(bool required)
{
    return (struct config_host){
        .root = "", .may_run_on = may_run_on, .channels_of = channels_of, .required = required};
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

/* -- queues of AF_XDP -- */

static bool is_af_xdp(const char *device)
{
    return !strncmp(device, "net_af_xdp", strlen("net_af_xdp"));
}

static bool is_af_xdp_on(const char *device, const char *interface)
{
    char name[HOST_INTERFACE_MAX];

    return is_af_xdp(device) && host_interface_of(device, name) && !strcmp(name, interface);
}

static unsigned long argument(const char *device, const char *key, unsigned long otherwise)
{
    const char *at = strstr(device, key);

    return at ? strtoul(at + strlen(key), NULL, 0) : otherwise;
}

static bool takes(const char *device, uint32_t queue)
{
    unsigned long first = argument(device, ",start_queue=", 0);

    return queue >= first && queue - first < argument(device, ",queue_count=", 1);
}

/* How many of an interface's queues are taken; *in_front of them without a gap from queue 0 on. */
static uint32_t count_taken(const struct port_settings *port, const char *interface,
                            uint32_t n_queues, uint32_t *in_front)
{
    uint32_t taken = 0;

    *in_front = 0;
    for (uint32_t queue = 0; queue < n_queues; queue++) {
        uint32_t i = 0;

        while (i < port->n_devices &&
               (!is_af_xdp_on(port->devices[i], interface) || !takes(port->devices[i], queue)))
            i++;
        if (i == port->n_devices)
            continue;
        *in_front += *in_front == queue;
        taken++;
    }
    return taken;
}

/* The ways out; `keep`: so many queues would do, 0: fewer are no help. The driver gives several
 * queues to one device only where they are combined; veth counts the two kinds apart, and with XDP
 * its peer may have no more of the one than it has of the other. */
static void suggest(const char *interface, const struct config_channels *has, uint32_t keep,
                    char text[256])
{
    uint32_t n_queues = has->rx + has->combined;
    int used;

    if (has->rx)
        used = snprintf(text, 256, "a device for each, start_queue=0 to %u)", n_queues - 1);
    else
        used = snprintf(text, 256, "queue_count=%u)", n_queues);
    if (!keep)
        return;
    used += snprintf(text + used, 256 - (size_t)used,
                     ", or give it no more than that (ethtool -L %s %s %u", interface,
                     has->rx ? "rx" : "combined", keep);
    if (has->rx)
        snprintf(text + used, 256 - (size_t)used, ", and tx %u at the peer of a veth)", keep);
    else
        snprintf(text + used, 256 - (size_t)used, ")");
}

static void check_taken(struct reader *r, const config_setting_t *setting,
                        const struct port_settings *port, const char *interface)
{
    struct config_channels has;
    uint32_t n_queues, taken, in_front;
    char suggestion[256];

    if (!settings_reader(r)->host->channels_of(interface, &has))
        return;
    n_queues = has.rx + has.combined;
    taken = count_taken(port, interface, n_queues, &in_front);
    if (taken == n_queues)
        return;
    suggest(interface, &has, in_front == taken ? taken : 0, suggestion);
    missing(r, setting,
            "interface %s has %u receive queues, of which AF_XDP takes %u here, and what arrives "
            "on others is lost: take them all (%s",
            interface, n_queues, taken, suggestion);
}

void host_check_queues(struct reader *r, const config_setting_t *setting,
                       const struct port_settings *port)
{
    if (!settings_reader(r)->host)
        return;
    for (uint32_t i = 0; i < port->n_devices; i++) {
        char interface[HOST_INTERFACE_MAX];
        uint32_t first = 0;

        if (!is_af_xdp(port->devices[i]) || !host_interface_of(port->devices[i], interface))
            continue;
        while (!is_af_xdp_on(port->devices[first], interface))
            first++;
        if (first == i)
            check_taken(r, setting, port, interface);
    }
}
