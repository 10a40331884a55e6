/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/admission/admission_control.h"

#include "dataplane/admission/shed.h"
#include "dataplane/admission/shed_control.h"
#include "dataplane/admission/state.h"

#define ALPHA_PPM 10000u /* of the promises may be broken */
#define NO_RAMP   UINT64_MAX
#define ONE_PPM   1000000.0

/* One service, from period to period. */
struct service_control {
    struct shed_control shed;
    struct shed_output output;
    struct promise_control promise;
    struct breaker_ratio ratio;
    struct demand_backlog backlog;
    struct slo slo;
    struct admission_service_counters counters; /* over all, of this period */
    uint64_t ramp_since_ns;                     /* NO_RAMP: none */
    uint32_t ramp_order;                        /* policy_service.admit_orders */
    double admit;
    double completed_per_s; /* a slow mean */
    uint64_t completed;     /* in the period before */
    bool was_full;          /* at the last look, */
    bool stayed_full;       /* and at the one before */
    bool started;
} __attribute__((aligned(64)));

struct admission_control {
    struct admission_shared *shared;
    struct admission *const *workers;
    const struct admission_service_counters *front; /* NULL: none */
    struct service_control *services;
    struct gateway_control gateway;
    struct histogram sum; /* of one service, over all workers */
    uint32_t next_promise;
    uint64_t last_ns;
};

static size_t lines(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

size_t admission_control_bytes(const struct admission_size *size)
{
    return lines(sizeof(struct admission_control)) +
           size->n_services * sizeof(struct service_control);
}

struct admission_control *admission_control_init(void *memory, struct admission_shared *shared,
                                                 struct admission *const *workers)
{
    struct admission_control *control = memory;

    control->shared = shared;
    control->workers = workers;
    control->services = (struct service_control *)((uint8_t *)memory + lines(sizeof(*control)));
    for (uint32_t i = 0; i < shared->size.n_services; i++) {
        shed_control_init(&control->services[i].shed);
        control->services[i].admit = 1;
        control->services[i].ramp_since_ns = NO_RAMP;
    }
    return control;
}

void admission_control_front(struct admission_control *control,
                             const struct admission_service_counters *front)
{
    control->front = front;
}

static uint64_t load(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static void tell(uint32_t *word, uint32_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

/* -- what was counted -- */

static void add_counters(struct admission_service_counters *sum,
                         const struct admission_service_counters *counters)
{
    const uint64_t *from = (const uint64_t *)counters;
    uint64_t *to = (uint64_t *)sum;

    for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
        to[i] += load(&from[i]);
}

static void sum_counters(const struct admission_control *c, uint32_t id,
                         struct admission_service_counters *sum)
{
    *sum = (struct admission_service_counters){0};
    for (uint32_t w = 0; w < c->shared->size.n_workers; w++)
        add_counters(sum, &c->workers[w]->services[id].counters);
    if (c->front)
        add_counters(sum, &c->front[id]);
}

static uint64_t ended(const struct admission_service_counters *counters)
{
    return counters->ledger.pieces[LEDGER_USEFUL] + counters->ledger.pieces[LEDGER_LATE] +
           counters->ledger.pieces[LEDGER_UNFINISHED];
}

/* Since when the oldest waiter of a service waits; UINT64_MAX: nobody does. */
static uint64_t oldest_since_ns(const struct admission_control *c, uint32_t id)
{
    uint64_t oldest = UINT64_MAX;

    for (uint32_t w = 0; w < c->shared->size.n_workers; w++) {
        uint64_t since = wait_oldest_since_ns(&c->workers[w]->services[id].queue);

        oldest = since < oldest ? since : oldest;
    }
    return oldest;
}

static uint64_t oldest_age_ns(const struct admission_control *c, uint32_t id, uint64_t now_ns)
{
    uint64_t since = oldest_since_ns(c, id);

    return since < now_ns ? now_ns - since : 0;
}

/* Distinct clients of late, by linear counting in 64 bits: good for "few or many". */
static uint32_t count_clients(const struct admission_control *c, uint32_t id)
{
    /* n = 64 ln(64 / empty), and "many" when none is empty */
    static const uint16_t clients[65] = {
        0,   1,   2,   3,   4,   5,   6,   7,   9,   10,  11,  12,  13,  15,  16, 17, 18,
        20,  21,  23,  24,  25,  27,  29,  30,  32,  33,  35,  37,  39,  40,  42, 44, 46,
        49,  51,  53,  55,  58,  60,  63,  66,  68,  71,  75,  78,  81,  85,  89, 93, 97,
        102, 107, 113, 119, 126, 133, 142, 151, 163, 177, 196, 222, 266, 1000};
    uint64_t bits = 0;

    for (uint32_t w = 0; w < c->shared->size.n_workers; w++) {
        const struct service_state *s = &c->workers[w]->services[id];

        bits |= load(&s->clients) | load(&s->clients_before);
    }
    return clients[__builtin_popcountll(bits)];
}

/* -- shedding, and the operator's ramp -- */

static double per_s(const struct quota_rate *rate)
{
    return rate->unlimited ? 0 : (double)rate->amount / rate->period_s;
}

static struct shed_rules shed_rules_of(const struct policy_service *service)
{
    return (struct shed_rules){
        .capacity_per_s = per_s(&service->capacity),
        .reserve_per_s = per_s(&service->shed.reserve),
        .ceiling = service->shed.ceiling_ppm / ONE_PPM,
        .wait_age_s = service->wait.places ? (double)service->wait.age_ns / 1e9 : 0,
    };
}

static bool is_full(const struct admission_control *c, const struct policy_service *service)
{
    const struct service_shared *shared = &c->shared->services[service->id];

    /* A window of none says nothing of what the service can do. */
    return service->window > 0 &&
           (window_used(&shared->waiting) > 0 || window_used(&shared->window) >= service->window);
}

static double ramp(struct service_control *s, const struct policy_service *service, uint64_t now_ns)
{
    double from, passed;

    if (service->admit_ppm >= POLICY_PPM) {
        s->ramp_since_ns = NO_RAMP;
        return 1;
    }
    if (s->ramp_since_ns == NO_RAMP || s->ramp_order != service->admit_orders) {
        s->ramp_since_ns = now_ns;
        s->ramp_order = service->admit_orders;
    }
    from = service->admit_ppm / ONE_PPM;
    passed = service->admit_over_ns
                 ? (double)(now_ns - s->ramp_since_ns) / (double)service->admit_over_ns
                 : 0;
    return passed < 1 ? from + (1 - from) * passed : 1;
}

static void steer_shedding(struct admission_control *c, struct service_control *s,
                           const struct policy_service *service, uint64_t now_ns)
{
    const struct shed_rules rules = shed_rules_of(service);
    struct advice *advice = &c->shared->services[service->id].advice;
    struct shed_sample sample = {
        .completed = ended(&s->counters),
        .head_age_ns = oldest_age_ns(c, service->id, now_ns),
        .clients = count_clients(c, service->id),
        .window_was_full = s->stayed_full,
    };

    for (unsigned k = 0; k < CLASS_MAX; k++)
        sample.offered[k] = s->counters.reached[k];
    shed_control_step(&s->shed, &rules, &sample, now_ns, &s->output);
    s->admit = ramp(s, service, now_ns);
    for (unsigned k = 0; k < CLASS_MAX; k++)
        tell(&advice->shed[k], rules.ceiling > 0 ? s->output.p[k] : 0);
    tell(&advice->turned_away, shed_probability(1 - s->admit));
    tell(&advice->by_attempt, s->output.by_attempt);
    tell(&advice->epoch, (uint32_t)(now_ns / SHED_EPOCH_NS));
    __atomic_store_n(&advice->stamped_ns, now_ns, __ATOMIC_RELAXED);
}

/* -- breaker -- */

static void steer_breaker(struct admission_control *c, struct service_control *s,
                          const struct policy_service *service, uint64_t now_ns)
{
    struct breaker *breaker = &c->shared->services[service->id].breaker;
    const struct breaker_results results = {s->counters.good, s->counters.bad};
    struct breaker_rules rules;
    struct breaker_view view;

    if (!service->breaker.failures || !limits_breaker(&service->breaker, &rules))
        return;
    view = breaker_view(breaker, &rules, now_ns);
    if (breaker_ratio_trips(&s->ratio, &view, &results, now_ns))
        breaker_trip(breaker, &rules, (uint32_t)(now_ns >> 10), now_ns);
}

/* -- promises -- */

static size_t ages_of(const struct admission_control *c, uint32_t id,
                      struct promise_age ages[AGE_CELLS])
{
    size_t n = 0;

    for (unsigned k = 0; k < AGE_CELLS; k++) {
        uint64_t count = 0;

        for (uint32_t w = 0; w < c->shared->size.n_workers; w++)
            count += __atomic_load_n(&c->workers[w]->services[id].running[k], __ATOMIC_RELAXED);
        if (count)
            ages[n++] = (struct promise_age){1ull << k, count};
    }
    return n;
}

static void steer_promise(struct admission_control *c, const struct policy_service *service,
                          uint64_t now_ns)
{
    struct service_control *s = &c->services[service->id];
    struct promise *promise = &c->shared->services[service->id].advice.promise;
    double capacity_per_s = per_s(&service->capacity);
    const struct promise_rules rules = {
        .deadline_ns = service->deadline_ns,
        .interval_ns = capacity_per_s > 0 ? (uint64_t)(1e9 / capacity_per_s) : 0,
        .alpha_ppm = ALPHA_PPM,
    };
    struct promise_age ages[AGE_CELLS];
    struct promise_seen seen = {
        .completed = &c->sum,
        .ages = ages,
        .n_ages = ages_of(c, service->id, ages),
        .completions = ended(&s->counters),
        .useful = s->counters.ledger.pieces[LEDGER_USEFUL],
        .late = s->counters.ledger.pieces[LEDGER_LATE],
        .unfinished = s->counters.ledger.pieces[LEDGER_UNFINISHED],
        .window_was_full = s->stayed_full,
    };

    c->sum = (struct histogram){0};
    for (uint32_t w = 0; w < c->shared->size.n_workers; w++)
        histogram_sum(&c->sum, &c->workers[w]->services[service->id].held_for);
    promise_control_step(&s->promise, &rules, &seen, now_ns, promise);
}

static void steer_promises(struct admission_control *c, const struct policy *policy,
                           uint64_t now_ns)
{
    uint32_t n = policy_service_count(policy);
    uint32_t turns = n < ADMISSION_CONTROL_PROMISES ? n : ADMISSION_CONTROL_PROMISES;

    for (uint32_t i = 0; i < turns; i++) {
        const struct policy_service *service = policy_service(policy, c->next_promise % n);

        c->next_promise = c->next_promise % n + 1;
        steer_promise(c, service, now_ns);
    }
}

/* -- demand and objectives -- */

static void follow_demand(struct service_control *s, const struct policy_service *service,
                          uint64_t now_ns, double span_s)
{
    const struct admission_service_counters *k = &s->counters;
    /* Settled work alone: what runs or waits is neither good nor bad. Quotas are the tenants'. */
    const struct slo_count good =
        slo_of_service(ended(k) + k->refused_unique, 0, k->ledger.pieces[LEDGER_USEFUL]);

    demand_backlog_feed(&s->backlog, k->refused_unique, k->served_late, service->deadline_ns,
                        now_ns);
    if (!s->started)
        slo_init(&s->slo, service->slo.objective_ppm, good, now_ns);
    slo_set_objective(&s->slo, service->slo.objective_ppm);
    slo_feed(&s->slo, good, now_ns);
    if (span_s > 0) {
        double share = span_s / (span_s + 1.0);
        double rate = (double)(ended(k) - s->completed) / span_s;

        s->completed_per_s += share * (rate - s->completed_per_s);
    }
    s->completed = ended(k);
}

static uint32_t retry_after_s(const struct admission_control *c, const struct service_control *s,
                              uint32_t id)
{
    const struct demand demand = {
        .backlog = window_used(&c->shared->services[id].waiting) + demand_backlog(&s->backlog),
        .capacity_per_s = s->output.capacity_per_s,
        .arrival_per_s = s->output.rate_per_s[CLASS_BULK] + s->output.rate_per_s[CLASS_NORMAL] +
                         s->output.rate_per_s[CLASS_CRITICAL],
    };

    return demand_retry_capacity_s(&demand);
}

/* -- the loop -- */

static void steer_service(struct admission_control *c, const struct policy_service *service,
                          uint64_t now_ns)
{
    struct service_control *s = &c->services[service->id];
    bool full = is_full(c, service);

    sum_counters(c, service->id, &s->counters);
    s->stayed_full = full && s->was_full;
    s->was_full = full;
    steer_shedding(c, s, service, now_ns);
    steer_breaker(c, s, service, now_ns);
    follow_demand(s, service, now_ns, (double)(now_ns - c->last_ns) / 1e9);
    tell(&c->shared->services[service->id].advice.retry_after_s, retry_after_s(c, s, service->id));
    s->started = true;
}

void admission_control_step(struct admission_control *c, const struct policy *policy,
                            const struct gateway_sample *gateway, uint64_t now_ns)
{
    struct gateway_advice *advice = &c->shared->gateway;
    uint32_t p[CLASS_MAX];

    if (now_ns <= c->last_ns)
        return;
    gateway_control_step(&c->gateway, gateway, now_ns, p);
    for (unsigned k = 0; k < CLASS_MAX; k++)
        tell(&advice->shed[k], p[k]);
    __atomic_store_n(&advice->stamped_ns, now_ns, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < policy_service_count(policy); i++)
        steer_service(c, policy_service(policy, i), now_ns);
    steer_promises(c, policy, now_ns);
    c->last_ns = now_ns;
}

/* -- for listings -- */

static double share_of(uint32_t p)
{
    return p / 4294967296.0;
}

static uint32_t slots_needed(const struct service_control *s)
{
    const struct ledger *ledger = &s->counters.ledger;
    uint64_t useful = ledger->pieces[LEDGER_USEFUL];
    double service_s = useful ? (double)ledger->held_us[LEDGER_USEFUL] / 1e6 / (double)useful : 0;

    return demand_instances(s->completed_per_s + demand_unmet_per_s(&s->backlog), service_s, 1,
                            DEMAND_UTILISATION);
}

static uint64_t fastest_ns(const struct admission_control *c, uint32_t id)
{
    for (uint32_t k = 0; k < HISTOGRAM_CELLS; k++)
        for (uint32_t w = 0; w < c->shared->size.n_workers; w++)
            if (load(&c->workers[w]->services[id].held_for.cells[k]))
                return histogram_upper_ns(k);
    return 0;
}

void admission_control_view(const struct admission_control *c, const struct policy_service *service,
                            uint64_t now_ns, struct service_view *view)
{
    const struct service_control *s = &c->services[service->id];
    const struct service_shared *shared = &c->shared->services[service->id];
    struct breaker_rules rules;

    *view = (struct service_view){
        .admit = s->admit,
        .capacity_per_s = s->output.capacity_per_s,
        .waiting = window_used(&shared->waiting),
        .connections = window_used(&shared->connections),
        .opening = window_opening(&shared->window),
        .oldest_wait_ns = oldest_age_ns(c, service->id, now_ns),
        .interval_ns = load(&shared->advice.promise.interval_ns),
        .service_ns = load(&shared->advice.promise.service_ns),
        .retry_after_s = retry_after_s(c, s, service->id),
        .unmet_per_s = demand_unmet_per_s(&s->backlog),
        .backlog = demand_backlog(&s->backlog),
        .hidden = demand_hidden(window_used(&shared->window), s->completed_per_s,
                                fastest_ns(c, service->id)),
        .slots_needed = slots_needed(s),
        .alert = slo_alert(&s->slo),
    };
    if (limits_breaker(&service->breaker, &rules))
        view->breaker = breaker_view(&shared->breaker, &rules, now_ns);
    sum_counters(c, service->id, &view->counters);
    for (unsigned k = 0; k < CLASS_MAX; k++) {
        view->shed[k] = share_of(s->output.p[k]);
        view->rate_per_s[k] = s->output.rate_per_s[k];
    }
    for (unsigned k = 0; k < SLO_WINDOWS; k++)
        view->burn[k] = slo_burn(&s->slo, (enum slo_window)k);
}

void admission_control_gateway(const struct admission_control *c, double shed[CLASS_MAX])
{
    for (unsigned k = 0; k < CLASS_MAX; k++)
        shed[k] = share_of(__atomic_load_n(&c->shared->gateway.shed[k], __ATOMIC_RELAXED));
}
