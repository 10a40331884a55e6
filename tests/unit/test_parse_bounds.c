/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/parsing.h"

/* Fragment fields of both versions; `offset` in units of 8 bytes. */
static void build_fragment(struct frame *f, bool is_v6, uint16_t offset, bool more,
                           uint8_t protocol, uint32_t payload_bytes)
{
    /* At offset 0 these are ports 9999 -> 80, and a whole TCP header, or UDP length 3008. */
    static const uint8_t payload[24] = {0x27, 0x0f, 0x00, 0x50, 0x0b, 0xc0, 0,
                                        0,    0,    0,    0,    0,    0x50, 0x10};

    frame_ethernet(f);
    if (is_v6) {
        frame_ipv6(f, &v6);
        frame_fragment(f, offset, more);
    } else {
        frame_ipv4(f, &(struct frame_ipv4){.source = v4.source,
                                           .destination = v4.destination,
                                           .fragment = (uint16_t)(more << 13 | offset)});
    }
    frame_protocol(f, protocol);
    frame_payload(f, payload, payload_bytes);
    frame_finish(f);
}

static void case_A06_later_fragments_have_no_ports(void **state)
{
    static const uint8_t protocols[] = {1, 6, 17, 47, 58, 60, 89};
    static const uint16_t offsets[] = {1, 2, 185, 8191};
    struct packet packet;
    struct frame f;

    (void)state;
    for (size_t i = 0; i < COUNT(protocols) * COUNT(offsets) * 4; i++) {
        uint8_t protocol = protocols[i / 4 / COUNT(offsets)];
        uint16_t offset = offsets[i / 4 % COUNT(offsets)];
        bool more = i & 1, is_v6 = i & 2;

        build_fragment(&f, is_v6, offset, more, protocol, 24);
        packet = parse(&f);
        assert_addresses(&packet, is_v6 ? v6.source : v4.source,
                         is_v6 ? v6.destination : v4.destination);
        assert_int_equal(packet.protocol, protocol);
        assert_true(packet.is_fragment);
        assert_int_equal(packet.source_port, 0);
        assert_int_equal(packet.destination_port, 0);
        if (protocol == 6 && offset == 1) {
            assert_malformed(&packet, REASON_MALFORMED_FRAGMENT);
            continue;
        }
        assert_int_equal(packet.kind, PACKET_FRAGMENT);
        assert_int_equal(packet.payload_offset, f.l4);
        assert_int_equal(packet.payload_bytes, 24);
    }
    build_fragment(&f, false, 185, false, 17, 0); /* empty, but no header is missed */
    packet = parse(&f);
    assert_int_equal(packet.kind, PACKET_FRAGMENT);
}

static void case_A06_first_fragments(void **state)
{
    static const struct {
        uint8_t v4_protocol, v6_protocol, header_bytes, kind;
    } table[] = {{6, 6, 20, PACKET_TCP}, {17, 17, 8, PACKET_UDP}, {1, 58, 8, 0 /* by type */}};
    struct packet packet;
    struct frame f;

    (void)state;
    for (size_t i = 0; i < COUNT(table) * 2; i++) {
        bool is_v6 = i & 1;
        uint8_t protocol = is_v6 ? table[i / 2].v6_protocol : table[i / 2].v4_protocol;
        uint8_t header_bytes = table[i / 2].header_bytes;
        uint8_t kind = table[i / 2].kind;

        for (uint32_t bytes = 0; bytes <= 24; bytes++) {
            build_fragment(&f, is_v6, 0, true, protocol, bytes);
            packet = parse(&f);
            assert_true(packet.is_fragment);
            if (bytes < header_bytes) {
                assert_malformed(&packet, REASON_MALFORMED_FRAGMENT);
                continue;
            }
            assert_int_equal(packet.kind, kind    ? kind
                                          : is_v6 ? PACKET_ICMP_ERROR /* type 39 */
                                                  : PACKET_ICMP);
            assert_int_equal(packet.destination_port, kind ? 80 : 0);
            assert_int_equal(packet.payload_bytes, bytes - header_bytes);
        }
    }
    build_fragment(&f, false, 0, true, 6, 24); /* options that the fragment does not hold */
    f.bytes[f.l4 + 12] = 0x70;
    packet = parse(&f);
    assert_malformed(&packet, REASON_MALFORMED_FRAGMENT);
}

/* Offset 0 and no more to come: an ordinary packet (RFC 6946), its lengths checked as such. */
static void case_A06_atomic_fragments(void **state)
{
    struct packet packet;
    struct frame f;

    (void)state;
    start_v6(&f);
    frame_fragment(&f, 0, false);
    frame_tcp(&f, &syn);
    frame_finish(&f);
    assert_syn(&f, 0);
    assert_false(parse(&f).is_fragment);
    build_fragment(&f, true, 0, false, 17, 24);
    packet = parse(&f);
    assert_malformed(&packet, REASON_MALFORMED_UDP_LENGTH);
    start_v4(&f);
    frame_put16(&f, f.l3 + 6, 0xc000); /* "do not fragment", and the reserved bit */
    frame_tcp(&f, &syn);
    frame_finish(&f);
    assert_false(parse(&f).is_fragment);
    assert_syn(&f, 0);
}

/* A frame cut anywhere by the wire: each layer is missed by its own name. */
static void case_A08_cut_at_every_byte(void **state)
{
    struct packet packet;
    struct frame f;

    (void)state;
    for (int i = 0; i < 8; i++) {
        bool is_v6 = i & 1, is_udp = i & 2, tagged = i & 4;
        uint32_t l2_bytes = tagged ? 22 : 14;

        frame_ethernet(&f);
        if (tagged) {
            frame_vlan(&f, 0x88a8, 1);
            frame_vlan(&f, 0x8100, 2);
        }
        if (is_v6)
            frame_ipv6(&f, &v6);
        else
            frame_ipv4(&f, &v4);
        if (is_udp)
            frame_udp(&f, 5353, 53);
        else
            frame_tcp(&f, &syn);
        frame_payload(&f, "hello", 5);
        frame_finish(&f);
        for (uint32_t cut = 0; cut < f.length; cut++) {
            packet = parse_part(&f, cut, cut);
            assert_malformed(&packet, cut < l2_bytes ? REASON_MALFORMED_ETHERNET
                                      : cut < f.l4   ? REASON_MALFORMED_IP_HEADER
                                                     : REASON_MALFORMED_IP_LENGTH);
        }
    }
}

/* The frame is whole on the wire, but only its first bytes are at hand. */
static void case_A08_readable_part_ends_at_every_byte(void **state)
{
    struct packet packet;
    struct frame f;

    (void)state;
    for (int i = 0; i < 4; i++) {
        bool is_v6 = i & 1, is_udp = i & 2;
        uint32_t headers_bytes;

        if (is_udp)
            build_datagram(&f, is_v6);
        else
            build_syn(&f, is_v6, 5);
        headers_bytes = f.l4 + (is_udp ? 8 : 20);
        for (uint32_t readable = 0; readable <= f.length; readable++) {
            packet = parse_part(&f, readable, f.length);
            if (readable >= headers_bytes) {
                assert_int_equal(packet.kind, is_udp ? PACKET_UDP : PACKET_TCP);
                assert_int_equal(packet.payload_bytes, 5);
                continue;
            }
            assert_malformed(&packet, readable < f.l3   ? REASON_MALFORMED_ETHERNET
                                      : readable < f.l4 ? REASON_MALFORMED_IP_HEADER
                                      : is_udp          ? REASON_MALFORMED_UDP_LENGTH
                                                        : REASON_MALFORMED_TCP_HEADER);
        }
    }
}

/* Every IP length there is, zero included, around a frame of 5 bytes of data and 20 of padding. */
static void case_A08_every_ip_length(void **state)
{
    struct packet packet;
    struct frame f;

    (void)state;
    for (int is_v6 = 0; is_v6 < 2; is_v6++) {
        uint32_t before_l4 = is_v6 ? 0 : 20; /* what the field counts in front of TCP */

        build_syn(&f, is_v6, 5);
        frame_trailer(&f, 0xee, 20);
        for (uint32_t length = 0; length <= UINT16_MAX; length++) {
            frame_put16(&f, f.l3 + (is_v6 ? 4 : 2), (uint16_t)length);
            if (length >= before_l4 + 20 && length <= before_l4 + 45) {
                assert_syn(&f, length - before_l4 - 20);
                continue;
            }
            packet = parse(&f);
            assert_malformed(&packet, length >= before_l4 && length < before_l4 + 20
                                          ? REASON_MALFORMED_TCP_HEADER
                                          : REASON_MALFORMED_IP_LENGTH);
        }
    }
}

static void case_A08_ipv6_version(void **state)
{
    struct packet packet;
    struct frame f;

    (void)state;
    for (uint8_t version = 0; version < 16; version++) {
        build_syn(&f, true, 0);
        f.bytes[f.l3] = (uint8_t)(version << 4 | 0x0f); /* traffic class in the low half */
        if (version == 6) {
            assert_syn(&f, 0);
            continue;
        }
        packet = parse(&f);
        assert_malformed(&packet, REASON_MALFORMED_IP_HEADER);
    }
}

static void case_A08_padding_is_no_data(void **state)
{
    struct packet packet;
    struct frame f;

    (void)state;
    build_syn(&f, false, 0);
    frame_trailer(&f, 0xee, 200);
    assert_syn(&f, 0);
    build_syn(&f, true, 3);
    frame_trailer(&f, 0xee, 200);
    assert_syn(&f, 3);

    start_v4(&f);
    frame_tcp(&f,
              &(struct frame_tcp){.source_port = 40000, .destination_port = 443, .flags = 0x10});
    frame_finish(&f);
    frame_trailer(&f, 0xee, 60 - f.length);
    packet = parse(&f);
    assert_int_equal(packet.kind, PACKET_TCP);
    assert_int_equal(packet.tcp_flags, TCP_ACK);
    assert_int_equal(packet.payload_bytes, 0);
    assert_int_equal(packet.ip_bytes, 40);
}

static void case_A08_every_tcp_data_offset(void **state)
{
    struct packet packet;
    struct frame f;

    (void)state;
    for (uint8_t words = 0; words < 16; words++) {
        build_syn(&f, words & 1, 24);
        frame_trailer(&f, 0xee, 40); /* padding is no header either */
        f.bytes[f.l4 + 12] = (uint8_t)(words << 4);
        if (words >= 5 && words <= 11) {
            assert_syn(&f, 44u - 4u * words);
            continue;
        }
        packet = parse(&f);
        assert_malformed(&packet, REASON_MALFORMED_TCP_HEADER);
    }
}

static void case_A08_every_udp_length(void **state)
{
    struct packet packet;
    struct frame f;

    (void)state;
    for (int is_v6 = 0; is_v6 < 2; is_v6++) {
        build_datagram(&f, is_v6);
        frame_trailer(&f, 0xee, 20);
        for (uint32_t length = 0; length <= UINT16_MAX; length++) {
            frame_put16(&f, f.l4 + 4, (uint16_t)length);
            packet = parse(&f);
            if (length < 8 || length > 13) {
                assert_malformed(&packet, REASON_MALFORMED_UDP_LENGTH);
                continue;
            }
            assert_int_equal(packet.kind, PACKET_UDP);
            assert_int_equal(packet.payload_bytes, 5);
        }
    }
}

static void case_A08_icmp_cut(void **state)
{
    struct packet packet;
    struct frame f;

    (void)state;
    for (int is_v6 = 0; is_v6 < 2; is_v6++) {
        if (is_v6)
            start_v6(&f);
        else
            start_v4(&f);
        frame_icmp(&f, is_v6 ? 128 : 8, 0);
        frame_finish(&f);
        for (uint16_t bytes = 0; bytes < 8; bytes++) {
            frame_put16(&f, f.l3 + (is_v6 ? 4 : 2), is_v6 ? bytes : 20 + bytes);
            packet = parse(&f);
            assert_malformed(&packet, REASON_MALFORMED_ICMP_HEADER);
        }
    }
}

/* All 256 flag bytes, each without and with the reserved bits and AE (once NS) before them. */
static void case_B07_flags(void **state)
{
    struct packet packet;
    struct frame f;

    (void)state;
    for (int i = 0; i < 512; i++) {
        uint8_t flags = (uint8_t)i;
        bool syn_bit = flags & 0x02, rst = flags & 0x04, fin = flags & 0x01, ack = flags & 0x10;
        bool sane = syn_bit + rst + fin <= 1 && (ack || syn_bit || rst);

        build_syn(&f, i & 1, 0);
        f.bytes[f.l4 + 13] = flags;
        f.bytes[f.l4 + 12] |= i & 256 ? 0x0f : 0;
        packet = parse(&f);
        if (!sane) {
            assert_malformed(&packet, REASON_MALFORMED_TCP_FLAGS);
            continue;
        }
        assert_int_equal(packet.kind, PACKET_TCP);
        assert_int_equal(packet.tcp_flags, flags);
    }
}

static void case_B07_ecn_syn_is_a_syn(void **state)
{
    static const uint8_t impossible[] = {0x00, 0x03, 0x06, 0x13, 0x29,
                                         0x3f, 0xff, 0x01, 0x08, 0xc0};
    struct packet packet;
    struct frame f;

    (void)state;
    build_syn(&f, false, 0);
    f.bytes[f.l4 + 12] |= 1; /* AE: accurate ECN is asked for */
    f.bytes[f.l4 + 13] = 0xc2;
    assert_syn(&f, 0);
    f.bytes[f.l4 + 13] = 0x52;
    packet = parse(&f);
    assert_int_equal(packet.kind, PACKET_TCP);
    assert_int_equal(packet.tcp_flags & (TCP_SYN | TCP_ACK | TCP_RST | TCP_FIN), TCP_SYN | TCP_ACK);
    for (size_t i = 0; i < COUNT(impossible); i++) {
        f.bytes[f.l4 + 13] = impossible[i];
        packet = parse(&f);
        assert_malformed(&packet, REASON_MALFORMED_TCP_FLAGS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(case_A06_later_fragments_have_no_ports),
        cmocka_unit_test(case_A06_first_fragments),
        cmocka_unit_test(case_A06_atomic_fragments),
        cmocka_unit_test(case_A08_cut_at_every_byte),
        cmocka_unit_test(case_A08_readable_part_ends_at_every_byte),
        cmocka_unit_test(case_A08_every_ip_length),
        cmocka_unit_test(case_A08_ipv6_version),
        cmocka_unit_test(case_A08_padding_is_no_data),
        cmocka_unit_test(case_A08_every_tcp_data_offset),
        cmocka_unit_test(case_A08_every_udp_length),
        cmocka_unit_test(case_A08_icmp_cut),
        cmocka_unit_test(case_B07_flags),
        cmocka_unit_test(case_B07_ecn_syn_is_a_syn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
