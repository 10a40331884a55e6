/* SPDX-License-Identifier: BSD-3-Clause */
/* What tests of the decision core share: addresses from text, small policies, and their memory. */
#ifndef SLUICE_TESTS_CORE_H
#define SLUICE_TESTS_CORE_H

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/admission/admission.h"
#include "dataplane/policy/policy.h"

#define CORE_S  1000000000ull
#define CORE_MS 1000000ull

#define CORE_UNLIMITED ((struct quota_rate){.unlimited = true})

static inline struct quota_rate core_rate(uint64_t amount, uint32_t period_s, uint64_t burst)
{
    return (struct quota_rate){.amount = amount, .period_s = period_s, .burst = burst};
}

/* Aborts on text that is no address: a test never means that. */
static inline struct address core_address(const char *text)
{
    struct address a;
    uint32_t word;

    if (inet_pton(AF_INET, text, &word) == 1)
        return address_from_v4(word);
    if (inet_pton(AF_INET6, text, a.bytes) != 1)
        abort();
    return a;
}

/* A prefix; `bits` as people write them, so 24 for an IPv4 /24. */
static inline struct policy_prefix core_prefix(const char *network, unsigned bits, uint32_t tenant)
{
    bool v4 = strchr(network, ':') == NULL;

    return (struct policy_prefix){
        .network = core_address(network),
        .bits = (uint8_t)(bits + (v4 ? ADDRESS_V4_PREFIX_BITS : 0)),
        .tenant = tenant,
    };
}

/* No limit at all; the test sets what it is about. */
static inline struct policy_tenant core_tenant(uint32_t id)
{
    struct policy_tenant t = policy_tenant_unlimited();

    t.id = id;
    snprintf(t.name, sizeof(t.name), "tenant-%u", id);
    return t;
}

static inline struct policy_service core_service(uint32_t id, struct address *address,
                                                 struct policy_ports *ports)
{
    struct policy_service s = policy_service_unlimited();

    s.addresses = address;
    s.ports = ports;
    s.n_addresses = 1;
    s.n_ports = 1;
    s.id = id;
    s.refusal = REFUSAL_RST;
    snprintf(s.name, sizeof(s.name), "service-%u", id);
    return s;
}

/* Zeroed, cache-line aligned. */
static inline void *core_memory(size_t bytes)
{
    size_t whole = (bytes + 63) & ~(size_t)63;
    void *memory = aligned_alloc(64, whole);

    if (!memory)
        abort();
    return memset(memory, 0, whole);
}

/* The end of a slot's work, at a time that no limit of the test depends on. */
static inline void core_complete(struct admission *adm, const struct slot *slot,
                                 enum outcome outcome)
{
    admission_complete(adm, slot, &(struct ending){.outcome = outcome}, 0);
}

#define CORE_WORKERS_MAX 16

/* Workers without threads: what they share, what each has, and the policy in force. */
struct core_crew {
    uint32_t n;
    struct admission_shared *shared;
    struct admission *workers[CORE_WORKERS_MAX];
    struct policy *policy; /* NULL before the first */
};

static inline void core_crew_start(struct core_crew *crew, const struct admission_size *size)
{
    *crew = (struct core_crew){.n = size->n_workers};
    crew->shared = admission_shared_init(core_memory(admission_shared_bytes(size)), size);
    for (uint32_t w = 0; w < crew->n; w++)
        crew->workers[w] = admission_init(core_memory(admission_bytes(size)), crew->shared, w);
}

/* What the control thread does; each worker then takes the policy over with admission_adopt(). */
static inline void core_crew_publish(struct core_crew *crew, const struct policy_spec *spec,
                                     uint64_t now_ns)
{
    policy_free(crew->policy);
    if (policy_create(spec, &crew->policy) != 0)
        abort();
    admission_shared_adopt(crew->shared, crew->policy, now_ns);
}

/* Publishes, and every worker takes it over. */
static inline void core_crew_adopt(struct core_crew *crew, const struct policy_spec *spec,
                                   uint64_t now_ns)
{
    core_crew_publish(crew, spec, now_ns);
    for (uint32_t w = 0; w < crew->n; w++)
        admission_adopt(crew->workers[w], crew->policy, now_ns);
}

static inline void core_crew_stop(struct core_crew *crew)
{
    for (uint32_t w = 0; w < crew->n; w++)
        free(crew->workers[w]);
    free(crew->shared);
    policy_free(crew->policy);
}

#endif
