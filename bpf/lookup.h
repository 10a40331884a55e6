/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who asks whom, by the policy in force: the searches of dataplane/policy over the maps. None
 * inserts anything, so a flood of new sources costs its lookups and grows nothing.
 */
#ifndef SLUICE_BPF_LOOKUP_H
#define SLUICE_BPF_LOOKUP_H

#include "bpf/tables.h"
#include "dataplane/packet/packet.h"
#include "dataplane/policy/policy.h"

static __always_inline const struct xdp_slot *slot_at(const void *unused, uint32_t number)
{
    (void)unused;
    return table_at(&slots, number);
}

static __always_inline const struct prefix_range *range_at(const void *unused, uint32_t number)
{
    (void)unused;
    return table_at(&ranges, number);
}

static __always_inline const struct service_span *span_at(const void *unused, uint32_t number)
{
    (void)unused;
    return table_at(&spans, number);
}

static __always_inline const struct xdp_image *image_of(uint32_t bank)
{
    return table_at(&images, bank);
}

/* What has no `static` is verified once, for itself, whoever calls it. */
int lookup_denied(uint32_t bank, const struct address *source);
uint32_t lookup_tenant(uint32_t bank, const struct address *source);
uint32_t lookup_service(uint32_t bank, const struct address *address, uint32_t place);
int lookup_names_address(uint32_t bank, const struct address *address);

/* Is that source on the deny list? */
__noinline int lookup_denied(uint32_t bank, const struct address *source)
{
    const struct xdp_image *image = image_of(bank);

    if (!image || !source)
        return 0;
    return (int)xdp_slots_search(address_is_v4(source) ? &image->denied_v4 : &image->denied_v6,
                                 source, 0, slot_at, range_at);
}

/* Tenant id of the longest prefix over `source`, POLICY_NONE where there is none. */
__noinline uint32_t lookup_tenant(uint32_t bank, const struct address *source)
{
    const struct xdp_image *image = image_of(bank);

    if (!image || !source)
        return POLICY_NONE;
    return xdp_slots_search(address_is_v4(source) ? &image->tenants_v4 : &image->tenants_v6, source,
                            0, slot_at, range_at);
}

/* Service id of a place, POLICY_NONE where there is none. */
__noinline uint32_t lookup_service(uint32_t bank, const struct address *address, uint32_t place)
{
    const struct xdp_image *image = image_of(bank);
    const struct service_span *span;

    if (!image || !address)
        return POLICY_NONE;
    span = service_span_before(image->first_span, image->n_spans, address, place, 0, span_at);
    return span && service_span_holds(span, address, place) ? span->service : POLICY_NONE;
}

/* Does any service name that address? */
__noinline int lookup_names_address(uint32_t bank, const struct address *address)
{
    const struct xdp_image *image = image_of(bank);
    const struct service_span *span;

    if (!image || !address)
        return 0;
    span = service_span_before(image->first_span, image->n_spans, address, UINT32_MAX, 0, span_at);
    return span && service_span_is_of(span, address);
}

#endif
