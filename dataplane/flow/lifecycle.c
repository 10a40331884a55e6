/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/flow/lifecycle.h"

static const struct flow_change goes_on = {.effect = FLOW_EFFECT_NONE};
static const struct flow_change repeats = {.effect = FLOW_EFFECT_REPEAT};

static struct flow_change ended(enum outcome outcome)
{
    return (struct flow_change){.effect = FLOW_EFFECT_ENDED, .outcome = (uint8_t)outcome};
}

static void clear(struct flow *flow, uint8_t flags)
{
    flow->flags &= (uint8_t)~flags;
}

static void start(struct flow *flow, enum policy_unit unit, struct flow_moment now)
{
    flow->unit = (uint8_t)unit;
    flow->marks &= FLOW_IS_TIMED;
    flow->heard_ms = now.age_ms;
    flow->began = now.tick;
}

static struct flow_change end_with(struct flow *flow, enum outcome outcome, struct flow_moment now)
{
    flow->state = FLOW_CLOSED;
    clear(flow, FLOW_OWES | FLOW_REPLIES);
    flow->heard_ms = now.age_ms;
    return ended(outcome);
}

/* -- UDP: datagrams out answer datagrams in -- */

static struct flow_change advance_udp(struct flow *flow, enum direction direction,
                                      struct flow_moment now)
{
    struct flow_change change = goes_on;

    if (direction == DIRECTION_IN && flow->flags & FLOW_ASKED_OUTSIDE) {
        clear(flow, FLOW_ASKED_OUTSIDE);
        return goes_on;
    }
    if (direction == DIRECTION_IN)
        return repeats; /* a retry must not prolong the life of what is never answered */
    flow->heard_ms = now.age_ms;
    if (flow->service == FLOW_NO_SERVICE)
        flow->flags |= FLOW_ASKED_OUTSIDE;
    if (flow->flags & FLOW_HAS_SLOT) {
        change = ended(OUTCOME_FINISHED);
        change.events = FLOW_EVENT_FIRST_BYTE;
    }
    return change;
}

/* -- TCP: requests and replies -- */

static bool is_syn(uint8_t tcp_flags)
{
    return (tcp_flags & (TCP_SYN | TCP_ACK)) == TCP_SYN;
}

/* Data of an exchange that the service had acknowledged before: sent again, or a keep-alive probe
 * of one old byte. The halves compare as RFC 1982 numbers, within 32 KiB. */
static bool is_old(const struct flow *flow, const struct packet *packet)
{
    return flow->unit == UNIT_EXCHANGE && !(flow->flags & FLOW_UNHEARD) &&
           (int16_t)((uint16_t)packet->tcp_seq - flow->acked) < 0;
}

/* Does data of the client ask for a reply that is not owed yet? */
static bool begins_request(const struct flow *flow, const struct packet *packet)
{
    return packet->payload_bytes > 0 && !(flow->flags & (FLOW_OWES | FLOW_HAS_FIN_INSIDE)) &&
           !is_old(flow, packet);
}

static enum flow_effect request_effect(const struct flow *flow)
{
    return flow->flags & FLOW_REPLIES ? FLOW_EFFECT_NEXT : FLOW_EFFECT_REQUEST;
}

static struct flow_change take_request(struct flow *flow, struct flow_moment now)
{
    struct flow_change change = {.effect = (uint8_t)request_effect(flow),
                                 .outcome = OUTCOME_FINISHED};

    clear(flow, FLOW_REPLIES);
    flow->flags |= FLOW_OWES;
    flow->heard_ms = now.age_ms;
    if (flow->unit != UNIT_EXCHANGE)
        return goes_on;
    flow->began = now.tick;
    return change;
}

static struct flow_change take_client_data(struct flow *flow, const struct packet *packet,
                                           struct flow_moment now)
{
    if (begins_request(flow, packet))
        return take_request(flow, now);
    if (!(flow->flags & (FLOW_OWES | FLOW_REPLIES)))
        flow->heard_ms = now.age_ms;
    return goes_on;
}

/* Is it new? Data of the service that begins behind what it has sent already has been lost on its
 * way. So few bits compare within 8 KiB; what they mistake is set right by what follows. */
static bool note_sent(struct flow *flow, const struct packet *packet)
{
    const unsigned rest = 16 - FLOW_SENT_BITS;

    if (!(flow->flags & FLOW_UNHEARD) && (int16_t)((packet->tcp_seq - flow->sent) << rest) < 0)
        return false;
    flow->sent = packet->tcp_seq + packet->payload_bytes;
    return true;
}

/* Does new data of the service go on with a reply that had ended in silence? While the next request
 * waits, that stands for it; and a greeting may take its time. */
static bool resumes_reply(const struct flow *flow)
{
    const uint8_t others = FLOW_HAS_SLOT | FLOW_REPLIES | FLOW_WAITS | FLOW_HAS_FIN_INSIDE;

    return !(flow->flags & others) && !(flow->marks & FLOW_FIRST);
}

static struct flow_change take_reply(struct flow *flow, const struct packet *packet)
{
    const uint8_t flags = flow->flags;
    struct flow_change change = goes_on;
    bool is_new;

    if (flow->unit != UNIT_EXCHANGE) {
        clear(flow, FLOW_OWES | FLOW_UNHEARD);
        if (flags & FLOW_UNHEARD)
            change.events = FLOW_EVENT_FIRST_BYTE;
        return change;
    }
    is_new = note_sent(flow, packet);
    clear(flow, FLOW_OWES | FLOW_UNHEARD);
    flow->acked = (uint16_t)packet->tcp_ack;
    if (flags & (FLOW_OWES | FLOW_UNHEARD))
        change.events = FLOW_EVENT_FIRST_BYTE;
    else if (is_new && resumes_reply(flow))
        change.effect = FLOW_EFFECT_RESUMED;
    if (flags & FLOW_OWES || change.effect == FLOW_EFFECT_RESUMED)
        flow->flags |= FLOW_REPLIES;
    return change;
}

static struct flow_change take_service_data(struct flow *flow, const struct packet *packet,
                                            struct flow_moment now)
{
    flow->heard_ms = now.age_ms;
    if (packet->payload_bytes > 0 &&
        (flow->unit == UNIT_EXCHANGE || flow->flags & (FLOW_OWES | FLOW_UNHEARD)))
        return take_reply(flow, packet);
    return goes_on;
}

/* -- TCP: opening and closing -- */

/* `change` is what the data before the FIN did. */
static struct flow_change take_fin(struct flow *flow, enum direction direction,
                                   struct flow_change change, struct flow_moment now)
{
    uint8_t own = direction == DIRECTION_IN ? FLOW_HAS_FIN_OUTSIDE : FLOW_HAS_FIN_INSIDE;
    uint8_t other = own ^ (FLOW_HAS_FIN_OUTSIDE | FLOW_HAS_FIN_INSIDE);
    const uint8_t events = change.events;

    flow->flags |= own;
    if (flow->flags & other) {
        change = end_with(flow, OUTCOME_FINISHED, now);
    } else {
        flow->state = FLOW_CLOSING;
        flow->heard_ms = now.age_ms;
        if (own == FLOW_HAS_FIN_INSIDE) {
            clear(flow, FLOW_OWES | FLOW_REPLIES);
            if (flow->unit == UNIT_EXCHANGE)
                change = ended(OUTCOME_FINISHED);
        }
    }
    change.events = events;
    return change;
}

/* An honest client repeats its SYN after 1 and 3 s; the slot must outlast that. One extension does,
 * where each would let a client that does not exist keep a slot for ever. */
static struct flow_change take_repeated_syn(struct flow *flow, struct flow_moment now)
{
    if (flow->state == FLOW_OPENING && !(flow->marks & FLOW_RETRIED)) {
        flow->marks |= FLOW_RETRIED;
        flow->heard_ms = now.age_ms;
    }
    if (flow->state == FLOW_ESTABLISHED || flow->state == FLOW_CLOSING)
        flow->marks |= FLOW_RESYN;
    return repeats;
}

/* The client's packets where more can happen than data. Its RST alone frees nothing yet: the work
 * may still run. */
static struct flow_change advance_tcp_in(struct flow *flow, const struct packet *packet,
                                         struct flow_moment now)
{
    struct flow_change change;

    if (is_syn(packet->tcp_flags))
        return take_repeated_syn(flow, now);
    if (flow->state == FLOW_LINGERING && !(packet->tcp_flags & TCP_RST))
        flow->marks |= FLOW_SPEAKS;
    if (flow->state == FLOW_CLOSED || flow->state == FLOW_LINGERING)
        return goes_on;
    if (packet->tcp_flags & TCP_RST) {
        flow->marks &= (uint8_t)~FLOW_SPEAKS;
        flow->state = FLOW_LINGERING;
        flow->heard_ms = now.age_ms;
        return goes_on;
    }
    if (flow->state == FLOW_OPENING) /* nobody can have a connection to speak or close on */
        return goes_on;
    if (flow->state == FLOW_ANSWERED)
        flow->state = FLOW_ESTABLISHED;
    change = take_client_data(flow, packet, now);
    return packet->tcp_flags & TCP_FIN ? take_fin(flow, DIRECTION_IN, change, now) : change;
}

static struct flow_change take_service_reset(struct flow *flow, struct flow_moment now)
{
    const uint8_t flags = flow->flags;
    bool owed = flow->state != FLOW_LINGERING &&
                (flags & FLOW_OWES || (flags & FLOW_UNHEARD && !(flags & FLOW_HAS_FIN_OUTSIDE)));
    struct flow_change change = end_with(flow, OUTCOME_RESET, now);

    if (owed)
        change.events = FLOW_EVENT_REPLY_FAILED;
    return change;
}

/* A service that still sends data on a closed flow repeats it to a client that has vanished, ever
 * more slowly. Were the flow forgotten between two of its tries, the next would look like running
 * work. */
static struct flow_change take_straggler(struct flow *flow, const struct packet *packet,
                                         struct flow_moment now)
{
    if (packet->payload_bytes > 0) {
        flow->marks |= FLOW_STRAGGLES;
        flow->heard_ms = now.age_ms;
    }
    return goes_on;
}

/* The flow starts anew in the middle of a handshake; its slot is still the old one's, and its place
 * among the connections becomes the new one's. */
static struct flow_change take_new_connection(struct flow *flow, struct flow_moment now)
{
    const uint8_t kept = flow->marks & (FLOW_CONNECTED | FLOW_HEALTH);

    start(flow, (enum policy_unit)flow->unit, now);
    flow->marks |= kept;
    flow->state = FLOW_ANSWERED;
    flow->flags = (flow->flags & (FLOW_HAS_SLOT | FLOW_WAITS)) | FLOW_UNHEARD;
    return (struct flow_change){
        .effect = FLOW_EFFECT_REOPENED, .outcome = OUTCOME_FINISHED, .events = FLOW_EVENT_ANSWERED};
}

/* Repeats of the SYN-ACK must not keep a spoofed client's slot. */
static struct flow_change take_syn_ack(struct flow *flow, struct flow_moment now)
{
    if (flow->marks & FLOW_RESYN)
        return take_new_connection(flow, now);
    if (flow->state != FLOW_OPENING)
        return goes_on;
    flow->state = FLOW_ANSWERED;
    flow->heard_ms = now.age_ms;
    return (struct flow_change){.effect = FLOW_EFFECT_NONE, .events = FLOW_EVENT_ANSWERED};
}

/* What was under way when a genuine RST came does not revive the flow: of that client nothing
 * follows. */
static struct flow_change advance_lingering(struct flow *flow, const struct packet *packet,
                                            struct flow_moment now)
{
    if (packet->tcp_flags & TCP_FIN) {
        flow->flags |= FLOW_HAS_FIN_INSIDE;
        return end_with(flow, OUTCOME_ABORTED, now);
    }
    if (!(flow->marks & FLOW_SPEAKS))
        return goes_on;
    flow->marks &= (uint8_t)~FLOW_SPEAKS;
    flow->state = flow->flags & FLOW_HAS_FIN_OUTSIDE ? FLOW_CLOSING : FLOW_ESTABLISHED;
    return take_service_data(flow, packet, now);
}

/* The service's packets where more can happen than data. */
static struct flow_change advance_tcp_out(struct flow *flow, const struct packet *packet,
                                          struct flow_moment now)
{
    struct flow_change change = goes_on;

    if (flow->state == FLOW_CLOSED)
        return take_straggler(flow, packet, now);
    if (packet->tcp_flags & TCP_RST)
        return take_service_reset(flow, now);
    if (flow->state == FLOW_LINGERING)
        return advance_lingering(flow, packet, now);
    if (packet->tcp_flags & TCP_SYN)
        return take_syn_ack(flow, now);
    if (flow->state == FLOW_OPENING)
        flow->state = FLOW_ESTABLISHED;
    if (flow->state != FLOW_ANSWERED || packet->payload_bytes > 0)
        change = take_service_data(flow, packet, now);
    return packet->tcp_flags & TCP_FIN ? take_fin(flow, DIRECTION_OUT, change, now) : change;
}

/* -- packets -- */

bool flow_is_attempt(const struct flow *flow, const struct packet *packet, enum direction direction)
{
    if (direction == DIRECTION_OUT)
        return false;
    if (packet->kind == PACKET_UDP)
        return !(flow->flags & (FLOW_HAS_SLOT | FLOW_ASKED_OUTSIDE | FLOW_WAITS));
    return is_syn(packet->tcp_flags) && flow->state >= FLOW_LINGERING;
}

enum flow_effect flow_exchange_request(const struct flow *flow, const struct packet *packet)
{
    bool open = flow->state == FLOW_ANSWERED || flow->state == FLOW_ESTABLISHED ||
                flow->state == FLOW_CLOSING;

    if (!open || packet->tcp_flags & (TCP_SYN | TCP_RST) || !begins_request(flow, packet))
        return FLOW_EFFECT_NONE;
    return flow->flags & FLOW_WAITS ? FLOW_EFFECT_REPEAT : request_effect(flow);
}

static __attribute__((noinline)) struct flow_change advance_tcp(struct flow *flow,
                                                                const struct packet *packet,
                                                                enum direction direction,
                                                                struct flow_moment now)
{
    return direction == DIRECTION_IN ? advance_tcp_in(flow, packet, now)
                                     : advance_tcp_out(flow, packet, now);
}

struct flow_change flow_advance(struct flow *flow, const struct packet *packet,
                                enum direction direction, struct flow_moment now)
{
    const uint8_t flags = flow->flags;

    if (packet->kind == PACKET_UDP)
        return advance_udp(flow, direction, now);
    /* Most packets change nothing but the time. */
    if (flow->state != FLOW_ESTABLISHED || packet->tcp_flags & (TCP_SYN | TCP_FIN | TCP_RST))
        return advance_tcp(flow, packet, direction, now);
    if (direction == DIRECTION_OUT) {
        if (flow->unit == UNIT_EXCHANGE || flags & (FLOW_OWES | FLOW_UNHEARD))
            return advance_tcp(flow, packet, direction, now);
        flow->heard_ms = now.age_ms;
    } else if (!(flags & FLOW_OWES)) {
        if (packet->payload_bytes > 0)
            return advance_tcp(flow, packet, direction, now);
        if (!(flags & FLOW_REPLIES))
            flow->heard_ms = now.age_ms;
    }
    return goes_on;
}

void flow_restart(struct flow *flow, const struct packet *packet, enum policy_unit unit,
                  struct flow_moment now)
{
    start(flow, unit, now);
    if (packet->kind == PACKET_UDP) {
        flow->state = FLOW_ESTABLISHED;
        flow->flags = 0;
        return;
    }
    flow->state = FLOW_OPENING;
    flow->flags = FLOW_UNHEARD;
    if (unit == UNIT_EXCHANGE && packet->payload_bytes > 0)
        flow->flags |= FLOW_OWES;
}

void flow_start_established(struct flow *flow, const struct packet *packet, enum policy_unit unit,
                            struct flow_moment now)
{
    start(flow, unit, now);
    flow->state = FLOW_ESTABLISHED;
    flow->flags = unit == UNIT_EXCHANGE ? FLOW_REPLIES : 0;
    flow->acked = (uint16_t)packet->tcp_ack;
    flow->sent = packet->tcp_seq + packet->payload_bytes;
}

/* -- ageing -- */

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* A slot is not freed by age while its reply is owed: the work may be slow. */
static uint32_t idle_ms(const struct flow *flow, const struct flow_timeouts *timeouts)
{
    const uint8_t owed = FLOW_HAS_SLOT | FLOW_OWES;

    return (flow->flags & owed) == owed ? larger(timeouts->tcp_idle_ms, timeouts->owed_max_ms)
                                        : timeouts->tcp_idle_ms;
}

static uint32_t silence_allowed_ms(const struct flow *flow, const struct flow_timeouts *timeouts)
{
    switch ((enum flow_state)flow->state) {
    case FLOW_OPENING:
    case FLOW_ANSWERED:
        return timeouts->embryonic_ms;
    case FLOW_CLOSING:
        return flow->flags & FLOW_HAS_FIN_INSIDE ? timeouts->fin_ms : idle_ms(flow, timeouts);
    case FLOW_LINGERING:
        return timeouts->linger_ms;
    case FLOW_SHUT:
    case FLOW_CLOSED:
        return flow->marks & FLOW_STRAGGLES ? larger(timeouts->tcp_idle_ms, timeouts->fin_ms)
                                            : timeouts->fin_ms;
    case FLOW_ESTABLISHED:
    case FLOW_FREE:
        break;
    }
    return flow->key.tags >> 24 == PROTOCOL_UDP ? timeouts->udp_idle_ms : idle_ms(flow, timeouts);
}

bool flow_expired(const struct flow *flow, const struct flow_timeouts *timeouts, uint32_t now_ms,
                  enum outcome *outcome)
{
    if (now_ms - flow->heard_ms < silence_allowed_ms(flow, timeouts))
        return false;
    *outcome = flow->state == FLOW_LINGERING ? OUTCOME_ABORTED : OUTCOME_AGED;
    return true;
}
