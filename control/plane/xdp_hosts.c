/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/plane/xdp_hosts.h"

#define BITS_MIN 2

/* Fills the empty places of bucket 0, where 0 belongs. */
#define ELSEWHERE UINT32_MAX
_Static_assert((uint32_t)(ELSEWHERE *HOSTS_FACTOR) >> (32 - BITS_MIN) != 0, "it is of no bucket 0");

static uint32_t empty_place(uint32_t number)
{
    return number ? 0 : ELSEWHERE;
}

static void clear(struct hosts_bucket *buckets, uint32_t n)
{
    for (uint32_t number = 0; number < n; number++)
        for (unsigned i = 0; i < HOSTS_PLACES; i++)
            buckets[number].addresses[i] = empty_place(number);
}

/* False: its bucket is full. */
static bool put(struct hosts_bucket *buckets, uint32_t shift, uint32_t address)
{
    const uint32_t number = hosts_number(address, shift);
    uint32_t *places = buckets[number].addresses;

    for (unsigned i = 0; i < HOSTS_PLACES; i++)
        if (places[i] == empty_place(number)) {
            places[i] = address;
            return true;
        }
    return false;
}

static bool is_denied(const struct prefix_view *view, uint32_t i)
{
    return view->ranges[i].value != view->shape->missing;
}

/* The last range is none of IPv4, which ends before the space does. */
static bool is_host(const struct prefix_view *view, uint32_t i)
{
    return view->ranges[i + 1].first_low - view->ranges[i].first_low == 1;
}

/* False: there are some that found no place. */
static bool put_all(struct hosts_bucket *buckets, uint32_t bits, const struct prefix_view *view)
{
    bool all = true;

    clear(buckets, 1u << bits);
    for (uint32_t i = 0; i < view->n_ranges; i++)
        if (is_denied(view, i) && is_host(view, i))
            all &= put(buckets, 32 - bits, (uint32_t)view->ranges[i].first_low);
    return all;
}

void xdp_hosts_fill(struct hosts_bucket *buckets, const struct prefix_view *denied_v4,
                    struct xdp_image *image)
{
    uint32_t bits = BITS_MIN, n_denied = 0, n_hosts = 0;
    bool all;

    for (uint32_t i = 0; i < denied_v4->n_ranges; i++)
        if (is_denied(denied_v4, i)) {
            n_denied++;
            n_hosts += is_host(denied_v4, i);
        }
    while (bits < HOSTS_BITS_MAX && n_hosts > (uint32_t)HOSTS_PLACES << bits)
        bits++;
    while (!(all = put_all(buckets, bits, denied_v4)) && bits < HOSTS_BITS_MAX)
        bits++;
    image->hosts_shift = 32 - bits;
    image->more_denied_v4 = n_hosts < n_denied || !all;
}
