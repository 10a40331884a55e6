/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the data plane is built from. Plain data, filled by control/config, checked there; free of
 * DPDK so that any part of the house may read it. Strings and arrays belong to the filler.
 */
#ifndef SLUICE_WORKER_SETTINGS_H
#define SLUICE_WORKER_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dataplane/admission/heartbeat.h"
#include "dataplane/flow/lifecycle.h"
#include "dataplane/policy/rate.h"

#define DATAPLANE_WORKERS_MAX   64
#define DATAPLANE_GATES_MAX     16
#define DATAPLANE_DEVICES_MAX   16   /* per side of a gate */
#define DATAPLANE_HANDOVER_RING 2048 /* packets in each of a worker's hand-over rings */
#define DATAPLANE_WAITING_MIN   1024
#define DATAPLANE_WAITING_MAX   1048576

enum memory_mode { MEMORY_AUTO, MEMORY_HUGE, MEMORY_NONE };
enum idle_mode { IDLE_POLL, IDLE_SLEEP };
/* PACKETS: time is the timestamp of the packets themselves (net_pcap), for tests and replays. */
enum clock_mode { CLOCK_TSC, CLOCK_PACKETS };

struct eal_settings {
    enum memory_mode memory;
    uint32_t memory_mib;
    uint32_t main_cpu;
    uint32_t n_workers;
    uint32_t worker_cpus[DATAPLANE_WORKERS_MAX];
    enum idle_mode idle;
    enum clock_mode clock;
    const char *extra; /* further EAL arguments, separated by blanks; "" for none */
};

/* One side of a gate: EAL devices, each a PCI address or a vdev with its arguments. */
struct port_settings {
    uint32_t n_devices;
    const char *devices[DATAPLANE_DEVICES_MAX];
};

/* A program at the interfaces of a gate: a guard before the workers, their stand-in without them.
 */
enum xdp_use { XDP_OFF, XDP_OPTIONAL, XDP_REQUIRED };
/* AUTO: in the driver where that can do it, else in the kernel's generic path. */
enum xdp_mode { XDP_AUTO, XDP_NATIVE, XDP_GENERIC };

struct gate_xdp {
    enum xdp_use use;
    enum xdp_mode mode;
    bool redirect; /* standing in, forward to the other interface of the gate; else pass */
    uint64_t standby_after_ns; /* so long without a sign of life of its worker it stands in */
    bool stays;                /* stands in after an orderly exit too, else it goes along */
};

struct gate_settings {
    const char *name;
    struct port_settings outside, inside;
    struct quota_rate control; /* packets of control traffic per period, for each direction */
    struct gate_xdp xdp;
};

/*
 * What is done beside a device by whoever knows its interface in the kernel (control/plane, for
 * XDP). Control thread. `device` is the string of the settings.
 */
struct device_care {
    void *context;
    /* Further arguments of the device, with their leading comma; "" for none. Must stay until the
     * data plane exists. */
    const char *(*arguments)(void *context, const char *device);
    /* Just before its queues are set up, and just after; 0 or -errno with a sentence in `why`. */
    int (*before)(void *context, const char *device, char *why, size_t why_bytes);
    int (*after)(void *context, const char *device, char *why, size_t why_bytes);
    /* It has been closed: also one that could not be set up. */
    void (*closed)(void *context, const char *device);
};

struct dataplane_settings {
    struct eal_settings eal;
    uint32_t n_gates;
    struct gate_settings gates[DATAPLANE_GATES_MAX];
    uint32_t flows_max; /* per data plane, split over the workers */
    struct flow_timeouts timeouts;
    uint32_t waiting_max;           /* waiting places of all services together, at any time */
    const struct device_care *care; /* NULL: none */
    struct heartbeat *heartbeats;   /* by worker; NULL: nobody else looks at them */
};

#endif
