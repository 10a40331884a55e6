/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the parts of control/plane/xdp*.c share. Private to them.
 */
#ifndef SLUICE_PLANE_XDP_PARTS_H
#define SLUICE_PLANE_XDP_PARTS_H

#include <bpf/libbpf.h>
#include <net/if.h>

#include "control/plane/xdp.h"
#include "control/plane/xdp_bank.h"

#define XDP_SHARED_MAX 24 /* maps of all programs */

#define SOCKET_PROGRAM "sluice_socket" /* of the object that the driver loads */

struct gate;

/*
 * What only the daemon writes, for its successor: how far it had counted, and how it found the
 * interfaces. A map of its own that is bound to each program, so that it is found through them.
 */
struct xdp_seen {
    uint64_t admitted, refused; /* attempts, at all interfaces */
    struct {
        uint64_t passed, dropped; /* packets */
        uint32_t interface;       /* its index */
        uint32_t promiscuous;     /* before any daemon came */
    } ports[XDP_PORTS_MAX];
};

/* The maps of all programs. Descriptors are -1 until they exist. */
struct xdp_maps {
    int shared[XDP_SHARED_MAX]; /* in the order of the list in xdp_maps.c */
    int seen_fd, grace_fd;
    struct xdp_seen *seen;
    struct xdp_arrays arrays;
    bool pinned;
    int pins_lock;
};

/* Who is attached. `mode` is one of XDP_ATTACHED_* (linux/if_link.h). */
struct xdp_attached {
    uint32_t id; /* 0: nobody */
    uint8_t mode;
    char name[16];
};

/* What a former daemon had left at an interface, for a start that fails to put there again. */
struct xdp_left {
    int program; /* below zero: nothing */
    uint8_t mode;
    bool promiscuous; /* when it was found */
};

/* One device of a gate. */
struct xdp_interface {
    const struct gate_settings *gate;
    const char *side, *device;
    char name[IF_NAMESIZE]; /* "": the kernel has none of it */
    unsigned index;
    uint32_t first_queue, port;
    bool has_socket;              /* an AF_XDP device */
    bool on;                      /* it has, or is about to have, a program of ours */
    bool claimed;                 /* what is attached there is our care */
    int lock;                     /* held while it is ours; -1 */
    struct gate *standin, *guard; /* without a socket, and with the driver's */
    struct xdp_attached attached;
    struct xdp_left left;
    bool was_promiscuous; /* before any daemon came */
    uint64_t workers;     /* who poll its queues, a bit each */
    char arguments[64];
    char why[256];
};

#define XDP_INTERFACES_MAX (DATAPLANE_GATES_MAX * 2 * DATAPLANE_DEVICES_MAX)

struct xdp {
    const struct settings *settings;
    struct dataplane *dataplane; /* NULL until it is there */
    struct device_care care;
    struct xdp_maps maps;
    int socket_object;                  /* a file with the object that the driver loads; -1 */
    uint32_t next_told;                 /* service */
    uint32_t next_tenant, next_service; /* to be counted */
    void *values;                       /* of one reading of a map, all CPUs' */
    uint32_t cpus;
    struct xdp_counted *counted; /* by tenant: what was counted of it last */
    struct xdp_floods *floods;   /* sums of tenant_floods, as they were read last */
    uint32_t n_interfaces, n_ports;
    struct xdp_interface interfaces[XDP_INTERFACES_MAX];
};

/* -- xdp.c -- */

bool xdp_any_on(const struct xdp *xdp);
/* The program cannot be had: who requires it fails with the reason in `why`, the others go on
 * without, and 0 is returned. */
int xdp_go_without(struct xdp_interface *interface, int err, const char *reason, char *why,
                   size_t why_bytes);

/* -- xdp_care.c -- */

void xdp_care_init(struct xdp *xdp);
/* Does it leave a stand-in behind? */
bool xdp_stays(const struct xdp *xdp, const struct xdp_interface *interface);
/* After a start that failed: what was left there is there again. */
void xdp_put_back(const struct xdp_interface *interface);
void xdp_forget_left(struct xdp_interface *interface);

/* -- xdp_interfaces.c -- */

/* Lists the devices of all gates. */
void xdp_list_interfaces(struct xdp *xdp);
/* Makes the interface ours as long as this process lives; -EBUSY names who has it. */
int xdp_lock_interface(struct xdp_interface *interface, char *why, size_t why_bytes);
/* Lets those go who asked whose it is, so that the next ones can. */
void xdp_answer_claims(const struct xdp_interface *interface);
bool xdp_is_promiscuous(const struct xdp_interface *interface);
void xdp_set_promiscuous(const struct xdp_interface *interface, bool on);

/* -- xdp_load.c -- */

/* Opens, sizes and loads a program; with `xsks` below zero on a socket map of its own, which stays
 * empty. The first one makes the maps, the others share them. */
int xdp_load(struct xdp_maps *maps, const struct xdp_interface *interface, int xsks,
             struct gate **out, char *why, size_t why_bytes);
void xdp_unload(struct gate **program);
int xdp_program_fd(const struct gate *program);

/* -- xdp_said.c -- */

#define XDP_LOG_WISH "SLUICE_BPF_LOG"

/* Does the environment wish for all that libbpf, libxdp and the verifier say? */
bool xdp_says_all(void);
/* From now on what the libraries say goes to stderr only if that is so. */
void xdp_keep_said(void);
/* What they have said so far is of no interest. */
void xdp_forget_said(void);

/* -- xdp_maps.c -- */

void xdp_maps_init(struct xdp_maps *maps, const struct xdp_sizes *sizes);
/* Gives an object that is not loaded yet the sizes, or the maps if they exist. */
int xdp_maps_prepare(struct xdp_maps *maps, struct bpf_object *object);
/* Keeps the maps of the first object. */
int xdp_maps_keep(struct xdp_maps *maps, const struct bpf_object *object, char *why,
                  size_t why_bytes);
void xdp_maps_close(struct xdp_maps *maps);
/* Of the maps that all programs share, in turn; NULL behind the last. */
const char *xdp_maps_name(unsigned number);
int xdp_maps_fd(const struct xdp_maps *maps, const char *name);
/* Returns when no program runs that had started before. */
int xdp_maps_wait(const struct xdp_maps *maps);

/* -- xdp_pins.c -- */

/* -EBUSY: a live daemon has its maps there. */
int xdp_maps_pin(struct xdp_maps *maps, const char *folder, char *why, size_t why_bytes);
void xdp_maps_unpin(struct xdp_maps *maps, const char *folder);

/* -- xdp_attach.c -- */

int xdp_query(unsigned index, struct xdp_attached *out);
/* Our gate, or the object that the driver loads. */
bool xdp_is_ours(const struct xdp_attached *attached);
const char *xdp_mode_name(uint8_t mode);
/* A descriptor of a map that the program uses, by the name that the kernel has kept; -errno. */
int xdp_map_of(uint32_t program, const char *name);
int xdp_attach(unsigned index, int program, uint8_t mode);
int xdp_replace(unsigned index, const struct xdp_attached *old, int program);
/* Takes exactly that program away; 0 also if it is gone. */
int xdp_detach(unsigned index, const struct xdp_attached *old);

/* -- xdp_publish.c -- */

/* What the programs must know of their interfaces. */
int xdp_tell_ports(struct xdp *xdp);
/* It has a program, or none any more. Only to one that has is redirected: the answer would be lost,
 * and whoever asked be connected with nobody. */
void xdp_tell_peer(struct xdp *xdp, const struct xdp_interface *interface, bool there);

/* -- xdp_count.c -- */

int xdp_count_start(struct xdp *xdp);
void xdp_count_tend(struct xdp *xdp);
void xdp_count_stop(struct xdp *xdp);
struct xdp_counts xdp_count_port(const struct xdp *xdp, uint32_t port);

/* What stood in at an interface has done since its daemon looked last. */
struct xdp_away {
    uint64_t admitted, refused; /* attempts, at all interfaces of that daemon */
    uint64_t passed, dropped;   /* packets */
    bool promiscuous;           /* the interface was, before any daemon came */
};
/* -errno when there are no counters, or others than ours. */
int xdp_count_away(uint32_t program, unsigned interface, struct xdp_away *away);

#endif
