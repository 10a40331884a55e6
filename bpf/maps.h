/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The maps of the XDP program as both sides see them: bpf/gate.bpf.c and control/plane.
 *
 * One set of maps serves all interfaces of a daemon; each interface has a program of its own, which
 * differs in struct xdp_options and in its xsks_map. Layouts are those of GATE_VERSION, which names
 * the folder the maps are pinned in.
 *
 * Policy lies twice ("banks"): the control thread fills the bank that is not in use, then sets
 * xdp_control.bank, and waits for a grace period before it touches the other one again. A program
 * reads the bank once per packet. Live state (tokens, counters) belongs to the id that a policy
 * gives a name and lies once.
 *
 * All times are CLOCK_MONOTONIC ns, what bpf_ktime_get_ns() returns. Maps marked M are mapped into
 * the daemon's memory (BPF_F_MMAPABLE): plain stores publish. Words have one writer each.
 */
#ifndef SLUICE_BPF_MAPS_H
#define SLUICE_BPF_MAPS_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/hosts.h"
#include "bpf/slots.h"
#include "dataplane/admission/bucket.h"
#include "dataplane/admission/client.h"
#include "dataplane/admission/heartbeat.h"
#include "dataplane/admission/verdict.h"
#include "dataplane/policy/service.h"
#include "dataplane/policy/service_search.h"

#define GATE_VERSION "v1"
#define GATE_PROGRAM "sluice_gate" /* the name by which our own is recognised */

#define XDP_BANKS       2
#define XDP_PORTS_MAX   64 /* interfaces of one daemon */
#define XDP_QUEUES_MAX  64 /* of an interface */
#define XDP_WORKERS_MAX 64
#define XDP_PROBES_MAX  POLICY_PROBES_MAX

/* -- constants of one loaded program: its .rodata -- */

struct xdp_options {
    uint32_t port;  /* index into `ports` and `port_counters` */
    uint8_t traces; /* tests: fills `trace` */
    uint8_t timed;  /* tests: the time is test_now_ns, a global of the program */
    uint8_t guards; /* tests: as if there were a live socket and a fresh heartbeat */
    uint8_t unused;
    uint32_t n_tenants, n_services; /* ids are below these; the maps have room for as many */
};

/* -- control (M), one entry -- */

struct xdp_control {
    uint32_t bank;           /* of the policy in force */
    uint32_t ready;          /* 0: no policy yet, all but malformed packets passes to the stack */
    struct client_seed seed; /* of the workers' client hashes */
};

/* -- heartbeats (M), by worker: struct heartbeat -- */

/* -- ports (M), by port: an interface of a gate -- */

enum xdp_standby { XDP_STANDBY_PASS /* to the stack */, XDP_STANDBY_REDIRECT /* to the peer */ };

struct xdp_port {
    uint32_t peer;     /* XDP_STANDBY_REDIRECT: index into `devices` */
    uint8_t direction; /* enum direction of what it receives */
    uint8_t standby;   /* enum xdp_standby */
    uint8_t unused[2];
    uint64_t standby_after_ns;      /* a heartbeat older than this is stale */
    struct bucket_rate control;     /* packets of control traffic, each kind by itself */
    uint8_t worker[XDP_QUEUES_MAX]; /* who polls the socket of a queue */
};

/* -- policy, by bank -- */

/* images (M), by bank: where to look in slots, ranges, spans and denied_hosts. Indices into those
 * are already those of the bank. */
struct xdp_image {
    struct prefix_shape tenants_v4, tenants_v6; /* values: tenant ids, POLICY_NONE: of no prefix */
    struct prefix_shape denied_v4, denied_v6;   /* values: 1, 0: not denied */
    uint32_t first_span, n_spans;
    uint32_t default_tenant; /* id */
    uint32_t has_denied;     /* 0: the deny list is empty */
    uint32_t first_hosts;    /* of denied_hosts */
    uint32_t hosts_shift;    /* of hosts_number() */
    uint32_t more_denied_v4; /* 0: denied_hosts holds all that denied_v4 does */
};

/* slots (M): struct xdp_slot. ranges (M): struct prefix_range. spans (M): struct service_span,
 * whose `service` is an id. */

/* denied_hosts (M), XDP_HOSTS a bank: struct hosts_bucket. Denied IPv4 addresses, but for those of
 * networks and those that found their bucket full. The ranges of denied_v4 hold them all. */
#define XDP_HOSTS (1u << HOSTS_BITS_MAX)

/*
 * tenants, tenant_volumes (M), by bank * n_tenants + id. Where tenants are many, what is read of
 * one is in no cache; so what only few have, and what a refused attempt asks for last, lies apart.
 */
struct xdp_tenant {
    struct bucket_rate attempts;
    uint8_t class;  /* enum policy_class */
    uint8_t coarse; /* every burst lasts for two ticks of the coarse clock at least */
    uint8_t volume; /* there are limits in tenant_volumes */
    uint8_t unused[5];
};

struct xdp_tenant_volume {
    struct bucket_rate packets, bits;
};

/* services (M), by bank * n_services + id */
struct xdp_service {
    uint32_t tenant; /* id: who asks when no prefix matches */
    uint8_t unit;    /* enum policy_unit */
    uint8_t refusal; /* enum policy_refusal */
    uint8_t closed;  /* standby: refuses while its capacity is unknown */
    uint8_t n_probes;
    struct bucket_rate answers; /* refusals that are told: what the workers have to answer */
    struct bucket_rate checks;  /* attempts of health checks */
    struct xdp_probe {
        uint64_t network[2], mask[2]; /* halves of struct address */
    } probes[XDP_PROBES_MAX];
};

/* -- advice (M), by service id: what the control loop says, once a period -- */

struct xdp_advice {
    uint64_t stamped_ns;
    uint32_t shed[CLASS_MAX]; /* p * 2^32 */
    uint32_t turned_away;     /* by the operator's ramp, p * 2^32 */
    uint32_t by_attempt;      /* few clients: attempts are shed, not clients */
    uint32_t epoch;           /* of the hashes */
    struct bucket_rate cap;   /* attempts, from the capacity; unlimited: it is not known */
};

/* -- live state: buckets under a lock of their own, written by the program alone -- */

/* tenant_state, by id */
struct xdp_tenant_state {
    struct bpf_spin_lock lock;
    uint32_t started; /* 0: the bucket is not filled yet */
    struct bucket attempts;
};

/* volume_state, by id */
struct xdp_volume_state {
    struct bpf_spin_lock lock;
    uint32_t started; /* 0: buckets not filled yet */
    struct bucket packets, bits;
};

/* service_state, by id */
struct xdp_service_state {
    struct bpf_spin_lock lock;
    uint32_t started; /* a bit for each bucket, in their order */
    struct bucket cap, answers, checks;
};

/* control_state, by port * XDP_CONTROLS + kind */
enum xdp_control_kind { XDP_CONTROL_LINK, XDP_CONTROL_IP, XDP_CONTROL_ERRORS, XDP_CONTROLS };
struct xdp_bucket_state {
    struct bpf_spin_lock lock;
    uint32_t started;
    struct bucket bucket;
};

/* -- counters, one for each CPU -- */

/* Invariant 1 of the program: received = socket + passed + redirected + dropped. */
struct xdp_port_counters {
    uint64_t received;
    uint64_t guarded;    /* of these, neither denied nor malformed, while the workers were there */
    uint64_t socket;     /* to a worker */
    uint64_t passed;     /* to the stack */
    uint64_t redirected; /* to the peer */
    uint64_t dropped[REASON_MAX];
};

/* tenant_floods, by id / XDP_FLOODS: attempts over their tenant's rate, of each tenant of the
 * block. A flood may be of all tenants, and has these eight bytes to write for each. */
#define XDP_FLOODS 512u
struct xdp_floods {
    uint64_t refused[XDP_FLOODS]; /* by id % XDP_FLOODS */
};

/* Attempts that the program itself has decided; of a tenant without those in tenant_floods. */
struct xdp_tenant_counters {
    uint64_t attempts, admitted;
    uint64_t packets, bytes; /* passed in standby, outside -> inside; bytes by IP length */
    uint64_t dropped_packets, dropped_bits;
    uint64_t refused[REASON_ATTEMPT_MAX];
};

struct xdp_service_counters {
    uint64_t attempts, admitted;
    uint64_t reached[CLASS_MAX]; /* came as far as shedding */
    uint64_t unanswered;         /* refusals: the program answers none */
    uint64_t refused[REASON_ATTEMPT_MAX];
};

/* -- trace, one entry for each CPU: what was made of the last packet; tests -- */

enum xdp_way { XDP_WAY_DROP, XDP_WAY_SOCKET, XDP_WAY_PASS, XDP_WAY_REDIRECT };

struct xdp_trace {
    uint32_t way;             /* enum xdp_way */
    uint32_t reason;          /* enum reason */
    uint32_t tenant, service; /* ids; UINT32_MAX: nobody was asked for */
};

#endif
