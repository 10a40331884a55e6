/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The programs of an interface while its device comes and goes. In order: what a former daemon left
 * is taken away, the driver attaches its own, which the stand-in replaces, and that the guard; when
 * the device has been closed the stand-in comes again, or nobody.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "control/plane/xdp_parts.h"

static struct xdp_interface *find_interface(struct xdp *xdp, const char *device)
{
    for (uint32_t i = 0; i < xdp->n_interfaces; i++)
        if (!strcmp(xdp->interfaces[i].device, device))
            return &xdp->interfaces[i];
    return NULL;
}

/* -- around the set-up of a device -- */

static const char *arguments(void *context, const char *device)
{
    const struct xdp_interface *interface = find_interface(context, device);

    return interface && interface->on ? interface->arguments : "";
}

static void say_taken_over(struct xdp_interface *interface, const struct xdp_attached *standin)
{
    struct xdp_away away;

    if (strcmp(standin->name, GATE_PROGRAM) != 0)
        return;
    if (xdp_count_away(standin->id, interface->index, &away) == 0)
        fprintf(
            stderr,
            "sluiced: %s: took over from its stand-in (program %u): while we were away it "
            "passed %llu packets and dropped %llu; attempts, over all interfaces: %llu admitted, "
            "%llu refused\n",
            interface->name, standin->id, (unsigned long long)away.passed,
            (unsigned long long)away.dropped, (unsigned long long)away.admitted,
            (unsigned long long)away.refused);
    else
        fprintf(stderr, "sluiced: %s: took over from its stand-in (program %u)\n", interface->name,
                standin->id);
}

/* The driver attaches only where nobody is. Once gone it counts no more; the descriptor that was
 * kept holds its maps until they have been read. */
static int take_standin_away(struct xdp_interface *interface, char *why, size_t why_bytes)
{
    const struct xdp_attached standin = interface->attached;
    int err;

    if (standin.id == 0)
        return 0;
    err = xdp_detach(interface->index, &standin);
    if (err)
        snprintf(why, why_bytes,
                 "interface %s: a former daemon's program %u cannot be detached: %s",
                 interface->name, standin.id, strerror(-err));
    else
        say_taken_over(interface, &standin);
    interface->attached = (struct xdp_attached){.id = 0};
    if (!err) /* the new driver switches on what it needs, if any is to come */
        xdp_set_promiscuous(interface, interface->was_promiscuous);
    return err;
}

static int before(void *context, const char *device, char *why, size_t why_bytes)
{
    struct xdp_interface *interface = find_interface(context, device);

    return interface && interface->claimed ? take_standin_away(interface, why, why_bytes) : 0;
}

/* The driver takes the mode it can get; a generic one has to be asked for. */
static int replace_driver(struct xdp_interface *interface, const struct xdp_attached *driver)
{
    int program = xdp_program_fd(interface->standin), err;

    if (interface->gate->xdp.mode != XDP_GENERIC || driver->mode == XDP_ATTACHED_SKB)
        err = xdp_replace(interface->index, driver, program);
    else if (!(err = xdp_detach(interface->index, driver)))
        err = xdp_attach(interface->index, program, XDP_ATTACHED_SKB);
    return err ? err : xdp_query(interface->index, &interface->attached);
}

/* To verify a program takes a while, in which the stand-in is there already. `xsks` is the map with
 * the driver's sockets. */
static int put_guard(struct xdp *xdp, struct xdp_interface *interface, int xsks, char *why,
                     size_t why_bytes)
{
    int err = xdp_load(&xdp->maps, interface, xsks, &interface->guard, why, why_bytes);

    if (err)
        return err;
    err = xdp_replace(interface->index, &interface->attached, xdp_program_fd(interface->guard));
    if (!err)
        err = xdp_query(interface->index, &interface->attached);
    if (err)
        snprintf(why, why_bytes, "the guard cannot be attached: %s", strerror(-err));
    return err;
}

/* What the driver has attached, unless it shall not be replaced. */
static int find_driver(const struct xdp_interface *interface, struct xdp_attached *driver,
                       char *why, size_t why_bytes)
{
    int err = xdp_query(interface->index, driver);

    if (err || driver->id == 0 || strcmp(driver->name, SOCKET_PROGRAM) != 0) {
        snprintf(why, why_bytes, "DPDK's driver has not attached its program");
        return err ? err : -ENODEV;
    }
    if (driver->mode == XDP_ATTACHED_SKB && interface->gate->xdp.mode == XDP_NATIVE) {
        snprintf(why, why_bytes, "its driver has no XDP of its own, and mode is \"native\"");
        return -ENOTSUP;
    }
    return 0;
}

static int attach_guard(struct xdp *xdp, struct xdp_interface *interface, char *why,
                        size_t why_bytes)
{
    struct xdp_attached driver;
    int err = find_driver(interface, &driver, why, why_bytes), xsks, program;

    if (err)
        return err;
    program = bpf_prog_get_fd_by_id(driver.id);
    xsks = xdp_map_of(driver.id, "xsks_map");
    err = xsks < 0 ? xsks : program < 0 ? -errno : replace_driver(interface, &driver);
    if (err) {
        snprintf(why, why_bytes, "the driver's program cannot be replaced: %s", strerror(-err));
    } else {
        err = put_guard(xdp, interface, xsks, why, why_bytes);
        if (err) /* the workers live on what the driver's program sends them */
            xdp_replace(interface->index, &interface->attached, program);
    }
    if (xsks >= 0)
        close(xsks);
    if (program >= 0)
        close(program);
    return err;
}

static int after(void *context, const char *device, char *why, size_t why_bytes)
{
    struct xdp_interface *interface = find_interface(context, device);
    char reason[256];
    int err;

    if (!interface || !interface->on)
        return 0;
    err = attach_guard(context, interface, reason, sizeof(reason));
    xdp_tell_peer(context, interface, !err);
    return err ? xdp_go_without(interface, err, reason, why, why_bytes) : 0;
}

/* -- when the device has been closed -- */

bool xdp_stays(const struct xdp *xdp, const struct xdp_interface *interface)
{
    return interface->on && xdp->dataplane && interface->gate->xdp.stays;
}

static void leave_standin(struct xdp_interface *interface, uint8_t mode)
{
    int err = xdp_attach(interface->index, xdp_program_fd(interface->standin), mode);

    if (err)
        fprintf(stderr, "sluiced: %s: the stand-in cannot be attached: %s\n", interface->name,
                strerror(-err));
    else if (interface->gate->xdp.redirect) /* it forwards what is addressed to others */
        xdp_set_promiscuous(interface, true);
}

/* The driver detaches what it finds in native mode, and switches promiscuity off. */
static void closed(void *context, const char *device)
{
    struct xdp *xdp = context;
    struct xdp_interface *interface = find_interface(xdp, device);
    struct xdp_attached left;
    uint8_t mode;

    if (!interface || !interface->claimed)
        return;
    mode = interface->attached.id                     ? interface->attached.mode
           : interface->gate->xdp.mode == XDP_GENERIC ? XDP_ATTACHED_SKB
                                                      : XDP_ATTACHED_DRV;
    if (xdp_query(interface->index, &left) == 0 && left.id && xdp_is_ours(&left))
        xdp_detach(interface->index, &left);
    xdp_set_promiscuous(interface, interface->was_promiscuous);
    if (xdp_stays(xdp, interface))
        leave_standin(interface, mode);
    else
        xdp_tell_peer(xdp, interface, false);
}

/* EAL's end closes also devices that were never set up, and the driver detaches what it finds, so
 * this is done last and trusts in nothing but a look. */
void xdp_put_back(const struct xdp_interface *interface)
{
    const struct xdp_left *left = &interface->left;
    struct xdp_attached now;
    int err;

    if (left->program < 0)
        return;
    err = xdp_query(interface->index, &now);
    if (!err && now.id == 0)
        err = xdp_attach(interface->index, left->program, left->mode);
    if (err)
        fprintf(stderr, "sluiced: %s: the stand-in that was there cannot be attached again: %s\n",
                interface->name, strerror(-err));
    xdp_set_promiscuous(interface, left->promiscuous);
}

void xdp_forget_left(struct xdp_interface *interface)
{
    if (interface->left.program >= 0)
        close(interface->left.program);
    interface->left.program = -1;
}

void xdp_care_init(struct xdp *xdp)
{
    xdp->care = (struct device_care){xdp, arguments, before, after, closed};
}
