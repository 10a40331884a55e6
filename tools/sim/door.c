/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A try at the gate: what a worker and its flows do there for a connection, an exchange or a
 * datagram. The service is next door: it answers a SYN at once.
 */
#include "control/config/config.h"
#include "tools/sim/engine.h"

#define BYTES 60u /* of a packet that asks */

/* Steele, Lea, Flood 2014: every bit of the input reaches every bit of the output. */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

static const struct source *source_of(const struct engine *e, const struct try *t)
{
    return &e->sources[t->source];
}

static const struct policy_service *service_of(const struct engine *e, const struct try *t)
{
    return &e->scenario->gate->policy.services[source_of(e, t)->service];
}

static struct attempt attempt_of(const struct engine *e, uint32_t number, enum attempt_kind kind)
{
    const struct try *t = try_at(e, number);

    return (struct attempt){
        .tenant = t->slot.tenant,
        .service = t->slot.service,
        .ip_bytes = BYTES,
        .kind = (uint8_t)kind,
        .flags = kind == ATTEMPT_FIRST || source_of(e, t)->unit == UNIT_DATAGRAM ? 0 : ATTEMPT_SYN,
        .share = t->slot.share,
        .held = kind == ATTEMPT_FIRST ? t->slot.held : 0,
        .client = t->client,
        .flow = t->flow,
        .isn = (uint32_t)t->flow,
        .cookie = number,
    };
}

/* -- slots -- */

static void link_slot(struct engine *e, uint32_t number)
{
    struct try *t = try_at(e, number);
    uint32_t first = e->first_slot[t->worker];

    t->previous_slot = POOL_NONE;
    t->next_slot = first;
    if (first != POOL_NONE)
        try_at(e, first)->previous_slot = number;
    e->first_slot[t->worker] = number;
}

static void unlink_slot(struct engine *e, const struct try *t)
{
    if (t->previous_slot == POOL_NONE)
        e->first_slot[t->worker] = t->next_slot;
    else
        try_at(e, t->previous_slot)->next_slot = t->next_slot;
    if (t->next_slot != POOL_NONE)
        try_at(e, t->next_slot)->previous_slot = t->previous_slot;
}

/* From its SYN until the service hears from the client: of a connection with a slot of its own. */
static double opening_s(const struct engine *e, const struct try *t)
{
    return source_of(e, t)->unit == UNIT_CONNECTION ? e->scenario->clients.rtt_s : 0;
}

void door_confirm(struct engine *e, uint32_t number)
{
    struct try *t = try_at(e, number);

    if (t->flags & TRY_SLOT && t->slot.held & SLOT_OPENING)
        admission_confirmed(e->gate->workers[t->worker], &t->slot);
    work_advance(e, number);
}

/* The service has answered its SYN, and hears from the client a round trip later. */
static void open_connection(struct engine *e, uint32_t number)
{
    struct try *t = try_at(e, number);
    double rtt_s = opening_s(e, t);

    admission_connected(e->gate->workers[t->worker], &t->slot, gate_ns(e->now_s) - t->asked_ns);
    if (rtt_s > 0)
        engine_put(e, e->now_s + rtt_s, DUE_CONFIRM, number, t->generation);
    else
        door_confirm(e, number);
}

static void begin(struct engine *e, uint32_t number, uint8_t held)
{
    struct try *t = try_at(e, number);

    t->slot.held = held;
    t->slot_ns = gate_ns(e->now_s);
    t->flags |= TRY_SLOT;
    link_slot(e, number);
    record_admitted(e->record);
    if (source_of(e, t)->unit == UNIT_CONNECTION)
        open_connection(e, number);
    else
        work_advance(e, number);
}

static void report(struct engine *e, struct try *t, enum outcome outcome, bool failed)
{
    struct admission *adm = e->gate->workers[t->worker];
    uint64_t now_ns = gate_ns(e->now_s);

    if (t->flags & TRY_REPORTED)
        return;
    if (failed)
        admission_no_answer(adm, &t->slot, (uint32_t)mix(t->flow), now_ns);
    else if (outcome == OUTCOME_FINISHED)
        admission_first_byte(adm, &t->slot, now_ns);
    t->flags |= TRY_REPORTED;
}

static void complete(struct engine *e, struct try *t, enum outcome outcome, bool failed)
{
    uint64_t now_ns = gate_ns(e->now_s);
    const struct ending ending = {.outcome = outcome,
                                  .failed = failed,
                                  .client = t->client,
                                  .held_ns = now_ns - t->slot_ns,
                                  .latency_ns = now_ns - t->asked_ns};

    t->flags &= ~TRY_SLOT;
    unlink_slot(e, t);
    admission_complete(e->gate->workers[t->worker], &t->slot, &ending, now_ns);
    t->slot.held = 0;
    e->gate->is_due = true;
}

/* Both say that they have no more to say: the service after its reply, the client when it has that.
 * Who has left before has said so already. */
static bool is_closed_later(const struct engine *e, const struct try *t, enum outcome outcome)
{
    return outcome == OUTCOME_FINISHED && t->piece != POOL_NONE && opening_s(e, t) > 0;
}

static void give_back(struct engine *e, uint32_t number, enum outcome outcome, bool failed)
{
    struct try *t = try_at(e, number);

    report(e, t, outcome, failed);
    if (!is_closed_later(e, t, outcome)) {
        complete(e, t, outcome, failed);
        return;
    }
    t->flags |= TRY_CLOSING | (failed ? TRY_FAILED : 0);
    engine_put(e, e->now_s + e->scenario->clients.rtt_s, DUE_CLOSED, number, 0);
}

void door_closed(struct engine *e, uint32_t number)
{
    struct try *t = try_at(e, number);

    complete(e, t, OUTCOME_FINISHED, t->flags & TRY_FAILED);
    t->flags &= ~TRY_CLOSING;
    if (t->flags & TRY_OVER)
        work_drop(e, number);
}

/* -- waiting -- */

static void wait(struct engine *e, uint32_t number, uint32_t waiter)
{
    struct try *t = try_at(e, number);
    uint64_t age_ns = service_of(e, t)->wait.age_ns;

    t->flags |= TRY_WAITS;
    t->waiter = waiter;
    e->gate->waiting[t->worker]++;
    e->gate->waiting_total++;
    e->gate->is_due = true; /* somebody may have left it his place */
    engine_put(e, gate_time_s(gate_ns(e->now_s) + age_ns), DUE_WAITED, number, t->generation);
    note_queues(e);
}

static void stop_waiting(struct engine *e, struct try *t)
{
    t->flags &= ~TRY_WAITS;
    e->gate->waiting[t->worker]--;
    e->gate->waiting_total--;
    note_queues(e);
}

static void cancel(struct engine *e, struct try *t)
{
    uint64_t cookie;

    admission_cancel(e->gate->workers[t->worker], t->waiter, t->flow, &cookie);
    stop_waiting(e, t);
}

void door_leave(struct engine *e, uint32_t number, enum outcome outcome, bool failed)
{
    struct try *t = try_at(e, number);

    if (t->flags & TRY_WAITS)
        cancel(e, t);
    if (t->flags & TRY_SLOT && !(t->flags & TRY_CLOSING))
        give_back(e, number, outcome, failed);
    if (t->flags & TRY_CONNECTED) {
        t->flags &= ~TRY_CONNECTED;
        admission_disconnect(e->gate->workers[t->worker], &t->slot);
    }
}

/* -- asking -- */

/* As long as the service's rules let refusals be answered; a datagram's never is. */
static bool is_told(struct engine *e, const struct try *t)
{
    return admission_may_answer(e->gate->workers[t->worker], t->slot.service, gate_ns(e->now_s)) &&
           source_of(e, t)->unit != UNIT_DATAGRAM;
}

/* Only an answer to a request has words: a SYN's is an RST. 0: nothing. */
static uint32_t says_when_s(const struct engine *e, uint32_t number, enum reason reason)
{
    const struct try *t = try_at(e, number);
    struct attempt attempt;

    if (!(t->flags & TRY_CONNECTED) || service_of(e, t)->turn != TURN_HTTP)
        return 0;
    attempt = attempt_of(e, number, ATTEMPT_FIRST);
    return admission_retry_after_s(e->gate->workers[t->worker], &attempt, reason,
                                   gate_ns(e->now_s));
}

/* Its client waits for an answer until it gives up. A connection that is open stays so as long. */
static void keep_silent(struct engine *e, uint32_t number)
{
    const struct try *t = try_at(e, number);

    if (t->flags & TRY_CONNECTED)
        return;
    piece_at(e, t->piece)->try = POOL_NONE;
    work_drop(e, number);
}

static void refuse(struct engine *e, uint32_t number, enum reason reason)
{
    const struct try *t = try_at(e, number);
    struct reply reply = {.answer = ANSWER_REFUSED};
    uint32_t piece = t->piece;

    record_refused(e->record, reason);
    if (!is_told(e, t)) {
        keep_silent(e, number);
        return;
    }
    reply.retry_after_s = says_when_s(e, number, reason);
    door_leave(e, number, OUTCOME_FINISHED, false); /* its connection, if it has one */
    work_drop(e, number);
    client_answer(e, piece, &reply);
}

static void decide(struct engine *e, uint32_t number, const struct decision *decision)
{
    if (decision->verdict == VERDICT_REFUSE)
        refuse(e, number, decision->reason);
    else if (decision->verdict == VERDICT_WAIT)
        wait(e, number, decision->waiter);
    else
        begin(e, number, decision->held);
}

static struct decision offer(struct engine *e, uint32_t number, enum attempt_kind kind)
{
    struct gate *gate = e->gate;
    uint32_t worker = try_at(e, number)->worker;
    const struct attempt attempt = attempt_of(e, number, kind);

    gate->offered[worker]++;
    if (!gate->tidying[worker]) {
        gate->tidying[worker] = true;
        gate->tidied[worker] = gate->offered[worker];
        engine_put(e, e->now_s + GATE_TIDY_S, DUE_TIDY, worker, 0);
    }
    return admission_offer(gate->workers[worker], &attempt, gate_ns(e->now_s));
}

static void connect(struct engine *e, uint32_t number)
{
    struct try *t = try_at(e, number);
    struct decision decision = offer(e, number, ATTEMPT_CONNECT);

    if (decision.verdict == VERDICT_REFUSE) {
        refuse(e, number, decision.reason);
        return;
    }
    t->slot.held = decision.held;
    t->flags |= TRY_CONNECTED;
    admission_connected(e->gate->workers[t->worker], &t->slot, 0);
    if (e->scenario->clients.rtt_s > 0)
        engine_put(e, e->now_s + e->scenario->clients.rtt_s, DUE_FIRST, number, t->generation);
    else
        door_first(e, number);
}

/* A request over its quota is dropped by a worker, and sent again; here it is refused. */
void door_first(struct engine *e, uint32_t number)
{
    struct try *t = try_at(e, number);
    struct decision decision =
        admission_meter(e->gate->workers[t->worker], t->slot.tenant, BYTES, gate_ns(e->now_s));

    t->asked_ns = gate_ns(e->now_s);
    if (decision.verdict == VERDICT_ADMIT)
        decision = offer(e, number, ATTEMPT_FIRST);
    decide(e, number, &decision);
}

void door_ask(struct engine *e, uint32_t number)
{
    struct try *t = try_at(e, number);
    const struct source *source = source_of(e, t);
    struct decision decision;

    if (!e->gate) {
        record_admitted(e->record);
        work_advance(e, number);
        return;
    }
    t->flow = mix(e->key ^ ++e->n_tries);
    t->client = mix(mix(e->key + t->source) ^ piece_at(e, t->piece)->address);
    t->worker = (uint32_t)((t->flow >> 32) * e->gate->n_workers >> 32);
    t->slot = (struct slot){source->tenant, source->service, source->share, 0};
    t->asked_ns = gate_ns(e->now_s);
    if (source->unit == UNIT_EXCHANGE) {
        connect(e, number);
        return;
    }
    decision = offer(e, number, ATTEMPT_WORK);
    decide(e, number, &decision);
}

/* -- what comes round -- */

static void release(struct engine *e, const struct released *released)
{
    uint32_t number = (uint32_t)released->cookie;

    stop_waiting(e, try_at(e, number));
    if (released->decision.verdict == VERDICT_ADMIT)
        record_gate_wait(e->record, (double)released->waited_ns / 1e9);
    decide(e, number, &released->decision);
}

static void poll_worker(struct engine *e, uint32_t worker)
{
    struct released released[GATE_RELEASED_MAX];
    unsigned n;

    do {
        n = admission_poll(e->gate->workers[worker], gate_ns(e->now_s), released,
                           GATE_RELEASED_MAX);
        for (unsigned i = 0; i < n; i++)
            release(e, &released[i]);
    } while (n == GATE_RELEASED_MAX);
}

/* What is let in may be done at once, and leave its slot to the next. */
void door_poll(struct engine *e)
{
    while (e->gate->is_due) {
        e->gate->is_due = false;
        for (uint32_t i = 0; i < e->gate->n_workers && e->gate->waiting_total; i++)
            if (e->gate->waiting[i])
                poll_worker(e, i);
    }
}

void door_tidy(struct engine *e, uint32_t worker)
{
    struct gate *gate = e->gate;

    admission_tidy(gate->workers[worker], gate_ns(e->now_s));
    gate->tidying[worker] = gate->offered[worker] != gate->tidied[worker];
    gate->tidied[worker] = gate->offered[worker];
    if (gate->tidying[worker])
        engine_put(e, e->now_s + GATE_TIDY_S, DUE_TIDY, worker, 0);
}

static void look_after(struct engine *e, struct try *t)
{
    struct admission *adm = e->gate->workers[t->worker];
    uint64_t held_ns = gate_ns(e->now_s) - t->slot_ns;
    uint64_t opening_ns = (uint64_t)(opening_s(e, t) * 1e9); /* nothing has been asked for */
    uint64_t response_ns = service_of(e, t)->breaker.response_ns;

    if (!(t->slot.held & SLOT_RESERVED))
        admission_survey_slot(adm, &t->slot, held_ns);
    if (t->flags & TRY_REPORTED || !response_ns || held_ns < response_ns + opening_ns)
        return;
    t->flags |= TRY_REPORTED;
    admission_no_answer(adm, &t->slot, (uint32_t)mix(t->flow), gate_ns(e->now_s));
}

void door_survey(struct engine *e)
{
    for (uint32_t w = 0; w < e->gate->n_workers; w++) {
        for (uint32_t i = e->first_slot[w]; i != POOL_NONE; i = try_at(e, i)->next_slot)
            look_after(e, try_at(e, i));
        admission_survey_end(e->gate->workers[w]);
    }
}
