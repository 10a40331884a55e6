/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "control/plane/xdp_parts.h"

/* -- devices -- */

/* The value of ",KEY=" in a device's arguments, up to the next comma; NULL if it has none. */
static const char *argument(const char *device, const char *key)
{
    for (const char *at = strchr(device, ','); at; at = strchr(at + 1, ','))
        if (!strncmp(at + 1, key, strlen(key)) && at[1 + strlen(key)] == '=')
            return at + strlen(key) + 2;
    return NULL;
}

static void describe(struct xdp_interface *interface)
{
    const char *name = argument(interface->device, "iface");
    const char *queue = argument(interface->device, "start_queue");

    interface->has_socket = !strncmp(interface->device, "net_af_xdp", strlen("net_af_xdp"));
    if (name && strcspn(name, ",") < sizeof(interface->name)) {
        snprintf(interface->name, sizeof(interface->name), "%.*s", (int)strcspn(name, ","), name);
        interface->index = if_nametoindex(interface->name);
    }
    interface->first_queue = queue ? (uint32_t)strtoul(queue, NULL, 10) : 0;
}

static void why_off(struct xdp_interface *interface)
{
    const char *why = "";

    if (interface->gate->xdp.use == XDP_OFF)
        why = "xdp is \"off\" for the gate";
    else if (!interface->has_socket && !interface->name[0])
        why = "no XDP: a device that DPDK drives itself (vfio) has no interface in the kernel";
    else if (!interface->has_socket)
        why = "only net_af_xdp brings packets from an XDP program to the workers";
    snprintf(interface->why, sizeof(interface->why), "%s", why);
    interface->on = !why[0];
}

static void list_side(struct xdp *xdp, const struct gate_settings *gate, const char *side,
                      const struct port_settings *port)
{
    for (uint32_t i = 0; i < port->n_devices; i++) {
        struct xdp_interface *interface = &xdp->interfaces[xdp->n_interfaces++];

        *interface = (struct xdp_interface){.gate = gate,
                                            .side = side,
                                            .device = port->devices[i],
                                            .lock = -1,
                                            .left = {.program = -1}};
        describe(interface);
        why_off(interface);
        if (interface->on && xdp->n_ports == XDP_PORTS_MAX) {
            snprintf(interface->why, sizeof(interface->why), "a daemon has %u XDP programs at most",
                     XDP_PORTS_MAX);
            interface->on = false;
        }
        if (interface->on)
            interface->port = xdp->n_ports++;
    }
}

void xdp_list_interfaces(struct xdp *xdp)
{
    const struct dataplane_settings *settings = &xdp->settings->dataplane;

    for (uint32_t g = 0; g < settings->n_gates; g++) {
        list_side(xdp, &settings->gates[g], "outside", &settings->gates[g].outside);
        list_side(xdp, &settings->gates[g], "inside", &settings->gates[g].inside);
    }
}

/* -- whose it is -- */

#define CLAIMS_WAITING 16 /* others that tried, until they are let go */

/* Abstract names live in the network namespace, as interfaces do, and end with their process. */
static socklen_t name_of(const struct xdp_interface *interface, struct sockaddr_un *name)
{
    int n;

    *name = (struct sockaddr_un){.sun_family = AF_UNIX};
    n = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, "sluice/xdp/%u", interface->index);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* Who listens there; `pid` 0: nobody of this machine's administrators. False when somebody does,
 * but has too many waiting to be asked who it is. */
static bool owner_of(const struct sockaddr_un *name, socklen_t bytes, struct ucred *owner)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t owner_bytes = sizeof(*owner);
    bool busy = false;

    owner->pid = 0;
    if (fd < 0)
        return true;
    if (connect(fd, (const struct sockaddr *)name, bytes) != 0)
        busy = errno == EAGAIN;
    else if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, owner, &owner_bytes) != 0)
        owner->pid = 0;
    close(fd);
    return !busy;
}

int xdp_lock_interface(struct xdp_interface *interface, char *why, size_t why_bytes)
{
    struct sockaddr_un name;
    socklen_t bytes = name_of(interface, &name);
    struct ucred owner;

    interface->lock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (interface->lock < 0)
        return -errno;
    if (bind(interface->lock, (const struct sockaddr *)&name, bytes) == 0 &&
        listen(interface->lock, CLAIMS_WAITING) == 0)
        return 0;
    close(interface->lock);
    interface->lock = -1;
    if (!owner_of(&name, bytes, &owner)) {
        snprintf(why, why_bytes, "interface %s is served by another daemon already",
                 interface->name);
        return -EBUSY;
    }
    /* A name is anybody's to take: who may not attach programs shall not keep us from it. */
    if (owner.pid == 0 || (owner.uid != 0 && owner.uid != geteuid()))
        return 0;
    snprintf(why, why_bytes, "interface %s is served by another daemon already, process %d",
             interface->name, (int)owner.pid);
    return -EBUSY;
}

void xdp_answer_claims(const struct xdp_interface *interface)
{
    int fd = 0;

    for (unsigned i = 0; i < CLAIMS_WAITING && interface->lock >= 0 && fd >= 0; i++) {
        fd = accept4(interface->lock, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0)
            close(fd);
    }
}

/* -- promiscuity: the driver switches it on at start, off at close -- */

static bool interface_flags(const struct xdp_interface *interface, unsigned long request,
                            struct ifreq *flags)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool done;

    memcpy(flags->ifr_name, interface->name, sizeof(flags->ifr_name));
    done = fd >= 0 && ioctl(fd, request, flags) == 0;
    if (fd >= 0)
        close(fd);
    return done;
}

bool xdp_is_promiscuous(const struct xdp_interface *interface)
{
    struct ifreq flags = {0};

    return interface_flags(interface, SIOCGIFFLAGS, &flags) && flags.ifr_flags & IFF_PROMISC;
}

void xdp_set_promiscuous(const struct xdp_interface *interface, bool on)
{
    struct ifreq flags = {0};
    short wanted;

    if (!interface_flags(interface, SIOCGIFFLAGS, &flags))
        return;
    wanted = (short)(on ? flags.ifr_flags | IFF_PROMISC : flags.ifr_flags & ~IFF_PROMISC);
    if (wanted == flags.ifr_flags)
        return;
    flags.ifr_flags = wanted;
    interface_flags(interface, SIOCSIFFLAGS, &flags);
}
