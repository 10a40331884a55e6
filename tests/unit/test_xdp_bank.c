/* SPDX-License-Identifier: BSD-3-Clause */
/* What the XDP program finds in its maps is what the policy says: random policies, random
 * addresses, both banks, by the searches that the program uses. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "control/plane/xdp_bank.h"
#include "tests/unit/core.h"

#define TENANTS  5
#define SERVICES 3
#define PREFIXES 60
#define ASKED    20000

/* Names keep their ids whatever their order, so ids are not indices here. */
#define TENANT_ID(index)  ((index)*2 % TENANTS)
#define SERVICE_ID(index) (SERVICES - 1 - (index))

struct scene {
    struct policy_tenant tenants[TENANTS];
    struct policy_service services[SERVICES];
    struct address addresses[SERVICES][2];
    struct policy_ports ports[SERVICES][2];
    struct policy_prefix prefixes[PREFIXES];
    struct policy_network denied[PREFIXES], probe;
    struct policy_spec spec;
    struct xdp_arrays arrays;
};

/* -- chance -- */

static uint64_t chance(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
    return *seed >> 33;
}

/* Of a small corner, so that prefixes nest and addresses hit them. */
static struct address any_address(uint64_t *seed)
{
    struct address a;

    if (chance(seed) % 2)
        return address_from_v4(
            __builtin_bswap32((uint32_t)(0x0a000000 | (chance(seed) & 0x00030f0f))));
    a = core_address("fd00::");
    a.bytes[3] = (uint8_t)(chance(seed) & 3);
    a.bytes[7] = (uint8_t)(chance(seed) & 7);
    a.bytes[15] = (uint8_t)(chance(seed) & 3);
    return a;
}

static uint8_t any_bits(uint64_t *seed, const struct address *address)
{
    return (uint8_t)(address_is_v4(address) ? 113 + chance(seed) % 16 : 32 + chance(seed) % 97);
}

/* -- a policy -- */

static bool is_new(const struct scene *s, const struct policy_prefix *prefix)
{
    for (uint32_t i = 0; i < s->spec.n_prefixes; i++)
        if (s->prefixes[i].bits == prefix->bits &&
            address_equal(&s->prefixes[i].network, &prefix->network))
            return false;
    return true;
}

static void draw_prefixes(struct scene *s, uint64_t *seed)
{
    for (uint32_t i = 0; i < PREFIXES; i++) {
        struct address address = any_address(seed);
        uint8_t bits = any_bits(seed, &address);
        struct policy_prefix prefix = {.network = prefix_mask(&address, bits),
                                       .bits = bits,
                                       .tenant = (uint32_t)chance(seed) % TENANTS};

        if (!is_new(s, &prefix))
            continue;
        s->denied[s->spec.n_prefixes] = (struct policy_network){prefix.network, prefix.bits};
        s->prefixes[s->spec.n_prefixes++] = prefix;
    }
    s->spec.n_denied = s->spec.n_prefixes / 4;
}

static void draw_services(struct scene *s)
{
    static const char *const addresses[SERVICES][2] = {
        {"10.0.0.1", "fd00::1"}, {"10.0.1.1", "10.1.0.1"}, {"10.0.0.1", "fd00:1::2"}};

    for (uint32_t i = 0; i < SERVICES; i++) {
        s->addresses[i][0] = core_address(addresses[i][0]);
        s->addresses[i][1] = core_address(addresses[i][1]);
        s->ports[i][0] = (struct policy_ports){(uint16_t)(1 + 8 * i), (uint16_t)(4 + 8 * i)};
        s->ports[i][1] = (struct policy_ports){(uint16_t)(6 + 8 * i), (uint16_t)(6 + 8 * i)};
        s->services[i] = core_service(SERVICE_ID(i), s->addresses[i], s->ports[i]);
        s->services[i].n_addresses = s->services[i].n_ports = 2;
    }
}

static struct policy *draw(struct scene *s, uint64_t seed)
{
    struct policy *policy;

    s->spec = (struct policy_spec){.tenants = s->tenants,
                                   .services = s->services,
                                   .prefixes = s->prefixes,
                                   .denied = s->denied,
                                   .n_tenants = TENANTS,
                                   .n_services = SERVICES,
                                   .default_tenant = 2};
    for (uint32_t i = 0; i < TENANTS; i++)
        s->tenants[i] = core_tenant(TENANT_ID(i));
    draw_prefixes(s, &seed);
    draw_services(s);
    s->services[1].tenant = 3;
    assert_int_equal(policy_create(&s->spec, &policy), 0);
    return policy;
}

/* -- its maps -- */

static void *array(uint32_t n, size_t bytes)
{
    void *memory = malloc(n * bytes);

    assert_non_null(memory);
    memset(memory, 0xa5, n * bytes); /* what is not written must not be read */
    return memory;
}

static void make_arrays(struct scene *s, const struct policy *policy)
{
    struct xdp_arrays *a = &s->arrays;

    a->sizes = xdp_sizes_of(policy);
    a->images = array(XDP_BANKS, sizeof(*a->images));
    a->slots = array(XDP_BANKS * a->sizes.slots, sizeof(*a->slots));
    a->ranges = array(XDP_BANKS * a->sizes.ranges, sizeof(*a->ranges));
    a->denied_hosts = array(XDP_BANKS * XDP_HOSTS, sizeof(*a->denied_hosts));
    a->spans = array(XDP_BANKS * a->sizes.spans, sizeof(*a->spans));
    a->tenants = array(XDP_BANKS * a->sizes.tenants, sizeof(*a->tenants));
    a->tenant_volumes = array(XDP_BANKS * a->sizes.tenants, sizeof(*a->tenant_volumes));
    a->services = array(XDP_BANKS * a->sizes.services, sizeof(*a->services));
}

static void free_arrays(struct scene *s)
{
    free(s->arrays.images);
    free(s->arrays.slots);
    free(s->arrays.ranges);
    free(s->arrays.denied_hosts);
    free(s->arrays.spans);
    free(s->arrays.tenants);
    free(s->arrays.tenant_volumes);
    free(s->arrays.services);
}

/* -- the program's searches -- */

static const struct xdp_slot *slot_at(const void *arrays, uint32_t number)
{
    return &((const struct xdp_arrays *)arrays)->slots[number];
}

static const struct prefix_range *range_at(const void *arrays, uint32_t number)
{
    return &((const struct xdp_arrays *)arrays)->ranges[number];
}

static const struct service_span *span_at(const void *arrays, uint32_t number)
{
    return &((const struct xdp_arrays *)arrays)->spans[number];
}

static uint32_t find(const struct xdp_arrays *a, const struct prefix_shape *v4,
                     const struct prefix_shape *v6, const struct address *address)
{
    return xdp_slots_search(address_is_v4(address) ? v4 : v6, address, a, slot_at, range_at);
}

/* As the program does it for IPv4: addresses, and ranges where those are not all. */
static bool is_denied(const struct xdp_arrays *a, uint32_t bank, const struct address *source)
{
    const struct xdp_image *image = &a->images[bank];
    const uint32_t host = __builtin_bswap32(source->words[3]);
    const uint32_t number = image->first_hosts + hosts_number(host, image->hosts_shift);

    if (address_is_v4(source) && hosts_hold(&a->denied_hosts[number], host))
        return true;
    return (image->more_denied_v4 || !address_is_v4(source)) &&
           find(a, &image->denied_v4, &image->denied_v6, source);
}

static uint32_t find_service(const struct xdp_arrays *a, uint32_t bank,
                             const struct address *address, uint32_t place)
{
    const struct xdp_image *image = &a->images[bank];
    const struct service_span *span =
        service_span_before(image->first_span, image->n_spans, address, place, a, span_at);

    return span && service_span_holds(span, address, place) ? span->service : POLICY_NONE;
}

/* As the program does it: the longest prefix, else whom the service names. */
static uint32_t find_tenant(const struct xdp_arrays *a, uint32_t bank, const struct address *source,
                            uint32_t service)
{
    const struct xdp_image *image = &a->images[bank];
    uint32_t tenant = find(a, &image->tenants_v4, &image->tenants_v6, source);

    if (tenant != POLICY_NONE)
        return tenant;
    return service == POLICY_NONE ? image->default_tenant
                                  : a->services[bank * a->sizes.services + service].tenant;
}

static void assert_answers(const struct scene *s, uint32_t bank, const struct policy *policy,
                           uint64_t seed)
{
    const struct xdp_arrays *a = &s->arrays;
    const struct xdp_image *image = &a->images[bank];
    unsigned denied = 0, served = 0;

    for (unsigned i = 0; i < ASKED; i++) {
        struct address source = any_address(&seed), target = any_address(&seed);
        uint16_t port = (uint16_t)(chance(&seed) % 32);
        uint32_t index, service;

        if (i % 2)
            target = s->addresses[i % SERVICES][i / 2 % 2];
        index = policy_find_service(policy, &target, PROTOCOL_TCP, port);
        service = find_service(a, bank, &target, service_place(PROTOCOL_TCP, port));
        assert_int_equal(service,
                         index == POLICY_NONE ? POLICY_NONE : policy_service_id(policy, index));
        assert_int_equal(find_tenant(a, bank, &source, service),
                         policy_tenant_id(policy, policy_find_tenant(policy, &source, index)));
        assert_int_equal(find(a, &image->denied_v4, &image->denied_v6, &source),
                         policy_is_denied(policy, &source));
        assert_int_equal(is_denied(a, bank, &source), policy_is_denied(policy, &source));
        denied += policy_is_denied(policy, &source);
        served += index != POLICY_NONE;
    }
    assert_in_range(denied, ASKED / 50, ASKED - ASKED / 50);
    assert_in_range(served, ASKED / 20, ASKED);
}

static void each_bank_answers_as_its_policy(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct scene first = {0}, second = {0};
        struct policy *one = draw(&first, seed), *two = draw(&second, seed + 1000);

        make_arrays(&first, one);
        assert_int_equal(xdp_bank_fill(&first.arrays, 0, one), 0);
        assert_int_equal(xdp_bank_fill(&first.arrays, 1, two), 0);
        assert_answers(&first, 0, one, seed * 7);
        assert_answers(&first, 1, two, seed * 7);
        assert_int_equal(xdp_bank_fill(&first.arrays, 0, two), 0);
        assert_answers(&first, 0, two, seed * 11);
        policy_free(one);
        policy_free(two);
        free_arrays(&first);
    }
}

/* -- rates and forms -- */

static void assert_rate(const struct bucket_rate *rate, uint64_t per_period, uint64_t cost,
                        uint64_t cap)
{
    assert_int_equal(rate->rate, per_period);
    assert_int_equal(rate->cost, cost);
    assert_int_equal(rate->cap, cap);
}

static void tenants_and_services_lie_at_their_ids(void **state)
{
    struct scene s = {0};
    struct policy *policy = draw(&s, 5);
    const struct xdp_tenant *tenant;
    const struct xdp_tenant_volume *volume;
    const struct xdp_service *service;

    (void)state;
    policy_free(policy);
    s.tenants[1].attempts = core_rate(20, 1, 10);
    s.tenants[1].packets = core_rate(600, 60, 4);
    s.tenants[1].bits = core_rate(8000, 1, 1500);
    s.tenants[1].class = CLASS_CRITICAL;
    s.services[0].refuse_rate = core_rate(7, 1, 3);
    s.services[0].refusal = REFUSAL_RST;
    s.services[0].closed_in_standby = true;
    s.services[0].probes = (struct policy_probes){&s.probe, 1, core_rate(10, 1, 2)};
    s.probe = (struct policy_network){core_address("10.9.8.7"), 120};
    assert_int_equal(policy_create(&s.spec, &policy), 0);
    make_arrays(&s, policy);
    assert_int_equal(xdp_bank_fill(&s.arrays, 1, policy), 0);

    tenant = &s.arrays.tenants[TENANTS + TENANT_ID(1)];
    assert_rate(&tenant->attempts, 20, CORE_S, 11 * CORE_S);
    assert_int_equal(tenant->volume, 1);
    assert_int_equal(s.arrays.tenants[TENANTS + TENANT_ID(0)].volume, 0);
    volume = &s.arrays.tenant_volumes[TENANTS + TENANT_ID(1)];
    assert_rate(&volume->packets, 600, 60 * CORE_S, 5 * 60 * CORE_S);
    assert_rate(&volume->bits, 1000, CORE_S, 1500 * CORE_S);
    assert_int_equal(tenant->class, CLASS_CRITICAL);
    service = &s.arrays.services[SERVICES + SERVICE_ID(0)];
    assert_int_equal(service->tenant, TENANT_ID(2));
    assert_int_equal(service[-1].tenant, TENANT_ID(3)); /* of index 1 */
    assert_int_equal(service->refusal, REFUSAL_RST);
    assert_int_equal(service->closed, 1);
    assert_int_equal(service[-1].closed, 0);
    assert_rate(&service->answers, 7, CORE_S, 4 * CORE_S);
    assert_rate(&service->checks, 10, CORE_S, 3 * CORE_S);
    assert_int_equal(service->n_probes, 1);
    assert_int_equal(service->probes[0].network[1], core_address("10.9.8.0").halves[1]);
    assert_int_equal(service->probes[0].mask[0], UINT64_MAX);
    assert_int_equal(service->probes[0].mask[1], __builtin_bswap64(0xffffffffffffff00));
    policy_free(policy);
    free_arrays(&s);
}

/* 1000/s are 8 in the 8 ms of two ticks: a burst of 8 bears that, one of 7 does not. */
static void the_coarse_clock_is_for_who_bears_it(void **state)
{
    struct scene s = {0};
    struct policy *policy = draw(&s, 5);

    (void)state;
    policy_free(policy);
    s.tenants[0].attempts = core_rate(1000, 1, 8);
    s.tenants[1].attempts = core_rate(1000, 1, 7);
    s.tenants[2].attempts = core_rate(0, 1, 0);
    assert_int_equal(policy_create(&s.spec, &policy), 0);
    make_arrays(&s, policy);
    assert_int_equal(xdp_bank_fill(&s.arrays, 0, policy), 0);
    assert_int_equal(s.arrays.tenants[TENANT_ID(0)].coarse, 1);
    assert_int_equal(s.arrays.tenants[TENANT_ID(1)].coarse, 0);
    assert_int_equal(s.arrays.tenants[TENANT_ID(2)].coarse, 1);
    assert_int_equal(s.arrays.tenants[TENANT_ID(3)].coarse, 1);
    policy_free(policy);
    free_arrays(&s);
}

static void a_policy_too_large_is_refused(void **state)
{
    struct scene s = {0};
    struct policy *policy = draw(&s, 9);
    struct xdp_sizes sizes = xdp_sizes_of(policy);

    (void)state;
    make_arrays(&s, policy);
    s.arrays.sizes.spans = policy_tables(policy).n_spans - 1;
    assert_int_equal(xdp_bank_fill(&s.arrays, 0, policy), -ENOSPC);
    s.arrays.sizes = sizes;
    s.arrays.sizes.ranges = policy_tables(policy).tenants_v4.n_ranges;
    assert_int_equal(xdp_bank_fill(&s.arrays, 0, policy), -ENOSPC);
    s.arrays.sizes = sizes;
    s.arrays.sizes.tenants = TENANTS - 1;
    assert_int_equal(xdp_bank_fill(&s.arrays, 0, policy), -ENOSPC);
    policy_free(policy);
    free_arrays(&s);
}

/* A cap is a rate per minute, so that slow services have one too; a tenth of a second at once. */
static void advice_is_written_with_a_cap(void **state)
{
    const struct advice advice = {
        .shed = {1, 2, 3}, .turned_away = 4, .by_attempt = 1, .epoch = 6, .stamped_ns = 7};
    struct xdp_advice to = {0};

    (void)state;
    xdp_advice_write(&to, &advice, 170.5);
    assert_int_equal(to.shed[0], 1);
    assert_int_equal(to.shed[2], 3);
    assert_int_equal(to.turned_away, 4);
    assert_int_equal(to.by_attempt, 1);
    assert_int_equal(to.epoch, 6);
    assert_int_equal(to.stamped_ns, 7);
    assert_rate(&to.cap, 10230, 60 * CORE_S, 18 * 60 * CORE_S);
    xdp_advice_write(&to, &advice, 0.001);
    assert_rate(&to.cap, 1, 60 * CORE_S, 60 * CORE_S);
    xdp_advice_write(&to, &advice, 0);
    assert_true(bucket_rate_is_unlimited(&to.cap));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_bank_answers_as_its_policy),
        cmocka_unit_test(tenants_and_services_lie_at_their_ids),
        cmocka_unit_test(the_coarse_clock_is_for_who_bears_it),
        cmocka_unit_test(a_policy_too_large_is_refused),
        cmocka_unit_test(advice_is_written_with_a_cap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
