/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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

/* -- of a request on an open connection -- */

static const struct refused requests[] = {
    {V4, .flags = 0x18, .payload_bytes = 100, .rst_seq = ACK, .rst_ack = SEQ + 100},
    {V4, .flags = 0x18, .payload_bytes = 1, .trailer_bytes = 5, .rst_seq = ACK, .rst_ack = SEQ + 1},
    {V4, .flags = 0x11, .payload_bytes = 50, .rst_seq = ACK, .rst_ack = SEQ + 51}, /* FIN */
    {V4, .tags = {0x88a8, 0x8100}, .option_bytes = 40, .flags = 0x10, .payload_bytes = 100,
     .rst_seq = ACK, .rst_ack = SEQ + 100},
    {V6, .flags = 0x18, .payload_bytes = 100, .rst_seq = ACK, .rst_ack = SEQ + 100},
    {V6, .tags = {0x8100}, .has_extension = true, .flags = 0x18, .payload_bytes = 2, .rst_seq = ACK,
     .rst_ack = SEQ + 2},
};

#define REQUESTS (sizeof(requests) / sizeof(requests[0]))

/* The same packet from its definition: in the other direction, or (inside) in the same. */
static void build_segment(struct frame *f, const struct refused *r, bool inside,
                          const struct frame_tcp *tcp, const char *text)
{
    const char *source = inside ? r->source : r->destination;
    const char *destination = inside ? r->destination : r->source;
    uint8_t mac[6];

    frame_ethernet(f);
    if (!inside) {
        memcpy(mac, f->bytes, 6);
        memcpy(f->bytes, f->bytes + 6, 6);
        memcpy(f->bytes + 6, mac, 6);
    }
    build_tags(f, r);
    if (strchr(r->source, ':'))
        frame_ipv6(f, &(struct frame_ipv6){source, destination, REFUSAL_TTL});
    else
        frame_ipv4(f, &(struct frame_ipv4){
                          .source = source, .destination = destination, .fragment = 0x4000});
    frame_tcp(f, tcp);
    frame_put16(f, f->l4 + 14, text ? 0xffff : 0); /* window */
    if (text)
        frame_payload(f, text, (uint32_t)strlen(text));
    if (!f->is_v6)
        frame_put16(f, f->l3 + 4, 0);
    frame_finish(f);
}

static void assert_http(const struct refused *r, enum refusal_status status, uint32_t retry_after_s,
                        const char *text)
{
    struct frame request, answer;
    struct packet packet;

    build_request(&request, r);
    build_segment(&answer, r, false,
                  &(struct frame_tcp){.source_port = 443,
                                      .destination_port = 40000,
                                      .seq = r->rst_seq,
                                      .ack = r->rst_ack,
                                      .flags = 0x19},
                  text);
    parse_frame(request.bytes, request.length, request.length, &packet);
    assert_int_equal(
        refusal_write_http(request.bytes, answer.length, &packet, status, retry_after_s),
        answer.length);
    assert_memory_equal(request.bytes, answer.bytes, answer.length);
}

static void http_is_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < REQUESTS; i++) {
        assert_http(&requests[i], REFUSAL_503, 8,
                    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 8\r\n"
                    "Content-Length: 0\r\nConnection: close\r\n\r\n");
        assert_http(&requests[i], REFUSAL_429, 60,
                    "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 60\r\n"
                    "Content-Length: 0\r\nConnection: close\r\n\r\n");
    }
}

static void every_retry_after(void **state)
{
    char text[128];

    (void)state;
    for (uint32_t s = 0; s < 1100; s++) {
        snprintf(text, sizeof(text),
                 "HTTP/1.1 503 Service Unavailable\r\nRetry-After: %u\r\n"
                 "Content-Length: 0\r\nConnection: close\r\n\r\n",
                 s > 999 ? 999 : s);
        assert_http(&requests[0], REFUSAL_503, s, text);
    }
    assert_http(&requests[0], REFUSAL_503, UINT32_MAX, text);
}

static void http_needs_its_room(void **state)
{
    struct frame request, untouched;
    struct packet packet;
    const uint32_t needed = 14 + 20 + 20 + 91; /* with two digits */

    (void)state;
    build_request(&request, &requests[1]);
    untouched = request;
    parse_frame(request.bytes, request.length, request.length, &packet);
    for (uint32_t room = 0; room < needed; room++)
        assert_int_equal(refusal_write_http(request.bytes, room, &packet, REFUSAL_503, 60), 0);
    assert_memory_equal(request.bytes, untouched.bytes, sizeof(request.bytes));
    assert_int_equal(refusal_write_http(request.bytes, needed, &packet, REFUSAL_503, 60), needed);
    assert_memory_equal(request.bytes + needed, untouched.bytes + needed,
                        sizeof(request.bytes) - needed);
}

/* The service expects the segment that was held back, the client what it has acknowledged. */
static void both_sides_are_reset(void **state)
{
    struct frame request, untouched, expected;
    uint8_t out[REFUSAL_RST_BYTES_MAX + 1];
    struct packet packet;

    (void)state;
    for (size_t i = 0; i < REQUESTS; i++) {
        struct frame_tcp tcp = {
            .source_port = 40000, .destination_port = 443, .seq = SEQ, .flags = 0x04};

        memset(out, 0xa5, sizeof(out));
        build_request(&request, &requests[i]);
        untouched = request;
        parse_frame(request.bytes, request.length, request.length, &packet);
        build_segment(&expected, &requests[i], true, &tcp, NULL);
        assert_int_equal(refusal_write_reset_inside(out, request.bytes, &packet), expected.length);
        assert_memory_equal(out, expected.bytes, expected.length);
        assert_int_equal(out[REFUSAL_RST_BYTES_MAX], 0xa5);
        assert_memory_equal(request.bytes, untouched.bytes, request.length);

        tcp = (struct frame_tcp){
            .source_port = 443, .destination_port = 40000, .seq = ACK, .flags = 0x04};
        build_segment(&expected, &requests[i], false, &tcp, NULL);
        assert_int_equal(refusal_write_rst(request.bytes, &packet), expected.length);
        assert_memory_equal(request.bytes, expected.bytes, expected.length);
    }
}

static bool fits(const char *bytes, uint32_t n)
{
    uint8_t *copy = malloc(n);
    bool does;

    if (n > 0)
        memcpy(copy, bytes, n);
    does = refusal_fits_http(copy, n);
    free(copy);
    assert_int_equal(refusal_fits_http((const uint8_t *)bytes, n), does);
    return does;
}

static void what_http_answers(void **state)
{
    (void)state;
    assert_true(fits("GET / HTTP/1.1\r\n", 16));
    assert_true(fits("UPDATEREDIRECTREF /x", 20));
    assert_true(fits("OPTIONS *", 9));
    assert_true(fits("GET /", 5));
    assert_false(fits("GET /", 4));
    assert_false(fits("GET /", 3));
    assert_false(fits("GET /", 0));
    assert_false(fits(" / HTTP/1.1", 11));
    assert_false(fits("get / HTTP/1.1", 14));
    assert_false(fits("GET  / HTTP/1.1", 15));
    assert_false(fits("GET\t/ HTTP/1.1", 14));
    assert_false(fits("AAAAAAAAAAAAAAAAAAAAAAAAA /", 27));
    assert_false(fits("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11)); /* TLS */
    assert_false(fits("GET \x80\x80", 6));
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
        cmocka_unit_test(rst_is_exact),        cmocka_unit_test(rst_of_a_syn_byte_by_byte),
        cmocka_unit_test(http_is_exact),       cmocka_unit_test(every_retry_after),
        cmocka_unit_test(http_needs_its_room), cmocka_unit_test(both_sides_are_reset),
        cmocka_unit_test(what_http_answers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
