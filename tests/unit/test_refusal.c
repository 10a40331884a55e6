/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dataplane/packet/parse.h"
#include "dataplane/packet/refusal.h"
#include "tests/unit/frames.h"

#define SEQ 0xfffffff0u
#define ACK 0x01020304u

/* What is refused, and what the answer must say. */
struct refused {
    const char *source, *destination;
    uint16_t tags[2];     /* TPIDs, 0 ends */
    uint8_t option_bytes; /* of IPv4 */
    bool has_extension;   /* of IPv6 */
    uint8_t flags;
    uint32_t payload_bytes;
    uint32_t trailer_bytes;
    uint8_t rst_flags;
    uint32_t rst_seq, rst_ack;
};

#define V4 .source = "10.1.0.5", .destination = "10.9.0.10"
#define V6 .source = "fd01::5", .destination = "fd09::10"

static const struct refused refused[] = {
    {V4, .flags = 0x02, .rst_flags = 0x14, .rst_ack = SEQ + 1},
    {V4, .flags = 0x02, .trailer_bytes = 6, .rst_flags = 0x14, .rst_ack = SEQ + 1},
    /* SYN with data, far enough to wrap the sequence number */
    {V4, .flags = 0x02, .payload_bytes = 100, .rst_flags = 0x14, .rst_ack = 85},
    {V4, .flags = 0xc2, .rst_flags = 0x14, .rst_ack = SEQ + 1}, /* ECN */
    {V4, .tags = {0x8100}, .flags = 0x02, .rst_flags = 0x14, .rst_ack = SEQ + 1},
    {V4, .tags = {0x88a8, 0x8100}, .flags = 0x02, .rst_flags = 0x14, .rst_ack = SEQ + 1},
    {V4, .option_bytes = 40, .flags = 0x02, .rst_flags = 0x14, .rst_ack = SEQ + 1},
    {V4, .flags = 0x10, .payload_bytes = 3, .rst_flags = 0x04, .rst_seq = ACK},
    {V4, .flags = 0x11, .rst_flags = 0x04, .rst_seq = ACK},
    {V4, .flags = 0x12, .rst_flags = 0x04, .rst_seq = ACK},
    {V6, .flags = 0x02, .rst_flags = 0x14, .rst_ack = SEQ + 1},
    {V6, .flags = 0x02, .payload_bytes = 7, .rst_flags = 0x14, .rst_ack = SEQ + 8},
    {V6, .has_extension = true, .flags = 0x02, .rst_flags = 0x14, .rst_ack = SEQ + 1},
    {V6, .tags = {0x88a8, 0x8100}, .flags = 0x10, .rst_flags = 0x04, .rst_seq = ACK},
};

static void build_tags(struct frame *f, const struct refused *r)
{
    for (uint16_t i = 0; i < 2 && r->tags[i]; i++)
        frame_vlan(f, r->tags[i], (uint16_t)(0xe065 + i)); /* priority 7, VLAN 101, 102 */
}

static void build_request(struct frame *f, const struct refused *r)
{
    static const uint8_t options[40] = {7, 39, 4}; /* record route, and the end of options */
    static const uint8_t payload[100] = "hello";

    frame_ethernet(f);
    build_tags(f, r);
    if (strchr(r->source, ':'))
        frame_ipv6(f, &(struct frame_ipv6){r->source, r->destination, 0});
    else
        frame_ipv4(f, &(struct frame_ipv4){.source = r->source,
                                           .destination = r->destination,
                                           .options = options,
                                           .option_bytes = r->option_bytes});
    if (r->has_extension) {
        frame_extension(f, 0, 8);
        frame_extension(f, 60, 16);
    }
    frame_tcp(f, &(struct frame_tcp){.source_port = 40000,
                                     .destination_port = 443,
                                     .seq = SEQ,
                                     .ack = ACK,
                                     .flags = r->flags,
                                     .option_bytes = 20});
    frame_payload(f, payload, r->payload_bytes);
    frame_finish(f);
    f->bytes[f->l3 + 1] |= 0x0b; /* type of service, or flow label: not the answer's */
    frame_trailer(f, 0xee, r->trailer_bytes);
}

/* The answer from its definition, with the builder's checksums. */
static void build_answer(struct frame *f, const struct refused *r)
{
    uint8_t mac[6];

    frame_ethernet(f);
    memcpy(mac, f->bytes, 6);
    memcpy(f->bytes, f->bytes + 6, 6);
    memcpy(f->bytes + 6, mac, 6);
    build_tags(f, r);
    if (strchr(r->source, ':'))
        frame_ipv6(f, &(struct frame_ipv6){r->destination, r->source, REFUSAL_TTL});
    else
        frame_ipv4(f, &(struct frame_ipv4){
                          .source = r->destination, .destination = r->source, .fragment = 0x4000});
    frame_tcp(f, &(struct frame_tcp){.source_port = 443,
                                     .destination_port = 40000,
                                     .seq = r->rst_seq,
                                     .ack = r->rst_ack,
                                     .flags = r->rst_flags});
    frame_put16(f, f->l4 + 14, 0); /* window */
    if (!f->is_v6)
        frame_put16(f, f->l3 + 4, 0); /* identification */
    frame_finish(f);
}

static void rst_is_exact(void **state)
{
    struct frame request, answer;
    struct packet packet;

    (void)state;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        build_request(&request, &refused[i]);
        build_answer(&answer, &refused[i]);
        assert_int_equal(parse_frame(request.bytes, request.length, request.length, &packet),
                         PACKET_TCP);
        assert_int_equal(refusal_write_rst(request.bytes, &packet), answer.length);
        assert_memory_equal(request.bytes, answer.bytes, answer.length);
        assert_true(answer.length <= packet.l4_offset + 20u);
    }
}

/* The plainest refusal as a capture shows it, checksums computed by hand. */
static void rst_of_a_syn_byte_by_byte(void **state)
{
    static const uint8_t expected[] = {
        0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x08, 0x00,
        0x45, 0x00, 0x00, 0x28, 0x00, 0x00, 0x40, 0x00, 0x40, 0x06, 0x26, 0xb8, 0x0a, 0x09,
        0x00, 0x0a, 0x0a, 0x01, 0x00, 0x05, 0x01, 0xbb, 0x9c, 0x40, 0x00, 0x00, 0x00, 0x00,
        0xff, 0xff, 0xff, 0xf1, 0x50, 0x14, 0x00, 0x00, 0xfd, 0xca, 0x00, 0x00,
    };
    struct frame request;
    struct packet packet;

    (void)state;
    build_request(&request, &refused[0]);
    parse_frame(request.bytes, request.length, request.length, &packet);
    assert_int_equal(refusal_write_rst(request.bytes, &packet), sizeof(expected));
    assert_memory_equal(request.bytes, expected, sizeof(expected));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rst_is_exact),
        cmocka_unit_test(rst_of_a_syn_byte_by_byte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
