/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/admission/occupancy.h"
#include "dataplane/worker/memory.h"
#include "dataplane/worker/steps.h"
#include "tools/bench/frames.h"
#include "tools/bench/random.h"

#define START_NS   1000000000ull
#define AMPLE      1000000000u /* a second; what is spent never shows */
#define AMPLE_BITS 400000000000ull
#define DAY_S      86400
#define MS         1000000ull

/* Twice the flows: at this load every key finds a place (dataplane/flow/flow.h). */
static uint32_t table_size(uint32_t flows)
{
    return RTE_MIN(2 * flows, FLOW_MAX);
}

/* -- policy -- */

static struct quota_rate ample(void)
{
    return (struct quota_rate){.amount = AMPLE, .burst = AMPLE, .period_s = 1};
}

/* Every quota is limited, so that every one is looked at. */
static void describe_tenant(struct policy_tenant *tenant, uint32_t id,
                            const struct scene_plan *plan)
{
    *tenant = (struct policy_tenant){.attempts = ample(),
                                     .packets = ample(),
                                     .bits = {.amount = AMPLE_BITS, .burst = AMPLE, .period_s = 1},
                                     .window = POLICY_WINDOW_MAX,
                                     .milli_erlangs = POLICY_ERLANGS_UNLIMITED,
                                     .id = id,
                                     .class = CLASS_NORMAL};
    if (plan->service == SCENE_GUARDED)
        tenant->milli_erlangs = OCCUPANCY_RATE_MAX;
    if (plan->spent)
        tenant->attempts = (struct quota_rate){.amount = 1, .burst = 0, .period_s = DAY_S};
    snprintf(tenant->name, sizeof(tenant->name), "t%u", id);
}

/* Who has no share of his own borrows, and looks what the shares still miss. */
static void guard_service(struct policy_service *service, struct policy_share *shares,
                          const struct scene_plan *plan)
{
    service->window = SCENE_SLOTS;
    service->connections = SCENE_SLOTS;
    service->capacity = ample();
    service->deadline_ns = 1000 * MS;
    service->wait = (struct policy_wait){SCENE_PLACES, 1000 * MS, ORDER_ADAPTIVE};
    service->shed.ceiling_ppm = POLICY_PPM;
    service->breaker = (struct policy_breaker){
        .failures = 5, .open_ns = 1000 * MS, .open_max_ns = 60000 * MS, .response_ns = 1000 * MS};
    service->shares = shares;
    service->n_shares = RTE_MIN(plan->tenants, SCENE_SHARES);
    for (uint32_t i = 0; i < service->n_shares; i++)
        shares[i] = (struct policy_share){
            .tenant = i, .guaranteed = SCENE_GUARANTEED, .ceiling = SCENE_SLOTS, .weight = 1};
}

static struct policy *create_policy(const struct scene_plan *plan)
{
    struct address address = frame_service();
    struct policy_ports ports = {FRAME_SERVICE_PORT, FRAME_SERVICE_PORT};
    struct policy_service service = policy_service_unlimited();
    struct policy_share shares[SCENE_SHARES];
    struct policy_spec spec = {.services = &service,
                               .n_tenants = plan->tenants,
                               .n_services = 1,
                               .n_prefixes = plan->tenants};
    struct policy *policy = NULL;

    service.addresses = &address;
    service.ports = &ports;
    service.n_addresses = service.n_ports = 1;
    service.refusal = REFUSAL_RST;
    service.refuse_rate = ample();
    snprintf(service.name, sizeof(service.name), "service");
    if (plan->service == SCENE_EXCHANGE)
        service.unit = UNIT_EXCHANGE;
    if (plan->service == SCENE_GUARDED)
        guard_service(&service, shares, plan);
    spec.tenants = calloc(plan->tenants, sizeof(*spec.tenants));
    spec.prefixes = calloc(plan->tenants, sizeof(*spec.prefixes));
    if (spec.tenants && spec.prefixes) {
        for (uint32_t i = 0; i < plan->tenants; i++) {
            describe_tenant(&spec.tenants[i], i, plan);
            spec.prefixes[i] = (struct policy_prefix){frame_prefix(i), FRAME_PREFIX_BITS, i};
        }
        policy_create(&spec, &policy);
    }
    free(spec.prefixes);
    free(spec.tenants);
    return policy;
}

/* -- worker -- */

static bool create_tables(struct scene *scene, const struct admission_size *ids)
{
    uint32_t cpu = scene->plan.cpu, max = table_size(scene->plan.flows);

    scene->shared_bytes = admission_shared_bytes(ids);
    scene->admission_bytes = admission_bytes(ids);
    scene->flow_bytes = flow_table_bytes(max);
    scene->worker = memory_on_cpu(sizeof(*scene->worker), cpu);
    scene->shared_memory = memory_on_cpu(scene->shared_bytes, cpu);
    scene->admission_memory = memory_on_cpu(scene->admission_bytes, cpu);
    scene->flow_memory = memory_on_cpu(scene->flow_bytes, cpu);
    if (!scene->worker || !scene->shared_memory || !scene->admission_memory || !scene->flow_memory)
        return false;
    /* Until it is written all of it is one page of zeros, which no lookup would miss in a cache. */
    memset(scene->shared_memory, 0, scene->shared_bytes);
    memset(scene->admission_memory, 0, scene->admission_bytes);
    memset(scene->flow_memory, 0, scene->flow_bytes);
    return true;
}

static void set_lane(struct scene *scene, enum direction direction, const struct side *from)
{
    scene->lanes[direction] = (struct lane){.port_id = from->port.id,
                                            .own_port = (uint16_t)direction,
                                            .peer_port = (uint16_t)!direction,
                                            .direction = (uint8_t)direction};
    scene->outlets[direction] = (struct outlet){.port_id = from->port.id};
}

static void start_worker(struct scene *scene, const struct admission_size *ids)
{
    struct worker *w = scene->worker;
    uint64_t state = scene->plan.seed, seed[4];

    for (unsigned i = 0; i < 4; i++)
        seed[i] = random_next(&state);
    for (unsigned i = 0; i < RTE_DIM(scene->client_seed.words); i++)
        scene->client_seed.words[i] = random_next(&state);
    struct admission_shared *shared = admission_shared_init(scene->shared_memory, ids);

    w->admission = admission_init(scene->admission_memory, shared, 0);
    w->flows = flow_table_init(scene->flow_memory, table_size(scene->plan.flows), seed);
    w->all_lanes = scene->lanes;
    w->outlets = scene->outlets;
    w->n_ports = DIRECTION_MAX;
    w->facts = &scene->facts;
    w->client_seed = &scene->client_seed;
    w->n_workers = 1;
    w->timeouts = &scene->timeouts;
    w->burst.worker = w;
    w->burst.policy = scene->policy;
    w->burst.now_ns = START_NS;
    w->burst.moment = flow_moment(flow_table_tick(w->flows, START_NS), START_NS);
    admission_shared_adopt(shared, scene->policy, START_NS);
    admission_adopt(w->admission, scene->policy, START_NS);
    scene->facts.unit = (uint8_t)policy_service(scene->policy, 0)->unit;
    set_lane(scene, DIRECTION_IN, &scene->rings->outside);
    set_lane(scene, DIRECTION_OUT, &scene->rings->inside);
}

static void spend_attempts(struct scene *scene)
{
    for (uint32_t i = 0; i < scene->plan.tenants; i++)
        admission_offer(
            scene->worker->admission,
            &(struct attempt){.tenant = i, .service = ADMISSION_NO_SERVICE, .ip_bytes = 40},
            START_NS);
}

/* -- the order of visits -- */

void scene_shuffle(struct scene *scene)
{
    order_shuffle(scene->order, scene->plan.flows, scene->plan.seed);
    scene->at = 0;
}

bool scene_arrange(struct scene *scene)
{
    const struct scene_plan *plan = &scene->plan;
    uint32_t *drawn;

    scene_shuffle(scene);
    if (plan->order != ORDER_ZIPF)
        return true;
    /* Ranks by the shuffled order: in the order of numbers the frequent flows would be neighbours
     * in the table. */
    scene->visits = RTE_MAX(plan->flows, ORDER_ZIPF_VISITS);
    drawn = order_draw_zipf(scene->order, plan->flows, scene->visits, ~plan->seed);
    free(scene->order);
    scene->order = drawn;
    return drawn != NULL;
}

void scene_visit(struct scene *scene, unsigned n, uint32_t ip_bytes)
{
    const struct scene_plan *plan = &scene->plan;

    for (unsigned i = 0; i < n; i++) {
        uint32_t flow = scene->order[scene->at], tenant = flow % plan->tenants;
        struct flow_key key = frame_flow_key(flow, plan->tenants);

        scene->batch_flows[i] = flow;
        scene->batch_attempts[i] = (struct attempt){
            .tenant = tenant,
            .service = 0,
            .ip_bytes = ip_bytes,
            .flags = ATTEMPT_SYN,
            .share = (uint8_t)policy_share_of(scene->policy, 0, tenant),
            .client = client_hash(&scene->client_seed, &key.outside),
            .flow = flow_hash(scene->worker->flows, &key),
            .isn = FRAME_SEQUENCE,
        };
        scene->at = scene->at + 1 < scene->visits ? scene->at + 1 : 0;
    }
}

void scene_make_new(struct scene *scene, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        scene->batch_attempts[i].client = random_next(&scene->newcomers);
        scene->batch_attempts[i].flow = random_next(&scene->newcomers);
    }
}

void scene_forget_flows(struct scene *scene)
{
    struct worker *w = scene->worker;

    for (uint32_t i = 0; i < scene->plan.flows && flow_table_used(w->flows) > 0; i++) {
        struct flow_key key = frame_flow_key(i, scene->plan.tenants);
        struct flow *flow = flow_find(w->flows, &key, flow_hash(w->flows, &key));

        if (flow) {
            work_free_slot(w, flow, OUTCOME_FINISHED);
            flow_remove(w->flows, flow);
        }
    }
}

/* -- life -- */

struct scene *scene_open(const struct scene_plan *plan, struct rings *rings)
{
    const uint32_t flows_max = table_size(plan->flows);
    const struct admission_size ids = {.n_tenants = plan->tenants,
                                       .n_services = 1,
                                       .n_workers = 1,
                                       .n_waiters = SCENE_PLACES,
                                       .n_answered = flows_max + 1,
                                       .n_demand = flows_max};
    struct scene *scene = calloc(1, sizeof(*scene));

    if (!scene)
        return NULL;
    scene->plan = *plan;
    scene->newcomers = ~plan->seed;
    scene->rings = rings;
    scene->order = order_create(plan->flows);
    scene->visits = plan->flows;
    scene->policy = create_policy(plan);
    if (!scene->order || !scene->policy || !create_tables(scene, &ids)) {
        scene_close(scene);
        return NULL;
    }
    start_worker(scene, &ids);
    if (plan->spent)
        spend_attempts(scene);
    return scene;
}

void scene_close(struct scene *scene)
{
    memory_free(scene->flow_memory, scene->flow_bytes);
    memory_free(scene->admission_memory, scene->admission_bytes);
    memory_free(scene->shared_memory, scene->shared_bytes);
    memory_free(scene->worker, sizeof(*scene->worker));
    policy_free(scene->policy);
    free(scene->order);
    free(scene);
}
