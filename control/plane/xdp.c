/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Start and end: whose the interfaces are, the programs loaded, the maps where they belong.
 */
#include "control/plane/xdp.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "control/plane/xdp_parts.h"

#include <socket.skel.h>

int xdp_go_without(struct xdp_interface *interface, int err, const char *reason, char *why,
                   size_t why_bytes)
{
    interface->on = false;
    snprintf(interface->why, sizeof(interface->why), "%s", reason);
    if (interface->gate->xdp.use == XDP_REQUIRED) {
        snprintf(why, why_bytes, "gate %s, interface %s: xdp is \"required\", but %s",
                 interface->gate->name, interface->name, reason);
        return err;
    }
    fprintf(stderr, "sluiced: gate %s, interface %s: no XDP: %s\n", interface->gate->name,
            interface->name, reason);
    return 0;
}

bool xdp_any_on(const struct xdp *xdp)
{
    bool on = false;

    for (uint32_t i = 0; i < xdp->n_interfaces; i++)
        on |= xdp->interfaces[i].on;
    return on;
}

/* -- start -- */

/* Whose program is there? A stand-in of a former daemon is, as nobody holds the lock. */
static int look(struct xdp_interface *interface, char *why, size_t why_bytes)
{
    struct xdp_attached *attached = &interface->attached;
    struct xdp_away away;
    char reason[128];
    int err = xdp_query(interface->index, attached);

    if (err) {
        *attached = (struct xdp_attached){.id = 0};
        snprintf(reason, sizeof(reason), "the programs at it cannot be listed: %s", strerror(-err));
        return interface->on ? xdp_go_without(interface, err, reason, why, why_bytes) : 0;
    }
    interface->was_promiscuous = xdp_is_promiscuous(interface);
    if (attached->id && xdp_is_ours(attached)) {
        interface->left = (struct xdp_left){bpf_prog_get_fd_by_id(attached->id), attached->mode,
                                            interface->was_promiscuous};
        if (xdp_count_away(attached->id, interface->index, &away) == 0)
            interface->was_promiscuous = away.promiscuous;
        return 0;
    }
    if (attached->id && interface->on) {
        snprintf(why, why_bytes,
                 "interface %s has an XDP program that is not ours: id %u, name \"%s\", %s mode; "
                 "whoever attached it has to take it away",
                 interface->name, attached->id, attached->name, xdp_mode_name(attached->mode));
        return -EEXIST;
    }
    *attached = (struct xdp_attached){.id = 0};
    return 0;
}

/* An AF_XDP socket needs the place. Other devices share the interface with whatever is attached,
 * but a leftover of ours would take their packets away. */
static bool is_to_claim(const struct xdp *xdp, const struct xdp_interface *interface)
{
    struct xdp_attached attached;

    if (!interface->index)
        return false;
    for (const struct xdp_interface *other = xdp->interfaces; other < interface; other++)
        if (other->claimed && other->index == interface->index) /* each queue may have a device */
            return false;
    return interface->has_socket ||
           (xdp_query(interface->index, &attached) == 0 && xdp_is_ours(&attached));
}

static int claim(struct xdp *xdp, char *why, size_t why_bytes)
{
    int err = 0;

    for (uint32_t i = 0; i < xdp->n_interfaces && !err; i++) {
        struct xdp_interface *interface = &xdp->interfaces[i];

        if (!is_to_claim(xdp, interface))
            continue;
        interface->claimed = true;
        err = xdp_lock_interface(interface, why, why_bytes);
        if (!err)
            err = look(interface, why, why_bytes);
    }
    return err;
}

static int load_standins(struct xdp *xdp, char *why, size_t why_bytes)
{
    char reason[256];
    int err = 0;

    for (uint32_t i = 0; i < xdp->n_interfaces && !err; i++) {
        struct xdp_interface *interface = &xdp->interfaces[i];

        if (!interface->on)
            continue;
        err = xdp_load(&xdp->maps, interface, -1, &interface->standin, reason, sizeof(reason));
        if (err)
            err = xdp_go_without(interface, err, reason, why, why_bytes);
    }
    return err;
}

/* What all programs need. When it cannot be had no gate has one. */
static int all_without(struct xdp *xdp, int err, const char *reason, char *why, size_t why_bytes)
{
    int first = 0;

    for (uint32_t i = 0; err && i < xdp->n_interfaces && !first; i++)
        if (xdp->interfaces[i].on)
            first = xdp_go_without(&xdp->interfaces[i], err, reason, why, why_bytes);
    return first;
}

/* The driver opens a path, of whatever file that holds the object. */
static int offer_socket_object(struct xdp *xdp)
{
    size_t bytes;
    const void *object = socket__elf_bytes(&bytes);

    xdp->socket_object = memfd_create(SOCKET_PROGRAM, MFD_CLOEXEC);
    if (xdp->socket_object < 0)
        return -errno;
    if (write(xdp->socket_object, object, bytes) != (ssize_t)bytes)
        return -EIO;
    for (uint32_t i = 0; i < xdp->n_interfaces; i++)
        snprintf(xdp->interfaces[i].arguments, sizeof(xdp->interfaces[i].arguments),
                 ",xdp_prog=/proc/self/fd/%d", xdp->socket_object);
    return 0;
}

static void note_interfaces(struct xdp *xdp)
{
    for (uint32_t i = 0; i < xdp->n_interfaces; i++) {
        const struct xdp_interface *interface = &xdp->interfaces[i];

        if (!interface->on)
            continue;
        xdp->maps.seen->ports[interface->port].interface = interface->index;
        xdp->maps.seen->ports[interface->port].promiscuous = interface->was_promiscuous;
    }
}

static int prepare(struct xdp *xdp, char *reason, size_t reason_bytes)
{
    int err = xdp_count_start(xdp);

    if (!err)
        err = xdp_tell_ports(xdp);
    if (!err)
        err = offer_socket_object(xdp);
    if (err) {
        snprintf(reason, reason_bytes, "the programs cannot be prepared: %s", strerror(-err));
        return err;
    }
    note_interfaces(xdp);
    return xdp_maps_pin(&xdp->maps, xdp->settings->control.pins, reason, reason_bytes);
}

static int set_up(struct xdp *xdp, struct settings *settings, const struct policy *policy,
                  char *why, size_t why_bytes)
{
    const struct xdp_sizes sizes = xdp_sizes_of(policy);
    char reason[256];
    int err;

    xdp_keep_said();
    xdp_maps_init(&xdp->maps, &sizes);
    xdp_list_interfaces(xdp);
    err = claim(xdp, why, why_bytes);
    if (!err)
        err = load_standins(xdp, why, why_bytes);
    if (!err && xdp_any_on(xdp))
        err = all_without(xdp, prepare(xdp, reason, sizeof(reason)), reason, why, why_bytes);
    if (err)
        return err;
    if (xdp_any_on(xdp))
        settings->dataplane.heartbeats = xdp->maps.arrays.heartbeats;
    xdp_publish(xdp, policy);
    xdp_care_init(xdp);
    settings->dataplane.care = &xdp->care;
    return 0;
}

int xdp_start(struct settings *settings, const struct policy *policy, struct xdp **out, char *why,
              size_t why_bytes)
{
    struct xdp *xdp = calloc(1, sizeof(*xdp));
    int err;

    if (!xdp)
        return -ENOMEM;
    xdp->settings = settings;
    xdp->socket_object = -1;
    err = set_up(xdp, settings, policy, why, why_bytes);
    if (err)
        xdp_stop(xdp);
    else
        *out = xdp;
    return err;
}

void xdp_stop(struct xdp *xdp)
{
    bool leaves = false;

    if (!xdp)
        return;
    for (uint32_t i = 0; i < xdp->n_interfaces; i++) {
        struct xdp_interface *interface = &xdp->interfaces[i];

        leaves |= xdp_stays(xdp, interface);
        if (!xdp->dataplane)
            xdp_put_back(interface);
        xdp_forget_left(interface);
        xdp_unload(&interface->standin);
        xdp_unload(&interface->guard);
        if (interface->lock >= 0)
            close(interface->lock);
    }
    if (!leaves)
        xdp_maps_unpin(&xdp->maps, xdp->settings->control.pins);
    xdp_maps_close(&xdp->maps);
    if (xdp->socket_object >= 0)
        close(xdp->socket_object);
    xdp_count_stop(xdp);
    free(xdp);
}
