/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The XDP program at an interface of a gate: a guard in front of the workers, and their stand-in
 * when they are away. Verdicts, reasons and their order are those of dataplane/worker; what it
 * shares with it are headers, what it is told are maps (maps.h).
 *
 * A packet's journey, in reading order: denied? malformed? guard or stand-in? onwards.
 */
#include "bpf/guard.h"
#include "dataplane/packet/parse.h"

/* Verified once, each for itself, like those of lookup.h: what they are handed is numbers. */
int gate_standby(struct arrival *a);
int gate_guard(struct arrival *a);

/* -- denied? -- */

/* The source of an untagged TCP, UDP or ICMP packet of IPv4, as it stands, before anything else is
 * read: whatever the rest of it is, a denied one is dropped as denied. False: it has to be parsed.
 */
static __always_inline bool peek_source(const struct xdp_md *ctx, uint32_t *source)
{
    const uint8_t *frame = (const uint8_t *)(long)ctx->data;
    const uint8_t *end = (const uint8_t *)(long)ctx->data_end;
    const uint8_t *ip = frame + PARSE_ETHERNET_BYTES;

    if (ip + PARSE_IPV4_BYTES > end)
        return false;
    if (parse_load16(frame + 12) != PARSE_TYPE_IPV4 || (ip[0] & 0xf0) != 0x40 ||
        (ip[0] & 0x0f) < PARSE_IPV4_BYTES / 4)
        return false;
    if (ip[9] != PARSE_TCP && ip[9] != PARSE_UDP && ip[9] != PARSE_ICMP)
        return false;
    __builtin_memcpy(source, PARSE_WORD(ip + 12, 4), sizeof(*source));
    return true;
}

static __always_inline bool is_denied_v4(const struct xdp_image *image, uint32_t source)
{
    const uint32_t host = __builtin_bswap32(source);
    const struct hosts_bucket *bucket =
        table_at(&denied_hosts, image->first_hosts + hosts_number(host, image->hosts_shift));
    const struct address address = address_from_v4(source);

    if (bucket && hosts_hold(bucket, host))
        return true;
    return image->more_denied_v4 &&
           xdp_slots_search(&image->denied_v4, &address, 0, slot_at, range_at) != 0;
}

/* -- guard or stand-in? -- */

/* Is there a worker that takes what we send, and has it been seen of late? */
static __always_inline bool is_guarded(const struct xdp_port *port, uint32_t queue)
{
    const struct heartbeat *beat;
    uint64_t then_ns, now_ns;

    if (options.guards)
        return true;
    if (queue >= XDP_QUEUES_MAX || !table_at(&xsks_map, queue))
        return false;
    beat = table_at(&heartbeats, port->worker[queue]);
    then_ns = beat ? bucket_load(&beat->now_ns) : 0;
    if (!then_ns)
        return false;
    now_ns = clock_coarse_ns();
    return now_ns <= then_ns || now_ns - then_ns <= port->standby_after_ns;
}

/* Whom does it ask, and who asks? False: no service. */
static __always_inline bool find_service(struct arrival *a)
{
    const struct xdp_service *service;

    a->service = lookup_service(a->bank, &a->packet.destination,
                                service_place(a->packet.protocol, a->packet.destination_port));
    if (a->service == POLICY_NONE)
        return false;
    a->tenant = lookup_tenant(a->bank, &a->packet.source);
    if (a->tenant == POLICY_NONE) {
        service = service_of(a);
        a->tenant = service ? service->tenant : 0;
    }
    return true;
}

__noinline int gate_standby(struct arrival *a)
{
    const struct xdp_image *image;

    if (!a)
        return REASON_NONE;
    switch (a->packet.kind) {
    case PACKET_NON_IP:
    case PACKET_CONTROL:
    case PACKET_ICMP_ERROR:
        return standby_control(a);
    }
    if (a->direction != DIRECTION_IN)
        return REASON_NONE;
    if (a->packet.kind == PACKET_TCP || a->packet.kind == PACKET_UDP) {
        if (!find_service(a))
            return REASON_NONE;
        return arrival_is_attempt(a) ? standby_attempt(a) : standby_charge(a);
    }
    image = image_of(a->bank);
    return image ? standby_unasked(a, image->default_tenant) : REASON_NONE;
}

__noinline int gate_guard(struct arrival *a)
{
    if (!a || a->direction != DIRECTION_IN || !arrival_is_attempt(a) || !find_service(a))
        return REASON_NONE;
    return guard_attempt(a);
}

/* -- onwards -- */

/* What a packet is counted and judged by. */
struct gate_tables {
    const struct xdp_control *control;
    const struct xdp_port *port;
    const struct xdp_image *image;
    struct xdp_port_counters *counters;
};

static __always_inline int drop(struct xdp_port_counters *counters, uint32_t reason,
                                uint32_t tenant, uint32_t service)
{
    if (reason < REASON_MAX)
        counters->dropped[reason]++;
    account_trace(XDP_WAY_DROP, reason, tenant, service);
    return XDP_DROP;
}

static __always_inline int to_worker(const struct arrival *a, struct xdp_port_counters *counters,
                                     const struct xdp_md *ctx)
{
    counters->socket++;
    account_trace(XDP_WAY_SOCKET, REASON_NONE, a->tenant, a->service);
    return (int)bpf_redirect_map(&xsks_map, ctx->rx_queue_index, XDP_PASS);
}

static __always_inline int to_stack(const struct arrival *a, struct xdp_port_counters *counters)
{
    counters->passed++;
    account_trace(XDP_WAY_PASS, REASON_NONE, a->tenant, a->service);
    return XDP_PASS;
}

static __always_inline int past_workers(const struct arrival *a, const struct gate_tables *t)
{
    if (t->port->standby != XDP_STANDBY_REDIRECT)
        return to_stack(a, t->counters);
    t->counters->redirected++;
    account_trace(XDP_WAY_REDIRECT, REASON_NONE, a->tenant, a->service);
    return (int)bpf_redirect_map(&devices, t->port->peer, XDP_DROP);
}

/* -- the journey -- */

static __always_inline int judge(const struct xdp_md *ctx, struct arrival *a,
                                 const struct gate_tables *t)
{
    bool guarded = is_guarded(t->port, ctx->rx_queue_index);
    uint32_t reason = guarded ? gate_guard(a) : gate_standby(a);

    t->counters->guarded += guarded;
    if (reason)
        return drop(t->counters, reason, a->tenant, a->service);
    return guarded ? to_worker(a, t->counters, ctx) : past_workers(a, t);
}

/* `denies`: there is a deny list, and nobody has looked into it for this packet. */
static __always_inline int travel(const struct xdp_md *ctx, const struct gate_tables *t,
                                  uint32_t bank, bool denies)
{
    const uint8_t *frame = (const uint8_t *)(long)ctx->data;
    const uint8_t *end = (const uint8_t *)(long)ctx->data_end;
    struct arrival a;

    a.bank = bank;
    a.direction = t->port->direction;
    a.tenant = a.service = NOBODY;
    parse_frame_until(frame, end, (uint32_t)(end - frame), &a.packet);
    if (denies && packet_has_source(&a.packet) && lookup_denied(bank, &a.packet.source))
        return drop(t->counters, REASON_DENIED, NOBODY, NOBODY);
    if (a.packet.kind == PACKET_MALFORMED)
        return drop(t->counters, a.packet.reason, NOBODY, NOBODY);
    return t->control->ready ? judge(ctx, &a, t) : to_stack(&a, t->counters);
}

static __always_inline int gate_packet(struct xdp_md *ctx)
{
    struct gate_tables t = {
        .control = table_at(&control, 0),
        .port = table_at(&ports, options.port),
        .counters = table_at(&port_counters, options.port),
    };
    uint32_t source, bank;
    bool denies;

    if (!t.control || !t.port || !t.counters)
        return XDP_PASS;
    t.counters->received++;
    bank = t.control->bank;
    t.image = table_at(&images, bank);
    denies =
        t.control->ready && t.image && t.image->has_denied && t.port->direction == DIRECTION_IN;
    if (denies && peek_source(ctx, &source)) {
        if (is_denied_v4(t.image, source))
            return drop(t.counters, REASON_DENIED, NOBODY, NOBODY);
        denies = false;
    }
    return travel(ctx, &t, bank, denies);
}

SEC("xdp")
int sluice_gate(struct xdp_md *ctx);
int sluice_gate(struct xdp_md *ctx)
{
    return gate_packet(ctx);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
