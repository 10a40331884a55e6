/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/workers/traffic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_tcp.h>

#include "dataplane/packet/parse.h"
#include "tests/unit/core.h"

#define BUFFERS     8191u
#define CACHE       128u
#define FRAME_BYTES 60u /* the shortest there are; what is behind the headers is padding */
#define BATCH       64u
#define PORTS_EACH  1024u /* flows of one client address */
#define CAPPED_EACH 8u    /* of the flows, this one in so many is of TENANT_CAPPED */

struct headers {
    struct rte_ether_hdr ether;
    struct rte_ipv4_hdr ip;
    struct rte_tcp_hdr tcp;
} __attribute__((packed, aligned(2)));

struct traffic traffic = {.random = 1};

void traffic_open(void)
{
    traffic.pool =
        rte_pktmbuf_pool_create("traffic", BUFFERS, CACHE, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
    assert_non_null(traffic.pool);
}

void traffic_close(void)
{
    rte_mempool_free(traffic.pool);
}

unsigned traffic_under_way(void)
{
    return rte_mempool_in_use_count(traffic.pool);
}

/* -- frames -- */

bool traffic_is_capped(uint32_t flow)
{
    return flow % CAPPED_EACH == 0;
}

static uint32_t client_address(uint32_t flow)
{
    return (traffic_is_capped(flow) ? 11u : 10u) << 24 | flow / PORTS_EACH;
}

static void write_frame(struct headers *h, uint32_t flow, enum direction direction, uint8_t flags)
{
    struct address service = core_address(TRAFFIC_SERVICE);
    uint32_t client = rte_cpu_to_be_32(client_address(flow));
    uint16_t port = rte_cpu_to_be_16((uint16_t)(1024 + flow % PORTS_EACH));
    bool in = direction == DIRECTION_IN;

    *h = (struct headers){
        .ether = {.ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4)},
        .ip = {.version_ihl = 0x45,
               .total_length = rte_cpu_to_be_16(sizeof(h->ip) + sizeof(h->tcp)),
               .time_to_live = 64,
               .next_proto_id = IPPROTO_TCP,
               .src_addr = in ? client : service.words[3],
               .dst_addr = in ? service.words[3] : client},
        .tcp = {.src_port = in ? port : rte_cpu_to_be_16(TRAFFIC_PORT),
                .dst_port = in ? rte_cpu_to_be_16(TRAFFIC_PORT) : port,
                .data_off = sizeof(h->tcp) / 4 << 4,
                .tcp_flags = flags},
    };
}

static void turn_into_answer(struct headers *h, uint8_t flags)
{
    rte_be32_t address = h->ip.src_addr;
    rte_be16_t port = h->tcp.src_port;

    h->ip.src_addr = h->ip.dst_addr;
    h->ip.dst_addr = address;
    h->tcp.src_port = h->tcp.dst_port;
    h->tcp.dst_port = port;
    h->tcp.tcp_flags = flags;
}

uint32_t traffic_owner(uint32_t flow)
{
    struct packet packet = {.kind = PACKET_TCP,
                            .source = address_from_v4(rte_cpu_to_be_32(client_address(flow))),
                            .destination = core_address(TRAFFIC_SERVICE),
                            .source_port = (uint16_t)(1024 + flow % PORTS_EACH),
                            .destination_port = TRAFFIC_PORT};

    return owners_find(&gate.dp->owners, &packet);
}

uint32_t traffic_flow_of(uint32_t owner)
{
    uint32_t flow;

    do
        flow = traffic.next_flow++;
    while (owner < WORKERS && traffic_owner(flow) != owner);
    return flow;
}

/* -- queues -- */

static unsigned some_queue(enum direction direction)
{
    traffic.random = traffic.random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(traffic.random >> 33) % gate.rings[direction].n_receive;
}

static void put(struct rte_mbuf *mbuf, enum direction direction, unsigned queue)
{
    assert_int_equal(rte_ring_sp_enqueue(gate.rings[direction].receive[queue], mbuf), 0);
    traffic.sent++;
}

static struct rte_mbuf *make_frame(uint32_t flow, enum direction direction, uint8_t tcp_flags,
                                   uint16_t payload_bytes)
{
    struct rte_mbuf *mbuf = rte_pktmbuf_alloc(traffic.pool);
    struct headers *h;

    if (!mbuf)
        return NULL;
    h = (struct headers *)rte_pktmbuf_append(mbuf, FRAME_BYTES);
    write_frame(h, flow, direction, tcp_flags);
    h->ip.total_length =
        rte_cpu_to_be_16((uint16_t)(sizeof(h->ip) + sizeof(h->tcp) + payload_bytes));
    return mbuf;
}

bool traffic_send(uint32_t flow, enum direction direction, uint8_t tcp_flags, unsigned queue)
{
    struct rte_mbuf *mbuf = make_frame(flow, direction, tcp_flags, 0);

    if (mbuf)
        put(mbuf, direction, queue);
    return mbuf != NULL;
}

bool traffic_send_data(uint32_t flow, enum direction direction, uint8_t tcp_flags, unsigned queue)
{
    struct rte_mbuf *mbuf = make_frame(flow, direction, tcp_flags, TRAFFIC_DATA_BYTES);

    if (mbuf)
        put(mbuf, direction, queue);
    return mbuf != NULL;
}

bool traffic_send_numbered(uint32_t flow, enum direction direction, struct traffic_numbers numbers,
                           unsigned queue)
{
    struct rte_mbuf *mbuf = make_frame(flow, direction, TCP_ACK, TRAFFIC_DATA_BYTES);
    struct headers *h;

    if (!mbuf)
        return false;
    h = rte_pktmbuf_mtod(mbuf, struct headers *);
    h->tcp.sent_seq = rte_cpu_to_be_32(numbers.seq);
    h->tcp.recv_ack = rte_cpu_to_be_32(numbers.ack);
    put(mbuf, direction, queue);
    return true;
}

bool traffic_open_flow(uint32_t flow, unsigned queue)
{
    bool sent = traffic_send(flow, DIRECTION_IN, TCP_SYN, queue);

    traffic.syns_sent += sent;
    return sent;
}

bool traffic_send_arp(unsigned queue)
{
    struct rte_mbuf *mbuf = rte_pktmbuf_alloc(traffic.pool);
    struct rte_ether_hdr *ethernet;

    if (!mbuf)
        return false;
    ethernet = memset(rte_pktmbuf_append(mbuf, FRAME_BYTES), 0, FRAME_BYTES);
    ethernet->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_ARP);
    put(mbuf, DIRECTION_IN, queue);
    return true;
}

/* -- who receives -- */

static void at_the_service(struct rte_mbuf *mbuf)
{
    struct headers *h = rte_pktmbuf_mtod(mbuf, struct headers *);

    traffic.received++;
    if (h->tcp.tcp_flags == TCP_SYN) {
        traffic.syns_seen++;
        turn_into_answer(h, TCP_SYN | TCP_ACK);
    } else {
        assert_int_equal(h->tcp.tcp_flags, TCP_FIN | TCP_ACK);
        turn_into_answer(h, TCP_FIN | TCP_ACK);
    }
    put(mbuf, DIRECTION_OUT, some_queue(DIRECTION_OUT));
}

static void at_the_client(struct rte_mbuf *mbuf)
{
    struct headers *h = rte_pktmbuf_mtod(mbuf, struct headers *);

    traffic.received++;
    if (h->tcp.tcp_flags == (TCP_SYN | TCP_ACK)) {
        turn_into_answer(h, TCP_FIN | TCP_ACK);
        put(mbuf, DIRECTION_IN, some_queue(DIRECTION_IN));
        return;
    }
    if (h->tcp.tcp_flags & TCP_RST)
        traffic.refusals_seen++;
    else
        traffic.flows_closed++;
    rte_pktmbuf_free(mbuf);
}

static void throw_away(struct rte_mbuf *mbuf)
{
    uint8_t flags = rte_pktmbuf_mtod(mbuf, struct headers *)->tcp.tcp_flags;

    traffic.received++;
    traffic.syns_seen += flags == TCP_SYN;
    traffic.refusals_seen += (flags & TCP_RST) != 0;
    rte_pktmbuf_free(mbuf);
}

static unsigned take(const struct device_rings *rings, void (*one)(struct rte_mbuf *mbuf))
{
    struct rte_mbuf *mbufs[BATCH];
    unsigned all = 0;

    for (unsigned q = 0; q < rings->n_transmit; q++) {
        unsigned n = rte_ring_sc_dequeue_burst(rings->transmit[q], (void **)mbufs, BATCH, NULL);

        for (unsigned i = 0; i < n; i++)
            one(mbufs[i]);
        all += n;
    }
    return all;
}

unsigned traffic_answer(void)
{
    return take(&gate.rings[DIRECTION_OUT], at_the_service) +
           take(&gate.rings[DIRECTION_IN], at_the_client);
}

unsigned traffic_discard(void)
{
    return take(&gate.rings[DIRECTION_OUT], throw_away) +
           take(&gate.rings[DIRECTION_IN], throw_away);
}

/* -- around a group of tests -- */

int traffic_set_up(void **state)
{
    (void)state;
    gate_open();
    traffic_open();
    return 0;
}

int traffic_tear_down(void **state)
{
    char why[128];
    int err = dataplane_stop(gate.dp, why, sizeof(why));

    (void)state;
    while (traffic_discard() > 0)
        ;
    traffic_close();
    dataplane_destroy(gate.dp);
    return err;
}
