/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/parsing.h"

static void plain_packets(void **state)
{
    struct packet packet;
    struct frame f;

    (void)state;
    for (int is_v6 = 0; is_v6 < 2; is_v6++) {
        build_syn(&f, is_v6, 0);
        assert_syn(&f, 0);
        build_syn(&f, is_v6, 5);
        assert_syn(&f, 5);
        build_datagram(&f, is_v6);
        packet = parse(&f);
        assert_int_equal(packet.kind, PACKET_UDP);
        assert_int_equal(packet.protocol, 17);
        assert_int_equal(packet.source_port, 5353);
        assert_int_equal(packet.destination_port, 53);
        assert_int_equal(packet.payload_offset, f.l4 + 8);
        assert_int_equal(packet.payload_bytes, 5);
        assert_int_equal(packet.ip_bytes, f.length - 14);
        assert_int_equal(packet.tcp_flags, 0);
        assert_false(packet.is_fragment);
    }
    start_v4(&f);
    frame_tcp(&f, &(struct frame_tcp){.seq = 7,
                                      .ack = 0x90abcdef,
                                      .source_port = 1,
                                      .destination_port = 2,
                                      .flags = 0x18,
                                      .option_bytes = 40});
    frame_payload(&f, "data", 4);
    frame_finish(&f);
    packet = parse(&f);
    assert_int_equal(packet.tcp_ack, 0x90abcdef);
    assert_int_equal(packet.tcp_flags, 0x18);
    assert_int_equal(packet.payload_offset, 14 + 20 + 60);
    assert_int_equal(packet.payload_bytes, 4);
}

static void case_A01_tags_are_walked(void **state)
{
    static const struct {
        uint16_t tpid[3];
        uint8_t n;
    } stacks[] = {
        {{0}, 0},
        {{0x8100}, 1},
        {{0x88a8}, 1},
        {{0x9100}, 1},
        {{0x88a8, 0x8100}, 2},
        {{0x8100, 0x8100}, 2},
        {{0x88a8, 0x8100, 0x8100}, 3},
        {{0x8100, 0x8100, 0x88a8}, 3},
    };
    struct packet packet;
    struct frame f;

    (void)state;
    for (size_t i = 0; i < COUNT(stacks); i++) {
        frame_ethernet(&f);
        for (uint16_t tag = 0; tag < stacks[i].n; tag++)
            frame_vlan(&f, stacks[i].tpid[tag], 0xf064 + tag); /* priority 7, drop eligible */
        frame_ipv4(&f, &v4);
        frame_tcp(&f, &syn);
        frame_finish(&f);
        packet = parse(&f);
        assert_int_equal(packet.vlan_tags, stacks[i].n < 2 ? stacks[i].n : 2);
        assert_int_equal(packet.vlan[0], stacks[i].n > 0 ? 100 : 0);
        assert_int_equal(packet.vlan[1], stacks[i].n > 1 ? 101 : 0);
        if (stacks[i].n <= PARSE_VLAN_MAX) {
            assert_syn(&f, 0);
            continue;
        }
        assert_int_equal(packet.kind, PACKET_DEEP_VLAN);
        assert_int_equal(packet.protocol, 0);
        assert_int_equal(packet.ip_bytes, 0);
    }
}

static void non_ip_frames(void **state)
{
    static const uint16_t types[] = {0x0806, 0x88cc, 0x8809, 0x8847, 0x8863, 0x8864,
                                     0x0600, 0x05ff, 0x0026, 0x0000, 0xffff};
    struct packet packet;
    struct frame f;

    (void)state;
    for (size_t i = 0; i < COUNT(types); i++) {
        for (uint8_t tags = 0; tags <= 2; tags++) {
            frame_ethernet(&f);
            for (uint8_t tag = 0; tag < tags; tag++)
                frame_vlan(&f, 0x8100, 5);
            frame_ethertype(&f, types[i]);
            packet = parse(&f); /* not a byte behind the type */
            assert_int_equal(packet.kind, PACKET_NON_IP);
            assert_int_equal(packet.l3_offset, 14 + 4 * tags);
            assert_int_equal(packet.vlan_tags, tags);
            assert_int_equal(packet.protocol, 0);
        }
    }
}

static void case_A03_options_do_not_move_the_ports(void **state)
{
    /* At the fixed offset 20 these read as ports 1234 -> 80. */
    static const uint8_t options[40] = {0x04, 0xd2, 0x00, 0x50, 0x04, 0xd2, 0x00, 0x50};
    struct packet packet;
    struct frame f;

    (void)state;
    for (uint32_t bytes = 4; bytes <= 40; bytes += 4) {
        frame_ethernet(&f);
        frame_ipv4(&f, &(struct frame_ipv4){v4.source, v4.destination, options, bytes, 0});
        frame_tcp(&f, &syn);
        frame_finish(&f);
        assert_int_equal(f.l4, 14 + 20 + bytes);
        assert_syn(&f, 0);
    }
    for (uint8_t version = 0; version < 16; version++) {
        for (uint8_t ihl = 0; ihl < 16; ihl++) {
            build_syn(&f, false, 0); /* 40 bytes of IP: an IHL of 11 and more passes the end */
            f.bytes[f.l3] = (uint8_t)(version << 4 | ihl);
            packet = parse(&f);
            if (version != 4 || ihl < 5 || ihl > 10)
                assert_malformed(&packet, REASON_MALFORMED_IP_HEADER);
            else if (ihl > 5)
                assert_malformed(&packet, REASON_MALFORMED_TCP_HEADER);
            else
                assert_syn(&f, 0);
        }
    }
}

static void case_A04_chain_is_walked(void **state)
{
    static const struct {
        uint8_t types[PARSE_IPV6_CHAIN_MAX];
        uint16_t bytes[PARSE_IPV6_CHAIN_MAX];
    } chains[] = {
        {{0}, {8}},
        {{0, 60}, {8, 16}},
        {{43}, {24}},
        {{51}, {24}},
        {{51}, {12}}, /* counts in words, unlike the others */
        {{135}, {16}},
        {{139}, {40}},
        {{140}, {8}},
        {{0, 43, 51, 60}, {2048, 40, 16, 2048}},
        {{0, 60, 60, 60, 60, 60, 60, 60}, {8, 8, 8, 8, 8, 8, 8, 8}},
    };
    struct packet packet;
    struct frame f;

    (void)state;
    for (size_t i = 0; i < COUNT(chains); i++) {
        for (int is_udp = 0; is_udp < 2; is_udp++) {
            start_v6(&f);
            for (int j = 0; j < PARSE_IPV6_CHAIN_MAX && chains[i].bytes[j]; j++)
                frame_extension(&f, chains[i].types[j], chains[i].bytes[j]);
            if (is_udp)
                frame_udp(&f, 5353, 53);
            else
                frame_tcp(&f, &syn);
            frame_finish(&f);
            if (!is_udp)
                assert_syn(&f, 0);
            packet = parse(&f);
            assert_int_equal(packet.kind, is_udp ? PACKET_UDP : PACKET_TCP);
            assert_int_equal(packet.l4_offset, f.l4);
            assert_int_equal(packet.destination_port, is_udp ? 53 : 443);
        }
    }
}

static void case_A04_chain_over_the_bound(void **state)
{
    struct packet packet;
    struct frame f;

    (void)state;
    for (int n = PARSE_IPV6_CHAIN_MAX + 1; n <= 12; n++) {
        start_v6(&f);
        for (int i = 0; i < n; i++)
            frame_extension(&f, 60, 8);
        frame_tcp(&f, &syn);
        frame_finish(&f);
        packet = parse(&f);
        assert_int_equal(packet.kind, PACKET_DEEP_CHAIN);
        assert_addresses(&packet, v6.source, v6.destination);
        assert_int_equal(packet.protocol, 60);
        assert_int_equal(packet.l4_offset, 14 + 40 + 8 * PARSE_IPV6_CHAIN_MAX);
        assert_int_equal(packet.destination_port, 0);
    }
}

/* The chain ends by the IP length first, then by the frame. */
static void case_A04_chain_cut(void **state)
{
    static const uint8_t types[] = {0, 43, 44, 51, 60, 135, 139, 140};
    struct packet packet;
    struct frame f;

    (void)state;
    for (size_t i = 0; i < COUNT(types); i++) {
        uint16_t bytes = types[i] == 44 ? 8 : 24;

        start_v6(&f);
        if (types[i] == 44)
            frame_fragment(&f, 0, false);
        else
            frame_extension(&f, types[i], bytes);
        frame_tcp(&f, &syn);
        frame_finish(&f);
        for (uint16_t cut = 0; cut <= bytes; cut++) {
            frame_put16(&f, f.l3 + 4, cut);
            packet = parse(&f);
            assert_malformed(&packet, cut < bytes ? REASON_MALFORMED_IPV6_CHAIN
                                                  : REASON_MALFORMED_TCP_HEADER);
            assert_addresses(&packet, v6.source, v6.destination);
            packet = parse_part(&f, 14 + 40 + cut, f.length);
            assert_int_equal(packet.kind, PACKET_MALFORMED);
        }
    }
}

static void other_protocols(void **state)
{
    static const struct {
        uint8_t protocol;
        enum packet_kind v4_kind, v6_kind;
    } table[] = {
        {50, PACKET_OTHER, PACKET_OTHER},      {47, PACKET_OTHER, PACKET_OTHER},
        {132, PACKET_OTHER, PACKET_OTHER},     {59, PACKET_OTHER, PACKET_OTHER},
        {4, PACKET_OTHER, PACKET_OTHER},       {255, PACKET_OTHER, PACKET_OTHER},
        {2, PACKET_CONTROL, PACKET_CONTROL},   {88, PACKET_CONTROL, PACKET_CONTROL},
        {89, PACKET_CONTROL, PACKET_CONTROL},  {103, PACKET_CONTROL, PACKET_CONTROL},
        {112, PACKET_CONTROL, PACKET_CONTROL}, {51, PACKET_OTHER, PACKET_MALFORMED},
        {58, PACKET_OTHER, PACKET_ICMP_ERROR}, {1, PACKET_ICMP, PACKET_OTHER},
        {0, PACKET_OTHER, PACKET_MALFORMED},
    };
    struct packet packet;
    struct frame f;

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        for (int is_v6 = 0; is_v6 < 2; is_v6++) {
            if (is_v6)
                start_v6(&f);
            else
                start_v4(&f);
            frame_protocol(&f, table[i].protocol);
            frame_payload(&f, "\0\xff\0\0\0\0\0\0\0\0", 10); /* no whole AH nor chain */
            frame_finish(&f);
            packet = parse(&f);
            assert_int_equal(packet.kind, is_v6 ? table[i].v6_kind : table[i].v4_kind);
            if (packet.kind == PACKET_OTHER || packet.kind == PACKET_CONTROL) {
                assert_int_equal(packet.protocol, table[i].protocol);
                assert_int_equal(packet.payload_offset, f.l4);
                assert_int_equal(packet.payload_bytes, 10);
            }
        }
    }
}

/* Otherwise an IPv6 frame could speak for an IPv4 tenant, or in an IPv4 flow. */
static void mapped_addresses_are_not_believed(void **state)
{
    static const struct frame_ipv6 forged[] = {
        {.source = "::ffff:10.1.0.5", .destination = "fd09::10"},
        {.source = "fd01::5", .destination = "::ffff:10.9.0.10"},
    };
    struct frame f;

    (void)state;
    for (unsigned i = 0; i < COUNT(forged); i++) {
        struct packet packet;

        frame_ethernet(&f);
        frame_ipv6(&f, &forged[i]);
        frame_tcp(&f, &syn);
        frame_finish(&f);
        packet = parse(&f);
        assert_malformed(&packet, REASON_MALFORMED_IP_HEADER);
    }
}

static void icmp_kinds(void **state)
{
    struct packet packet;
    struct frame f;

    (void)state;
    for (int type = 0; type < 256; type++) {
        bool error = type == 3 || type == 4 || type == 5 || type == 11 || type == 12;
        bool listener = (type >= 130 && type <= 132) || type == 143;
        bool neighbour = type >= 133 && type <= 137;

        start_v4(&f);
        frame_icmp(&f, (uint8_t)type, 0);
        frame_payload(&f, "quote", 5);
        frame_finish(&f);
        packet = parse(&f);
        assert_int_equal(packet.kind, error ? PACKET_ICMP_ERROR : PACKET_ICMP);
        assert_int_equal(packet.payload_offset, f.l4 + 8);
        assert_int_equal(packet.payload_bytes, 5);

        for (int hop_limit = 254; hop_limit <= 255; hop_limit++) {
            frame_ethernet(&f);
            frame_ipv6(&f, &(struct frame_ipv6){v6.source, v6.destination, (uint8_t)hop_limit});
            frame_icmp(&f, (uint8_t)type, 0);
            frame_finish(&f);
            packet = parse(&f);
            assert_int_equal(packet.kind, type < 128 ? PACKET_ICMP_ERROR
                                          : listener || (neighbour && hop_limit == 255)
                                              ? PACKET_CONTROL
                                              : PACKET_ICMP);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_packets),
        cmocka_unit_test(case_A01_tags_are_walked),
        cmocka_unit_test(non_ip_frames),
        cmocka_unit_test(case_A03_options_do_not_move_the_ports),
        cmocka_unit_test(case_A04_chain_is_walked),
        cmocka_unit_test(case_A04_chain_over_the_bound),
        cmocka_unit_test(case_A04_chain_cut),
        cmocka_unit_test(other_protocols),
        cmocka_unit_test(mapped_addresses_are_not_believed),
        cmocka_unit_test(icmp_kinds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
