/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Policy: who the tenants and services are and what they may do. An immutable snapshot.
 *
 * Built from a struct policy_spec by one thread, then read by any number of threads without a lock,
 * and freed once no reader can hold it (dataplane/worker/worker.h says how that is known).
 * Nothing here changes with traffic: tokens, slots and counters live in admission.h, found through
 * the tenant's or service's `id`, which the builder of the specification keeps for a name as long
 * as the process lives.
 */
#ifndef SLUICE_POLICY_POLICY_H
#define SLUICE_POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dataplane/policy/address.h"
#include "dataplane/policy/prefix.h"
#include "dataplane/policy/rate.h"
#include "dataplane/policy/service.h"
#include "dataplane/policy/service_search.h"

#define POLICY_TENANTS_MAX  65536
#define POLICY_SERVICES_MAX 4096
#define POLICY_PREFIXES_MAX 1048576
#define POLICY_DENIED_MAX   65536
#define POLICY_NONE         UINT32_MAX

#define POLICY_MILLI_ERLANGS_MAX 65536000u /* what occupancy.h can count */
#define POLICY_ERLANGS_UNLIMITED UINT32_MAX

/* As the configuration writes them. */
const char *policy_class_name(enum policy_class c);
const char *policy_unit_name(enum policy_unit u);
const char *policy_refusal_name(enum policy_refusal r);
const char *policy_turn_name(enum policy_turn t);
const char *policy_order_name(enum policy_order o);
const char *policy_breaker_mode_name(enum policy_breaker_mode m);

struct policy_prefix {
    struct address network; /* host bits are masked by the policy, duplicates must be gone */
    uint8_t bits;           /* 0 .. 128, in the mapped form: IPv4 /24 is 120 */
    uint32_t tenant;        /* index into tenants[] */
};

struct policy_tenant {
    struct quota_rate attempts; /* attempts per period */
    struct quota_rate packets;  /* packets per period, outside -> inside */
    struct quota_rate bits;     /* bits per second by IP length, outside -> inside */
    uint32_t window;            /* slots; POLICY_WINDOW_MAX: no limit of its own */
    uint32_t milli_erlangs;     /* slot-seconds a second, in thousandths; 0 blocks */
    uint32_t id;                /* index of the live state that belongs to this name */
    enum policy_class class;
    char name[POLICY_NAME_MAX + 1];
};

/* No limits; class bulk, id 0, no name. */
struct policy_tenant policy_tenant_unlimited(void);

/* What a policy is built from. tenants[default_tenant] catches whoever no prefix names. */
struct policy_spec {
    struct policy_tenant *tenants;
    struct policy_service *services;
    struct policy_prefix *prefixes;
    struct policy_network *denied; /* nothing from there gets in; duplicates must be gone */
    uint32_t n_tenants, n_services, n_prefixes, n_denied;
    uint32_t default_tenant;
    uint64_t epoch; /* counts publications, for `status` */
};

struct policy;

/*
 * Copies `spec` into a new snapshot; the caller keeps its specification. 0, or
 *   -EINVAL  two prefixes, or two denied ones, are the same network, two services share an address,
 * protocol and port, or an index or a number of shares or probes is out of range (control/config
 * reports these with file and line; rates are judged there, and admission blocks one that it cannot
 * count), -ENOMEM.
 */
int policy_create(const struct policy_spec *spec, struct policy **out);
void policy_free(struct policy *policy);

uint64_t policy_epoch(const struct policy *policy);
uint32_t policy_tenant_count(const struct policy *policy);
uint32_t policy_service_count(const struct policy *policy);
uint32_t policy_default_tenant(const struct policy *policy);
const struct policy_tenant *policy_tenant(const struct policy *policy, uint32_t index);
const struct policy_service *policy_service(const struct policy *policy, uint32_t index);
/* Their ids alone, which lie close together, for every newcomer. */
uint32_t policy_tenant_id(const struct policy *policy, uint32_t index);
uint32_t policy_service_id(const struct policy *policy, uint32_t index);

/* Index of the service that owns (address, protocol, port), or POLICY_NONE. Any thread. */
uint32_t policy_find_service(const struct policy *policy, const struct address *address,
                             uint8_t protocol, uint16_t port);

/* Does any service name this address, on whatever protocol and port? */
bool policy_names_address(const struct policy *policy, const struct address *address);

/*
 * Who asks: the longest source prefix, else the service's own tenant, else `default`.
 * `service` may be POLICY_NONE. Returns an index into the tenants.
 */
uint32_t policy_find_tenant(const struct policy *policy, const struct address *source,
                            uint32_t service);

/* Does `source` belong to the health checks of a service? */
bool policy_is_probe(const struct policy *policy, uint32_t service, const struct address *source);

/* What the questions above are answered from, for who answers them from copies. Values of the
 * prefixes and services of the spans are indices; the arrays live as long as the policy. */
struct policy_tables {
    struct prefix_view tenants_v4, tenants_v6; /* POLICY_NONE: of no prefix */
    struct prefix_view denied_v4, denied_v6;   /* 1; 0: not denied */
    const struct service_span *spans;
    uint32_t n_spans;
};
struct policy_tables policy_tables(const struct policy *policy);

/* Is there a deny list, and is `source` on it? A prefix of IPv6 around IPv4's corner of the address
 * space says nothing about IPv4. */
bool policy_has_denied(const struct policy *policy);
bool policy_is_denied(const struct policy *policy, const struct address *source);

/* Whose part of a service's window a tenant uses: i + 1 for shares[i], 0 for everybody else. */
unsigned policy_share_of(const struct policy *policy, uint32_t service, uint32_t tenant);

#endif
