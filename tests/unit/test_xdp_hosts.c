/* SPDX-License-Identifier: BSD-3-Clause */
/* Which denied addresses lie in buckets of their own, and that none is denied for it, or spared. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "control/plane/xdp_hosts.h"
#include "dataplane/policy/policy.h"

/* Denied: an aligned power of two of addresses, in host byte order. */
struct network {
    uint32_t first, n;
};

struct scene {
    struct prefix_table *table;
    struct hosts_bucket *buckets;
    struct xdp_image image;
};

static void open_scene(struct scene *s, const struct network *networks, uint32_t n)
{
    struct prefix_entry *entries = calloc(n, sizeof(*entries));
    struct prefix_view view;

    s->buckets = malloc(XDP_HOSTS * sizeof(*s->buckets));
    assert_true(entries && s->buckets);
    memset(s->buckets, 0xa5, XDP_HOSTS * sizeof(*s->buckets)); /* what is left of another policy */
    for (uint32_t i = 0; i < n; i++)
        entries[i] = (struct prefix_entry){
            .network = address_from_v4(__builtin_bswap32(networks[i].first)),
            .bits = (uint8_t)(128 - __builtin_ctz(networks[i].n)),
            .value = 1,
        };
    assert_int_equal(prefix_table_create(entries, n, 0, &s->table), 0);
    view = prefix_table_view(s->table);
    xdp_hosts_fill(s->buckets, &view, &s->image);
    free(entries);
}

static void close_scene(struct scene *s)
{
    prefix_table_free(s->table);
    free(s->buckets);
}

static bool is_host(const struct scene *s, uint32_t host)
{
    return hosts_hold(&s->buckets[hosts_number(host, s->image.hosts_shift)], host);
}

/* As the program does it. */
static bool is_denied(const struct scene *s, uint32_t host)
{
    const struct address address = address_from_v4(__builtin_bswap32(host));

    return is_host(s, host) || (s->image.more_denied_v4 && prefix_table_find(s->table, &address));
}

/* Whatever is in a network and next to it, and what fills empty places: the first and the last. */
static void assert_denied(const struct scene *s, const struct network *networks, uint32_t n)
{
    for (uint32_t i = 0; i <= n; i++) {
        const struct network around = i < n ? networks[i] : (struct network){0};

        for (uint32_t host = around.first - 2; host != around.first + around.n + 2; host++) {
            bool denied = false;

            for (uint32_t k = 0; k < n && !denied; k++)
                denied = host - networks[k].first < networks[k].n;
            if (is_denied(s, host) != denied)
                fail_msg("%08x is %sdenied", host, denied ? "not " : "");
        }
    }
}

static void empty_places_deny_nobody(void **state)
{
    static const struct network one = {0x0a000001, 1};
    struct scene s;

    (void)state;
    open_scene(&s, &one, 1);
    assert_int_equal(s.image.more_denied_v4, 0);
    assert_int_equal(s.image.hosts_shift, 30);
    assert_denied(&s, &one, 1);
    for (uint32_t number = 0; number < 4; number++)
        for (unsigned i = 0; i < HOSTS_PLACES; i++)
            if (s.buckets[number].addresses[i] != one.first)
                assert_int_not_equal(hosts_number(s.buckets[number].addresses[i], 30), number);
    close_scene(&s);
}

/* The ends of the space and neighbours are addresses; two at once are a network, and so is what has
 * an address of the list in it. */
static void addresses_and_networks_are_told_apart(void **state)
{
    static const struct network networks[] = {{0, 1},          {UINT32_MAX, 1},  {0x0a000000, 1},
                                              {0x0a000001, 1}, {0x0a000103, 1},  {0x0a000105, 1},
                                              {0x0a000208, 2}, {0x0a000300, 16}, {0x0a000305, 1}};
    const uint32_t n = sizeof(networks) / sizeof(*networks), alone = n - 3;

    (void)state;
    for (uint32_t denied = alone; denied <= n; denied++) {
        struct scene s;

        open_scene(&s, networks, denied);
        assert_int_equal(s.image.more_denied_v4, denied > alone);
        assert_denied(&s, networks, denied);
        for (uint32_t i = 0; i < alone; i++)
            assert_true(is_host(&s, networks[i].first));
        assert_false(is_host(&s, 0x0a000208));
        assert_false(is_host(&s, 0x0a000305));
        close_scene(&s);
    }
}

/* Six whose bucket is the same, however many buckets there are. */
static void who_finds_its_bucket_full_is_in_the_ranges(void **state)
{
    struct network crowd[6];
    uint32_t found = 0;

    (void)state;
    for (uint32_t host = 0x0a000000; found < 6; host++)
        if (hosts_number(host, 32 - HOSTS_BITS_MAX) == 4711)
            crowd[found++] = (struct network){host, 1};
    for (uint32_t n = HOSTS_PLACES; n <= 6; n++) {
        struct scene s;

        open_scene(&s, crowd, n);
        assert_int_equal(s.image.more_denied_v4, n > HOSTS_PLACES);
        assert_int_equal(s.image.hosts_shift, n > HOSTS_PLACES ? 32 - HOSTS_BITS_MAX : 30);
        for (uint32_t i = 0; i < n; i++)
            assert_int_equal(is_host(&s, crowd[i].first), i < HOSTS_PLACES);
        assert_denied(&s, crowd, n);
        close_scene(&s);
    }
}

/* Addresses at random: a bucket gets two on average, and of Poisson(2) 0.075 are above four, which
 * makes 2450 in all. */
static void most_of_the_longest_list_are_found_at_once(void **state)
{
    struct network *networks = calloc(POLICY_DENIED_MAX, sizeof(*networks));
    uint32_t hosts = 0, denied = 0;
    struct scene s;

    (void)state;
    assert_non_null(networks);
    for (uint32_t i = 0; i < POLICY_DENIED_MAX; i++) /* full period of 2^32: none twice */
        networks[i] = (struct network){i ? networks[i - 1].first * 1664525 + 1013904223 : 1, 1};
    open_scene(&s, networks, POLICY_DENIED_MAX);
    for (uint32_t i = 0; i < POLICY_DENIED_MAX; i++) {
        hosts += is_host(&s, networks[i].first);
        denied += is_denied(&s, networks[i].first);
    }
    assert_int_equal(denied, POLICY_DENIED_MAX);
    assert_in_range(hosts, POLICY_DENIED_MAX - 2650, POLICY_DENIED_MAX - 2250);
    assert_int_equal(s.image.more_denied_v4, 1);
    close_scene(&s);
    free(networks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_places_deny_nobody),
        cmocka_unit_test(addresses_and_networks_are_told_apart),
        cmocka_unit_test(who_finds_its_bucket_full_is_in_the_ranges),
        cmocka_unit_test(most_of_the_longest_list_are_found_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
