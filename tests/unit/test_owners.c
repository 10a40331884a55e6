/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who owns a flow: the hash is the one NICs compute, the same for both directions, and it deals out
 * flows evenly whichever word the key repeats.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <rte_thash.h>
#include <string.h>

#include "dataplane/worker/owners.h"

#define FLOWS   100000u
#define WORDS   65536u
#define SAMPLES 64u

static uint64_t random_state;

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint64_t draw(void)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static struct packet draw_packet(bool v6, enum packet_kind kind)
{
    struct packet p = {.kind = (uint8_t)kind,
                       .is_v6 = v6,
                       .source_port = (uint16_t)draw(),
                       .destination_port = (uint16_t)draw(),
                       .fragment_id = (uint32_t)draw()};

    p.source = address_from_v4((uint32_t)draw());
    p.destination = address_from_v4((uint32_t)draw());
    for (unsigned i = 0; v6 && i < 2; i++) {
        p.source.halves[i] = draw();
        p.destination.halves[i] = draw();
    }
    return p;
}

static struct packet reversed(const struct packet *p)
{
    struct packet r = *p;

    r.source = p->destination;
    r.destination = p->source;
    r.source_port = p->destination_port;
    r.destination_port = p->source_port;
    return r;
}

static uint16_t draw_good_word(void)
{
    uint16_t word;

    do
        word = (uint16_t)draw();
    while (!owners_word_is_good(word));
    return word;
}

/* DPDK's own reading of the tuple: words in host byte order, the first byte on the wire on top. */
static uint32_t softrss(const struct owners *owners, const struct packet *p)
{
    uint32_t tuple[9];
    unsigned words = p->is_v6 ? 4 : 1, at = 0;

    for (unsigned i = 4 - words; i < 4; i++)
        tuple[at++] = __builtin_bswap32(p->source.words[i]);
    for (unsigned i = 4 - words; i < 4; i++)
        tuple[at++] = __builtin_bswap32(p->destination.words[i]);
    tuple[at++] = (uint32_t)p->source_port << 16 | p->destination_port;
    return rte_softrss(tuple, at, owners->key);
}

static void the_hash_is_what_a_nic_computes_under_the_key(void **state)
{
    (void)state;
    random_state = 1;
    for (unsigned i = 0; i < 1000; i++) {
        struct owners owners;

        owners_init(&owners, draw_good_word(), 4);
        for (unsigned j = 0; j < 20; j++) {
            struct packet p = draw_packet(j % 2, j % 4 < 2 ? PACKET_TCP : PACKET_UDP);

            assert_int_equal(owners_hash(&owners, &p), softrss(&owners, &p));
        }
    }
}

static void case_D01_both_directions_have_one_owner(void **state)
{
    struct owners owners;

    (void)state;
    random_state = 2;
    for (unsigned i = 0; i < 1000; i++) {
        owners_init(&owners, draw_good_word(), 2 + i % 7);
        for (unsigned j = 0; j < 20; j++) {
            struct packet p = draw_packet(j % 2, j % 4 < 2 ? PACKET_TCP : PACKET_FRAGMENT);
            struct packet r = reversed(&p);

            assert_int_equal(owners_hash(&owners, &p), owners_hash(&owners, &r));
            assert_int_equal(owners_find(&owners, &p), owners_find(&owners, &r));
        }
    }
}

/* No worker has more or less than its share by more than 5 %. */
static void check_even(const uint32_t *owned, uint32_t workers, uint32_t flows)
{
    uint32_t share = flows / workers;

    for (uint32_t w = 0; w < workers; w++)
        assert_in_range(owned[w], share - share / 20, share + share / 20);
}

static void spread_random_flows(const struct owners *owners, uint32_t workers,
                                enum packet_kind kind)
{
    uint32_t owned[8] = {0};

    for (uint32_t i = 0; i < FLOWS; i++) {
        struct packet p = draw_packet(i % 2, kind);

        owned[owners_find(owners, &p)]++;
    }
    check_even(owned, workers, FLOWS);
}

/* One client, one service, every port: the words differ in their ports only. */
static void spread_ports(const struct owners *owners, uint32_t workers)
{
    struct packet p = draw_packet(false, PACKET_TCP);
    uint32_t owned[8] = {0};

    for (uint32_t port = 0; port < WORDS; port++) {
        p.source_port = (uint16_t)port;
        owned[owners_find(owners, &p)]++;
    }
    check_even(owned, workers, WORDS);
}

static void flows_are_dealt_out_evenly(void **state)
{
    static const uint32_t counts[] = {2, 3, 4, 8};
    struct owners owners;

    (void)state;
    random_state = 3;
    for (unsigned i = 0; i < SAMPLES; i++) {
        uint32_t workers = counts[i % 4];

        owners_init(&owners, draw_good_word(), workers);
        spread_random_flows(&owners, workers, i % 8 < 4 ? PACKET_UDP : PACKET_FRAGMENT);
        spread_ports(&owners, workers);
    }
}

/* Fragments of one packet, which know no ports, have one owner; its next packet has another id. */
static void fragments_go_by_their_id(void **state)
{
    struct packet p = draw_packet(false, PACKET_FRAGMENT), q = p;
    struct owners owners;
    unsigned others = 0;

    (void)state;
    random_state = 4;
    owners_init(&owners, draw_good_word(), 4);
    q.source_port = (uint16_t)~p.source_port;
    assert_int_equal(owners_hash(&owners, &p), owners_hash(&owners, &q));
    for (unsigned i = 0; i < 128; i++) {
        q.fragment_id = (uint32_t)draw();
        others += owners_find(&owners, &p) != owners_find(&owners, &q);
    }
    assert_in_range(others, 70, 120);
}

/* Rank of the map from a 16-bit word to the index of the table. With all seven bits independent,
 * every entry is hit by as many words as any other. */
static unsigned rank_of(const struct owners *owners)
{
    uint32_t rows[16];
    unsigned rank = 0;

    for (unsigned bit = 0; bit < 16; bit++)
        rows[bit] = (bit < 8 ? owners->low[1u << bit] : owners->high[1u << (bit - 8)]) % 128;
    for (unsigned bit = 0; bit < 7; bit++)
        for (unsigned i = rank; i < 16; i++) {
            uint32_t pivot = rows[i];

            if (!(pivot >> bit & 1))
                continue;
            rows[i] = rows[rank];
            rows[rank++] = pivot;
            for (unsigned j = rank; j < 16; j++)
                rows[j] ^= rows[j] >> bit & 1 ? pivot : 0;
            break;
        }
    return rank;
}

static void every_word_that_is_good_reaches_the_whole_table(void **state)
{
    unsigned good = 0;

    (void)state;
    for (uint32_t word = 0; word < WORDS; word++) {
        struct owners owners;

        if (!owners_word_is_good((uint16_t)word))
            continue;
        good++;
        owners_init(&owners, (uint16_t)word, 4);
        assert_int_equal(rank_of(&owners), 7);
    }
    assert_in_range(good, WORDS / 2, WORDS); /* so drawing one ends soon */
}

static void degenerate_words_are_rejected(void **state)
{
    (void)state;
    for (uint32_t half = 0; half < 256; half++) /* period 8 or less: 0, ffff, 5555 ... */
        assert_false(owners_word_is_good((uint16_t)(half << 8 | half)));
    for (unsigned bit = 0; bit < 16; bit++) /* half of the bits never reach the index */
        assert_false(owners_word_is_good((uint16_t)(1u << bit)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hash_is_what_a_nic_computes_under_the_key),
        cmocka_unit_test(case_D01_both_directions_have_one_owner),
        cmocka_unit_test(flows_are_dealt_out_evenly),
        cmocka_unit_test(fragments_go_by_their_id),
        cmocka_unit_test(every_word_that_is_good_reaches_the_whole_table),
        cmocka_unit_test(degenerate_words_are_rejected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
