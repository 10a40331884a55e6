/* SPDX-License-Identifier: BSD-3-Clause */
/* Two services cannot own the same address, protocol and port. */
#include <stdlib.h>
#include <string.h>

#include "control/config/address_text.h"
#include "control/config/settings_reader.h"

/* Address and port range pairs of all services: what the policy holds an entry for, each. */
#define PAIRS_MAX 1048576u

/* An address of a service. */
struct claim {
    const struct address *address;
    uint32_t service;
};

static const struct policy_service *owner(struct reader *r, const struct claim *claim)
{
    return &settings_of(r)->policy.services[claim->service];
}

static int by_address(const void *a, const void *b, void *reader)
{
    const struct claim *left = a, *right = b;
    int order = memcmp(left->address, right->address, sizeof(struct address));

    if (!order)
        order = (int)owner(reader, left)->protocol - (int)owner(reader, right)->protocol;
    if (!order)
        order = left->service < right->service ? -1 : left->service > right->service;
    return order;
}

static bool same_place(struct reader *r, const struct claim *a, const struct claim *b)
{
    return address_equal(a->address, b->address) && owner(r, a)->protocol == owner(r, b)->protocol;
}

static void report_overlap(struct reader *r, const struct claim *earlier, const struct claim *later,
                           uint16_t port)
{
    const struct policy_service *first = owner(r, earlier), *second = owner(r, later);
    const struct scan_node *first_ports = places_of(r)->service_ports[first->id];
    const struct scan_node *second_ports = places_of(r)->service_ports[second->id];
    char address[ADDRESS_TEXT_MAX], path[SCAN_PATH_MAX];

    scan_path(r->scan, second_ports, path);
    address_format(later->address, address);
    if (first == second)
        report_error(r->report, second_ports->line, path,
                     "port %u of %s is given twice in service \"%s\"", port, address, second->name);
    else
        report_error(r->report, second_ports->line, path,
                     "port %u of %s belongs to both service \"%s\" (line %u) and service \"%s\"",
                     port, address, first->name, first_ports->line, second->name);
}

/* Ports that a claim takes. */
struct range {
    uint16_t first, last;
    const struct claim *claim;
};

static int by_port(const void *a, const void *b)
{
    const struct range *left = a, *right = b;

    if (left->first != right->first)
        return left->first < right->first ? -1 : 1;
    return left->claim < right->claim ? -1 : left->claim > right->claim;
}

static void check_ranges(struct reader *r, struct range *ranges, size_t n)
{
    const struct range *open = ranges; /* reaches furthest so far */

    qsort(ranges, n, sizeof(*ranges), by_port);
    for (size_t i = 1; i < n; i++) {
        const struct range *range = &ranges[i];

        if (range->first <= open->last) {
            bool in_order = open->claim->service <= range->claim->service;

            report_overlap(r, in_order ? open->claim : range->claim,
                           in_order ? range->claim : open->claim, range->first);
        }
        if (range->last > open->last)
            open = range;
    }
}

/* Claims to one address and protocol. */
static void check_run(struct reader *r, const struct claim *run, size_t n)
{
    struct range *ranges;
    size_t n_ranges = 0, at = 0;

    for (size_t i = 0; i < n; i++)
        n_ranges += owner(r, &run[i])->n_ports;
    if (n_ranges < 2)
        return;
    ranges = malloc(n_ranges * sizeof(*ranges));
    if (!ranges) {
        r->out_of_memory = true;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const struct policy_service *service = owner(r, &run[i]);

        for (uint32_t p = 0; p < service->n_ports; p++)
            ranges[at++] = (struct range){service->ports[p].first, service->ports[p].last, &run[i]};
    }
    check_ranges(r, ranges, n_ranges);
    free(ranges);
}

static void check_claims(struct reader *r, size_t n)
{
    const struct policy_spec *spec = &settings_of(r)->policy;
    struct claim *claims = reader_alloc(r, n, sizeof(*claims));
    size_t end;

    if (!claims)
        return;
    n = 0;
    for (uint32_t i = 0; i < spec->n_services; i++)
        for (uint32_t a = 0; a < spec->services[i].n_addresses; a++)
            claims[n++] = (struct claim){&spec->services[i].addresses[a], i};
    qsort_r(claims, n, sizeof(*claims), by_address, r);
    for (size_t start = 0; start < n; start = end) {
        for (end = start + 1; end < n && same_place(r, &claims[start], &claims[end]);)
            end++;
        check_run(r, &claims[start], end - start);
    }
}

void check_overlaps(struct reader *r)
{
    const struct policy_spec *spec = &settings_of(r)->policy;
    size_t n_claims = 0, n_pairs = 0;
    char path[SCAN_PATH_MAX];

    for (uint32_t i = 0; i < spec->n_services; i++) {
        n_claims += spec->services[i].n_addresses;
        n_pairs += (size_t)spec->services[i].n_addresses * spec->services[i].n_ports;
    }
    if (n_pairs > PAIRS_MAX)
        report_error(r->report, places_of(r)->services->line,
                     scan_path(r->scan, places_of(r)->services, path),
                     "%zu pairs of address and port range in all, at most %u are possible", n_pairs,
                     PAIRS_MAX);
    else if (n_claims)
        check_claims(r, n_claims);
}
