/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/workers/crowd.h"

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

#define BUFFERS       4095u
#define CACHE         128u
#define PAYLOAD_BYTES 16u
#define BATCH         64u
#define PORTS_EACH    16u /* as long as they go round among the tenants, four of one client */
#define SLOW_NS       (3 * CORE_MS)
#define SYN_ACK       (TCP_SYN | TCP_ACK)
#define FIN_ACK       (TCP_FIN | TCP_ACK)

struct frame {
    struct rte_ether_hdr ether;
    struct rte_ipv4_hdr ip;
    struct rte_tcp_hdr tcp;
    char payload[PAYLOAD_BYTES];
} __attribute__((packed, aligned(2)));

struct crowd crowd = {.random = 1};

/* Answers that come too late; all by the same time, so the first one is due first. */
static struct {
    struct late {
        struct rte_mbuf *mbuf;
        uint64_t due_ns;
    } items[BUFFERS + 1];
    unsigned first, n;
} slow;

void crowd_open(void)
{
    crowd.pool = rte_pktmbuf_pool_create("crowd", BUFFERS, CACHE, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
    assert_non_null(crowd.pool);
}

void crowd_close(void)
{
    rte_mempool_free(crowd.pool);
}

unsigned crowd_under_way(void)
{
    return rte_mempool_in_use_count(crowd.pool);
}

static unsigned draw(unsigned n)
{
    crowd.random = crowd.random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(crowd.random >> 33) % n;
}

static bool is_odd(void)
{
    return draw(100) < crowd.oddity_percent;
}

/* -- frames -- */

static struct frame *frame_of(struct rte_mbuf *mbuf)
{
    return rte_pktmbuf_mtod(mbuf, struct frame *);
}

static uint32_t payload_of(const struct frame *f)
{
    return rte_be_to_cpu_16(f->ip.total_length) - sizeof(f->ip) - sizeof(f->tcp);
}

/* A request or a reply if it has a payload, else flags alone. */
static void set_kind(struct rte_mbuf *mbuf, uint8_t flags, bool payload)
{
    struct frame *f = frame_of(mbuf);

    f->tcp.tcp_flags = flags;
    f->tcp.data_off = sizeof(f->tcp) / 4 << 4;
    f->ip.total_length = rte_cpu_to_be_16(
        (uint16_t)(sizeof(f->ip) + sizeof(f->tcp) + (payload ? PAYLOAD_BYTES : 0)));
    memcpy(f->payload, "GET / HTTP/1.1\r\n", PAYLOAD_BYTES);
    mbuf->data_len = sizeof(*f);
    mbuf->pkt_len = sizeof(*f);
}

static struct rte_mbuf *make_syn(uint32_t client, uint16_t port, enum crowd_service service)
{
    struct rte_mbuf *mbuf = rte_pktmbuf_alloc(crowd.pool);
    struct address to = core_address(service == CROWD_WEB ? CROWD_WEB_ADDRESS : CROWD_API_ADDRESS);

    if (!mbuf)
        return NULL;
    *frame_of(mbuf) = (struct frame){
        .ether = {.ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4)},
        .ip = {.version_ihl = 0x45,
               .time_to_live = 64,
               .next_proto_id = IPPROTO_TCP,
               .src_addr = rte_cpu_to_be_32(client),
               .dst_addr = to.words[3]},
        .tcp = {.src_port = rte_cpu_to_be_16(port),
                .dst_port = rte_cpu_to_be_16(CROWD_PORT),
                .sent_seq = rte_cpu_to_be_32(draw(1u << 31))},
    };
    set_kind(mbuf, TCP_SYN, false);
    return mbuf;
}

/* The other side's next frame. */
static void turn(struct rte_mbuf *mbuf, uint8_t flags, bool payload)
{
    struct frame *f = frame_of(mbuf);
    uint32_t end = rte_be_to_cpu_32(f->tcp.sent_seq) + payload_of(f) +
                   ((f->tcp.tcp_flags & (TCP_SYN | TCP_FIN)) != 0);
    rte_be32_t address = f->ip.src_addr;
    rte_be16_t port = f->tcp.src_port;

    f->ip.src_addr = f->ip.dst_addr;
    f->ip.dst_addr = address;
    f->tcp.src_port = f->tcp.dst_port;
    f->tcp.dst_port = port;
    f->tcp.sent_seq = f->tcp.recv_ack;
    f->tcp.recv_ack = rte_cpu_to_be_32(end);
    set_kind(mbuf, flags, payload);
}

/* -- queues -- */

static void put(struct rte_mbuf *mbuf, enum direction direction)
{
    unsigned queue = draw(gate.rings[direction].n_receive);

    assert_int_equal(rte_ring_sp_enqueue(gate.rings[direction].receive[queue], mbuf), 0);
    crowd.sent++;
}

/* The same frame once more, as what it is or with other flags; before it is put itself. */
static void put_copy(const struct rte_mbuf *mbuf, uint8_t flags, bool payload)
{
    struct rte_mbuf *copy = rte_pktmbuf_alloc(crowd.pool);

    if (!copy)
        return;
    memcpy(rte_pktmbuf_mtod(copy, void *), rte_pktmbuf_mtod(mbuf, const void *),
           sizeof(struct frame));
    set_kind(copy, flags, payload);
    put(copy, DIRECTION_IN);
}

static void put_later(struct rte_mbuf *mbuf)
{
    slow.items[(slow.first + slow.n++) % (BUFFERS + 1)] =
        (struct late){mbuf, dataplane_now_ns(gate.dp) + SLOW_NS};
}

static unsigned put_what_is_due(void)
{
    unsigned n = 0;

    for (; slow.n > 0 && slow.items[slow.first].due_ns <= dataplane_now_ns(gate.dp); n++) {
        put(slow.items[slow.first].mbuf, DIRECTION_OUT);
        slow.first = (slow.first + 1) % (BUFFERS + 1);
        slow.n--;
    }
    return n;
}

/* -- clients -- */

static void send_request(struct rte_mbuf *mbuf)
{
    set_kind(mbuf, TCP_ACK, true);
    if (is_odd()) /* it repeats it, or leaves while the first one may wait */
        put_copy(mbuf, draw(2) ? TCP_ACK : draw(2) ? TCP_RST : FIN_ACK, false);
    if (is_odd())
        put_copy(mbuf, TCP_ACK, true);
    put(mbuf, DIRECTION_IN);
}

static void go_on(struct rte_mbuf *mbuf)
{
    turn(mbuf, FIN_ACK, false);
    if (draw(2))
        send_request(mbuf);
    else
        put(mbuf, DIRECTION_IN);
}

static void give_up(struct rte_mbuf *mbuf)
{
    static const uint8_t flags[] = {TCP_RST, FIN_ACK, TCP_ACK, TCP_SYN};
    unsigned how = draw(5);

    if (how == 4) { /* without a word */
        rte_pktmbuf_free(mbuf);
        return;
    }
    turn(mbuf, flags[how], false);
    put(mbuf, DIRECTION_IN);
}

static void at_the_client(struct rte_mbuf *mbuf)
{
    const struct frame *f = frame_of(mbuf);
    uint8_t flags = f->tcp.tcp_flags;

    crowd.received++;
    crowd.replies += payload_of(f) > 0;
    crowd.resets += (flags & TCP_RST) != 0;
    if (is_odd())
        give_up(mbuf);
    else if (flags == SYN_ACK || (payload_of(f) > 0 && !(flags & TCP_FIN)))
        go_on(mbuf);
    else
        rte_pktmbuf_free(mbuf);
}

/* A number of its own for each flow: tenant, address, port. */
static uint32_t client_of(uint32_t flow)
{
    return (CROWD_NETWORK + flow % CROWD_TENANTS) << 24 | flow / PORTS_EACH;
}

static uint16_t port_of(uint32_t flow)
{
    return (uint16_t)(1024 + flow % PORTS_EACH);
}

static uint32_t owner_of(uint32_t flow, enum crowd_service service)
{
    const struct packet packet = {
        .kind = PACKET_TCP,
        .source = address_from_v4(rte_cpu_to_be_32(client_of(flow))),
        .destination = core_address(service == CROWD_WEB ? CROWD_WEB_ADDRESS : CROWD_API_ADDRESS),
        .source_port = port_of(flow),
        .destination_port = CROWD_PORT};

    return owners_find(&gate.dp->owners, &packet);
}

bool crowd_begin(enum crowd_service service, uint32_t owner)
{
    struct rte_mbuf *mbuf;
    uint32_t flow;

    do
        flow = crowd.next_flow++;
    while (owner < WORKERS && owner_of(flow, service) != owner);
    mbuf = make_syn(client_of(flow), port_of(flow), service);
    if (!mbuf)
        return false;
    if (is_odd()) /* twice, or it leaves at once; or data too early: queues keep no order */
        put_copy(mbuf, draw(2) ? TCP_SYN : draw(2) ? TCP_RST : TCP_ACK, draw(2));
    put(mbuf, DIRECTION_IN);
    return true;
}

/* -- services -- */

static void misbehave(struct rte_mbuf *mbuf, uint8_t flags, bool payload)
{
    switch (draw(4)) {
    case 0:
        rte_pktmbuf_free(mbuf);
        return;
    case 1:
        turn(mbuf, TCP_RST | TCP_ACK, false);
        put(mbuf, DIRECTION_OUT);
        return;
    case 2:
        turn(mbuf, FIN_ACK, payload);
        put(mbuf, DIRECTION_OUT);
        return;
    default:
        turn(mbuf, flags, payload);
        put_later(mbuf);
    }
}

static void at_the_service(struct rte_mbuf *mbuf)
{
    const struct frame *f = frame_of(mbuf);
    bool syn = f->tcp.tcp_flags & TCP_SYN, fin = f->tcp.tcp_flags & TCP_FIN;
    bool payload = payload_of(f) > 0;
    uint8_t flags = syn ? SYN_ACK : fin ? FIN_ACK : TCP_ACK;

    crowd.received++;
    if (crowd.services_are_silent || f->tcp.tcp_flags & TCP_RST || (!syn && !fin && !payload)) {
        rte_pktmbuf_free(mbuf);
    } else if (is_odd()) {
        misbehave(mbuf, flags, payload && !syn);
    } else {
        turn(mbuf, flags, payload && !syn);
        put(mbuf, DIRECTION_OUT);
    }
}

/* -- who receives -- */

static void throw_away(struct rte_mbuf *mbuf)
{
    crowd.received++;
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

unsigned crowd_answer(void)
{
    return take(&gate.rings[DIRECTION_OUT], at_the_service) +
           take(&gate.rings[DIRECTION_IN], at_the_client) + put_what_is_due();
}

unsigned crowd_discard(void)
{
    return take(&gate.rings[DIRECTION_OUT], throw_away) +
           take(&gate.rings[DIRECTION_IN], throw_away);
}
