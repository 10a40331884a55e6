/* SPDX-License-Identifier: BSD-3-Clause */
/* One tenant and one service on many workers, which a test plays in turn; time is a number. */
#ifndef SLUICE_TESTS_SITE_H
#define SLUICE_TESTS_SITE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/admission/state.h"
#include "tests/unit/core.h"

#define WEB  0
#define MB_S 8000000ull /* bit/s */

/* One tenant and one service without limits; a test sets its own and adopts them. */
struct site {
    struct core_crew crew;
    struct policy_tenant tenant;
    struct policy_service service;
    struct address address;
    struct policy_ports ports;
    uint64_t now_ns;
};

static inline void open_site(struct site *s, uint32_t workers)
{
    const struct admission_size size = {.n_tenants = 1, .n_services = 1, .n_workers = workers};

    *s = (struct site){.ports = {80, 80}, .now_ns = CORE_S};
    core_crew_start(&s->crew, &size);
    s->address = core_address("10.9.0.10");
    s->tenant = core_tenant(0);
    s->service = core_service(WEB, &s->address, &s->ports);
}

static inline void close_site(struct site *s)
{
    core_crew_stop(&s->crew);
}

static inline struct policy_spec spec_of(struct site *s)
{
    return (struct policy_spec){
        .tenants = &s->tenant, .services = &s->service, .n_tenants = 1, .n_services = 1};
}

static inline void adopt(struct site *s)
{
    const struct policy_spec spec = spec_of(s);

    core_crew_adopt(&s->crew, &spec, s->now_ns);
}

static inline enum reason offer(struct site *s, uint32_t worker)
{
    const struct attempt attempt = {.tenant = 0, .service = WEB, .ip_bytes = 60};

    return admission_offer(s->crew.workers[worker], &attempt, s->now_ns).reason;
}

static inline void complete(struct site *s, uint32_t worker)
{
    core_complete(s->crew.workers[worker], &(struct slot){.tenant = 0, .service = WEB},
                  OUTCOME_FINISHED);
}

static inline bool charge(struct site *s, uint32_t worker, uint32_t bytes)
{
    return admission_charge(s->crew.workers[worker], 0, bytes, s->now_ns).verdict == VERDICT_ADMIT;
}

static inline void tidy(struct site *s)
{
    for (uint32_t w = 0; w < s->crew.n; w++)
        admission_tidy(s->crew.workers[w], s->now_ns);
}

static inline const struct pool *attempts_pool(const struct site *s)
{
    return &s->crew.shared->tenants[0].attempts[PERIOD_SECOND];
}

#endif
