/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/plane/xdp_bank.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "control/plane/xdp_hosts.h"
#include "control/plane/xdp_slots.h"
#include "dataplane/admission/quota.h"
#include "dataplane/policy/prefix.h"

#define COARSE_NS 8000000ull /* two ticks of the coarse clock at 250 Hz */

/* -- prefixes -- */

/* How far the arrays of a bank are filled. */
struct filling {
    const struct xdp_arrays *arrays;
    uint32_t slot, slots_end, range, ranges_end;
};

static uint32_t same(const struct policy *policy, uint32_t value)
{
    (void)policy;
    return value;
}

static uint32_t tenant_id(const struct policy *policy, uint32_t value)
{
    return value == POLICY_NONE ? POLICY_NONE : policy_tenant_id(policy, value);
}

static int copy_table(struct filling *filling, const struct policy *policy,
                      const struct prefix_view *view,
                      uint32_t (*value_of)(const struct policy *, uint32_t),
                      struct prefix_shape *shape)
{
    struct prefix_range *ranges = &filling->arrays->ranges[filling->range];
    uint32_t n_slots = xdp_slots_count(view);

    if (n_slots > filling->slots_end - filling->slot ||
        view->n_ranges > filling->ranges_end - filling->range)
        return -ENOSPC;
    *shape = *view->shape;
    shape->first_slot = filling->slot;
    shape->first_range = filling->range;
    shape->missing = value_of(policy, view->shape->missing);
    for (uint32_t i = 0; i < view->n_ranges; i++) {
        ranges[i] = view->ranges[i];
        ranges[i].value = value_of(policy, view->ranges[i].value);
    }
    xdp_slots_fill(&filling->arrays->slots[filling->slot], view, ranges);
    filling->slot += n_slots;
    filling->range += view->n_ranges;
    return 0;
}

static int fill_prefixes(const struct xdp_arrays *arrays, uint32_t bank,
                         const struct policy *policy, const struct policy_tables *tables)
{
    const struct xdp_sizes *sizes = &arrays->sizes;
    struct xdp_image *image = &arrays->images[bank];
    struct filling filling = {.arrays = arrays,
                              .slot = bank * sizes->slots,
                              .slots_end = (bank + 1) * sizes->slots,
                              .range = bank * sizes->ranges,
                              .ranges_end = (bank + 1) * sizes->ranges};
    int err = copy_table(&filling, policy, &tables->tenants_v4, tenant_id, &image->tenants_v4);

    if (!err)
        err = copy_table(&filling, policy, &tables->tenants_v6, tenant_id, &image->tenants_v6);
    if (!err)
        err = copy_table(&filling, policy, &tables->denied_v4, same, &image->denied_v4);
    if (!err)
        err = copy_table(&filling, policy, &tables->denied_v6, same, &image->denied_v6);
    if (err)
        return err;
    image->has_denied = policy_has_denied(policy);
    image->first_hosts = bank * XDP_HOSTS;
    xdp_hosts_fill(&arrays->denied_hosts[image->first_hosts], &tables->denied_v4, image);
    return 0;
}

static int fill_spans(const struct xdp_arrays *arrays, uint32_t bank, const struct policy *policy,
                      const struct policy_tables *tables)
{
    struct xdp_image *image = &arrays->images[bank];

    if (tables->n_spans > arrays->sizes.spans)
        return -ENOSPC;
    image->first_span = bank * arrays->sizes.spans;
    image->n_spans = tables->n_spans;
    for (uint32_t i = 0; i < tables->n_spans; i++) {
        struct service_span span = tables->spans[i];

        span.service = policy_service_id(policy, span.service);
        arrays->spans[image->first_span + i] = span;
    }
    return 0;
}

/* -- tenants and services -- */

/* Does the burst last for two ticks? Then a clock that stands still for one loses nothing. Who is
 * blocked or unlimited needs no clock. */
static bool bears_coarse(const struct bucket_rate *rate)
{
    return rate->rate == 0 || rate->cap >= rate->rate * COARSE_NS + rate->cost;
}

static void fill_tenant(struct xdp_tenant *to, struct xdp_tenant_volume *volume,
                        const struct policy_tenant *tenant)
{
    *volume = (struct xdp_tenant_volume){
        .packets = quota_rate_of_events(&tenant->packets),
        .bits = quota_rate_of_bits(&tenant->bits),
    };
    *to = (struct xdp_tenant){
        .attempts = quota_rate_of_events(&tenant->attempts),
        .class = (uint8_t)tenant->class,
        .volume = volume->packets.cost || volume->bits.cost,
    };
    to->coarse = bears_coarse(&to->attempts) && bears_coarse(&volume->packets) &&
                 bears_coarse(&volume->bits);
}

static struct xdp_probe probe_of(const struct policy_network *network)
{
    struct address ones, mask;

    memset(&ones, 0xff, sizeof(ones));
    mask = prefix_mask(&ones, network->bits);
    return (struct xdp_probe){.network = {network->network.halves[0], network->network.halves[1]},
                              .mask = {mask.halves[0], mask.halves[1]}};
}

static void fill_service(struct xdp_service *to, const struct policy *policy,
                         const struct policy_service *service)
{
    uint32_t tenant =
        service->tenant == POLICY_NONE ? policy_default_tenant(policy) : service->tenant;

    *to = (struct xdp_service){
        .tenant = policy_tenant_id(policy, tenant),
        .unit = (uint8_t)service->unit,
        .refusal = (uint8_t)service->refusal,
        .closed = service->closed_in_standby,
        .n_probes = (uint8_t)service->probes.n,
        .answers = quota_rate_of_events(&service->refuse_rate),
        .checks = quota_rate_of_events(&service->probes.attempts),
    };
    for (uint32_t i = 0; i < service->probes.n; i++)
        to->probes[i] = probe_of(&service->probes.prefixes[i]);
}

int xdp_bank_fill(const struct xdp_arrays *arrays, uint32_t bank, const struct policy *policy)
{
    const struct policy_tables tables = policy_tables(policy);
    const struct xdp_sizes *sizes = &arrays->sizes;
    int err;

    if (policy_tenant_count(policy) > sizes->tenants ||
        policy_service_count(policy) > sizes->services)
        return -ENOSPC;
    err = fill_prefixes(arrays, bank, policy, &tables);
    if (!err)
        err = fill_spans(arrays, bank, policy, &tables);
    if (err)
        return err;
    arrays->images[bank].default_tenant = policy_tenant_id(policy, policy_default_tenant(policy));
    for (uint32_t t = 0; t < policy_tenant_count(policy); t++) {
        const uint32_t at = bank * sizes->tenants + policy_tenant_id(policy, t);

        fill_tenant(&arrays->tenants[at], &arrays->tenant_volumes[at], policy_tenant(policy, t));
    }
    for (uint32_t s = 0; s < policy_service_count(policy); s++)
        fill_service(&arrays->services[bank * sizes->services + policy_service_id(policy, s)],
                     policy, policy_service(policy, s));
    return 0;
}

struct xdp_sizes xdp_sizes_of(const struct policy *policy)
{
    const struct policy_tables tables = policy_tables(policy);
    const uint32_t slots_max = 1u << PREFIX_INDEX_BITS_MAX;

    return (struct xdp_sizes){
        .tenants = policy_tenant_count(policy),
        .floods = policy_tenant_count(policy) / XDP_FLOODS + 1,
        .services = policy_service_count(policy) ? policy_service_count(policy) : 1,
        .slots = tables.tenants_v4.n_slots + tables.tenants_v6.n_slots + 2 * slots_max,
        .ranges =
            tables.tenants_v4.n_ranges + tables.tenants_v6.n_ranges + 2 * POLICY_DENIED_MAX + 2,
        .spans = tables.n_spans ? tables.n_spans : 1,
    };
}

/* -- advice -- */

/* So much at once as the service finishes in a tenth of a second: it has no room for more when it
 * is full, and nobody counts here what it has taken. */
static struct bucket_rate cap_of(double capacity_per_s)
{
    const double per_min = round(capacity_per_s * 60);
    struct bucket_rate rate;

    if (!(capacity_per_s > 0) || per_min > (double)BUCKET_RATE_MAX)
        bucket_rate_unlimited(&rate);
    else
        bucket_rate_events(&rate, per_min < 1 ? 1 : (uint64_t)per_min, 60,
                           (uint64_t)(capacity_per_s / 10));
    return rate;
}

void xdp_advice_write(struct xdp_advice *to, const struct advice *advice, double capacity_per_s)
{
    const struct bucket_rate cap = cap_of(capacity_per_s);

    for (unsigned c = 0; c < CLASS_MAX; c++)
        __atomic_store_n(&to->shed[c], advice->shed[c], __ATOMIC_RELAXED);
    __atomic_store_n(&to->turned_away, advice->turned_away, __ATOMIC_RELAXED);
    __atomic_store_n(&to->by_attempt, advice->by_attempt, __ATOMIC_RELAXED);
    __atomic_store_n(&to->epoch, advice->epoch, __ATOMIC_RELAXED);
    __atomic_store_n(&to->stamped_ns, advice->stamped_ns, __ATOMIC_RELAXED);
    if (memcmp(&to->cap, &cap, sizeof(cap)) != 0)
        to->cap = cap;
}
