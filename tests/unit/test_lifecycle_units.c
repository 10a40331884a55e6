/* SPDX-License-Identifier: BSD-3-Clause */
/* What is owed, how flows end and come again, and datagrams. */
#include "tests/unit/talk.h"

/* -- what is owed -- */

/* A reply that takes its time, whatever the client does meanwhile. */
static void no_slot_is_freed_while_a_reply_is_owed(void **state)
{
    static const enum policy_unit units[] = {UNIT_CONNECTION, UNIT_EXCHANGE};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct talk talk = open_talk(units[i], 5);
        struct packet request = segment(&talk, IN, ACK, 20);

        pass_packet(&talk, &request, IN, 1000);
        for (uint32_t t = 2000; t < 299000; t += 1000) {
            assert_false(expired(&talk, t, OUTCOME_AGED));
            pass_packet(&talk, &request, IN, t); /* nor does it prolong it */
            step(&talk, IN, ACK, 0, t, FLOW_EFFECT_NONE, 0);
        }
        assert_false(expired(&talk, 1000 + 299999, OUTCOME_AGED));
        assert_true(expired(&talk, 1000 + 300000, OUTCOME_AGED));
        assert_true(has_slot(&talk));                          /* so its loss can be counted */
        step(&talk, OUT, ACK, 0, 200000, FLOW_EFFECT_NONE, 0); /* the service's sign of life does */
        assert_false(expired(&talk, 200000 + 299999, OUTCOME_AGED));
        step(&talk, OUT, ACK, 10, 300000, FLOW_EFFECT_NONE, FLOW_EVENT_FIRST_BYTE);
        assert_true(expired(&talk, 300000 + 60000, OUTCOME_AGED));
    }
}

/* Nothing is owed where nothing was asked, and nothing to whom has no slot. */
static void idle_rules_hold_for_the_rest(void **state)
{
    struct talk talk = open_talk(UNIT_CONNECTION, 5);
    struct flow_timeouts patient = timeouts;
    enum outcome outcome;

    (void)state;
    assert_false(expired(&talk, 3 + 59999, OUTCOME_AGED));
    assert_true(expired(&talk, 3 + 60000, OUTCOME_AGED));
    step(&talk, IN, ACK, 20, 10, FLOW_EFFECT_NONE, 0);
    talk.flow.flags &= (uint8_t)~FLOW_HAS_SLOT;
    assert_true(expired(&talk, 10 + 60000, OUTCOME_AGED));
    talk.flow.flags |= FLOW_HAS_SLOT;
    patient.tcp_idle_ms = 400000; /* longer than what is owed */
    assert_false(flow_expired(&talk.flow, &patient, 10 + 399999, &outcome));
    assert_true(flow_expired(&talk.flow, &patient, 10 + 400000, &outcome));
    step(&talk, OUT, FIN_ACK, 0, 20, FLOW_EFFECT_NONE, 0); /* it will not pay any more */
    assert_true(expired(&talk, 20 + 2000, OUTCOME_AGED));
}

/* -- what a connection tells of its service -- */

static void a_connection_is_heard_once(void **state)
{
    struct talk talk = open_talk(UNIT_CONNECTION, 5);

    (void)state;
    assert_true(has_slot(&talk));
    step(&talk, IN, ACK, 20, 10, FLOW_EFFECT_NONE, 0);
    assert_int_equal(talk.flow.began, 0); /* a connection began with its SYN */
    step(&talk, OUT, ACK, 20, 20, FLOW_EFFECT_NONE, FLOW_EVENT_FIRST_BYTE);
    step(&talk, IN, ACK, 20, 30, FLOW_EFFECT_NONE, 0);
    step(&talk, OUT, ACK, 20, 40, FLOW_EFFECT_NONE, 0);
    assert_false(flow_silent(&talk.flow, SILENCE_MS, 1000));
    step(&talk, OUT, FIN_ACK, 20, 50, FLOW_EFFECT_NONE, 0); /* one side's end is not its end */
    assert_true(has_slot(&talk));
}

static struct flow_change service_resets(struct talk *talk)
{
    struct packet rst = segment(talk, OUT, TCP_RST | TCP_ACK, 0);
    struct flow_change change = pass_packet(talk, &rst, OUT, 5000);

    assert_int_equal(change.effect, FLOW_EFFECT_ENDED);
    assert_int_equal(change.outcome, OUTCOME_RESET);
    return change;
}

static void which_resets_are_failures(void **state)
{
    struct talk talk = open_talk(UNIT_EXCHANGE, 5);
    struct packet syn = segment(&talk, IN, TCP_SYN, 0);

    (void)state;
    flow_restart(&talk.flow, &syn, UNIT_EXCHANGE, at(0));
    assert_int_equal(service_resets(&talk).events, FLOW_EVENT_REPLY_FAILED); /* to a SYN */

    talk = open_talk(UNIT_CONNECTION, 5);
    assert_int_equal(service_resets(&talk).events, FLOW_EVENT_REPLY_FAILED);

    talk = open_talk(UNIT_CONNECTION, 5);
    step(&talk, IN, FIN_ACK, 0, 10, FLOW_EFFECT_NONE, 0); /* it had asked for nothing */
    assert_int_equal(service_resets(&talk).events, 0);

    talk = open_talk(UNIT_CONNECTION, 5);
    step(&talk, IN, ACK, 20, 10, FLOW_EFFECT_NONE, 0);
    step(&talk, IN, TCP_RST, 0, 20, FLOW_EFFECT_NONE, 0); /* the client gave up itself */
    assert_int_equal(service_resets(&talk).events, 0);

    talk = open_talk(UNIT_EXCHANGE, 5);
    step(&talk, IN, ACK, 20, 10, FLOW_EFFECT_REQUEST, 0);
    step(&talk, OUT, ACK, 20, 20, FLOW_EFFECT_NONE, FLOW_EVENT_FIRST_BYTE);
    assert_int_equal(service_resets(&talk).events, 0); /* after the first byte */

    talk = open_talk(UNIT_EXCHANGE, 5);
    step(&talk, IN, ACK, 20, 10, FLOW_EFFECT_REQUEST, 0);
    step(&talk, OUT, ACK, 20, 20, FLOW_EFFECT_NONE, FLOW_EVENT_FIRST_BYTE);
    step(&talk, IN, ACK, 20, 30, FLOW_EFFECT_NEXT, 0);
    assert_int_equal(service_resets(&talk).events, FLOW_EVENT_REPLY_FAILED); /* of the next */
}

/* -- endings -- */

static void case_B02_ports_used_again(void **state)
{
    struct talk talk = open_talk(UNIT_CONNECTION, 5);
    struct packet syn;

    (void)state;
    step(&talk, IN, ACK, 20, 10, FLOW_EFFECT_NONE, 0);
    step(&talk, OUT, ACK, 20, 20, FLOW_EFFECT_NONE, FLOW_EVENT_FIRST_BYTE);
    step(&talk, IN, FIN_ACK, 0, 30, FLOW_EFFECT_NONE, 0);
    step(&talk, OUT, FIN_ACK, 0, 40, FLOW_EFFECT_ENDED, 0);
    talk.seq[IN] += 100000;
    syn = segment(&talk, IN, TCP_SYN, 0);
    assert_true(flow_is_attempt(&talk.flow, &syn, IN));
    flow_restart(&talk.flow, &syn, UNIT_CONNECTION, at(2040));
    talk.flow.flags |= FLOW_HAS_SLOT;
    assert_int_equal(talk.flow.flags, FLOW_HAS_SLOT | FLOW_UNHEARD);
    assert_int_equal(talk.flow.began, flow_time(2040000000));
    step(&talk, OUT, SYN_ACK, 0, 2041, FLOW_EFFECT_NONE, FLOW_EVENT_ANSWERED);
    step(&talk, IN, ACK, 20, 2042, FLOW_EFFECT_NONE, 0);
    step(&talk, OUT, TCP_RST, 0, 2043, FLOW_EFFECT_ENDED, FLOW_EVENT_REPLY_FAILED);
    step(&talk, OUT, TCP_RST, 0, 2044, FLOW_EFFECT_NONE, 0);
}

/* Variant: the old connection still looks open, for both ends have forgotten it unseen. */
static void case_B02_a_syn_lands_on_an_open_flow(void **state)
{
    struct talk talk = open_talk(UNIT_CONNECTION, 5), other;
    struct flow_change change;
    struct packet packet;

    (void)state;
    step(&talk, IN, ACK, 20, 10, FLOW_EFFECT_NONE, 0);
    other = talk;
    talk.seq[IN] += 100000;
    step(&talk, IN, TCP_SYN, 0, 5000, FLOW_EFFECT_REPEAT, 0);
    packet = segment(&talk, OUT, SYN_ACK, 0);
    talk.flow.flags |= FLOW_WAITS;
    change = pass_packet(&talk, &packet, OUT, 5001);
    assert_int_equal(change.effect, FLOW_EFFECT_REOPENED);
    assert_int_equal(change.outcome, OUTCOME_FINISHED);
    assert_int_equal(change.events, FLOW_EVENT_ANSWERED);
    assert_true(has_slot(&talk)); /* the old one's, which the caller frees */
    assert_int_not_equal(talk.flow.flags & FLOW_WAITS, 0); /* and forgets */
    talk.flow.flags &= (uint8_t)~FLOW_WAITS;
    assert_int_equal(talk.flow.began, flow_time(5001000000));
    step(&talk, OUT, SYN_ACK, 0, 5500, FLOW_EFFECT_NONE, 0); /* once */
    assert_true(expired(&talk, 8001, OUTCOME_AGED));         /* it has to be answered */
    step(&talk, IN, ACK, 20, 5600, FLOW_EFFECT_NONE, 0);
    step(&talk, OUT, ACK, 20, 5601, FLOW_EFFECT_NONE, FLOW_EVENT_FIRST_BYTE);

    /* A service that knows the old connection answers by an ACK, and nothing has happened. */
    step(&other, IN, TCP_SYN, 0, 5000, FLOW_EFFECT_REPEAT, 0);
    step(&other, OUT, ACK, 0, 5001, FLOW_EFFECT_NONE, 0);
    assert_int_equal(other.flow.state, FLOW_ESTABLISHED);
}

/* As far as it can be told without sequence numbers: a RST that the service did not believe. */
static void case_B03_a_forged_reset_frees_nothing(void **state)
{
    struct talk talk = open_talk(UNIT_CONNECTION, 5);

    (void)state;
    step(&talk, IN, ACK, 20, 10, FLOW_EFFECT_NONE, 0);
    step(&talk, IN, TCP_RST, 0, 20, FLOW_EFFECT_NONE, 0); /* not the client's */
    step(&talk, OUT, ACK, 100, 30, FLOW_EFFECT_NONE, 0);
    assert_int_equal(talk.flow.state, FLOW_LINGERING);
    step(&talk, IN, ACK, 0, 40, FLOW_EFFECT_NONE, 0); /* the client's */
    assert_int_equal(talk.flow.state, FLOW_LINGERING);
    step(&talk, OUT, ACK, 100, 50, FLOW_EFFECT_NONE, FLOW_EVENT_FIRST_BYTE);
    assert_int_equal(talk.flow.state, FLOW_ESTABLISHED);
    assert_false(expired(&talk, 50 + 59999, OUTCOME_AGED));

    /* The genuine one is followed by what was under way, and by more of its kind. */
    step(&talk, IN, TCP_RST, 0, 60, FLOW_EFFECT_NONE, 0);
    step(&talk, OUT, ACK, 100, 70, FLOW_EFFECT_NONE, 0);
    step(&talk, IN, TCP_RST, 0, 80, FLOW_EFFECT_NONE, 0);
    step(&talk, OUT, ACK, 100, 90, FLOW_EFFECT_NONE, 0);
    assert_int_equal(talk.flow.state, FLOW_LINGERING);
    assert_true(has_slot(&talk));
    assert_true(expired(&talk, 60 + 1000, OUTCOME_ABORTED));
    step(&talk, OUT, TCP_RST, 0, 100, FLOW_EFFECT_ENDED, 0);
    step(&talk, OUT, ACK, 100, 110, FLOW_EFFECT_NONE, 0); /* a straggler */
    assert_int_equal(talk.flow.state, FLOW_CLOSED);
}

/* The client has vanished after its FIN; the service repeats its last segment, ever more slowly. */
static void a_service_that_repeats_its_data_is_no_running_work(void **state)
{
    struct talk talk = open_talk(UNIT_CONNECTION, 5);
    struct packet last;
    uint32_t now_ms = 30;

    (void)state;
    step(&talk, IN, FIN_ACK, 20, 10, FLOW_EFFECT_NONE, 0);
    step(&talk, OUT, FIN_ACK, 1000, 20, FLOW_EFFECT_ENDED, FLOW_EVENT_FIRST_BYTE);
    last = talk.last;
    assert_true(expired(&talk, 2020, OUTCOME_AGED));
    for (uint32_t pause_ms = 200; pause_ms < 60000; pause_ms *= 2) {
        now_ms += pause_ms;
        assert_false(expired(&talk, now_ms, OUTCOME_AGED));
        assert_int_equal(pass_packet(&talk, &last, OUT, now_ms).effect, FLOW_EFFECT_NONE);
        assert_int_equal(talk.flow.state, FLOW_CLOSED);
        assert_false(has_slot(&talk));
    }
    assert_true(expired(&talk, now_ms + 60000, OUTCOME_AGED));
    /* Its ports are free for a new connection none the less. */
    last = segment(&talk, IN, TCP_SYN, 0);
    assert_true(flow_is_attempt(&talk.flow, &last, IN));
    talk.flow.marks |= FLOW_IS_TIMED;
    flow_restart(&talk.flow, &last, UNIT_CONNECTION, at(now_ms));
    assert_int_equal(talk.flow.marks, FLOW_IS_TIMED); /* that is the ring's, not the flow's */
}

/* -- datagrams -- */

static const struct packet datagram = {.kind = PACKET_UDP, .protocol = PROTOCOL_UDP};

static struct talk ask(uint32_t now_ms)
{
    struct talk talk = {.flow = {.key = {.tags = 17u << 24}}};

    assert_true(flow_is_attempt(&talk.flow, &datagram, IN));
    flow_restart(&talk.flow, &datagram, UNIT_DATAGRAM, at(now_ms));
    assert_true(flow_opening_takes_slot(UNIT_DATAGRAM, &datagram));
    talk.flow.flags |= FLOW_HAS_SLOT;
    return talk;
}

static void case_C01_queries_from_one_port(void **state)
{
    struct talk talk = ask(1000);

    (void)state;
    /* Retries take no slot, do not prolong it, and are not when it began. */
    for (uint32_t now_ms = 2000; now_ms < 31000; now_ms += 1000) {
        assert_false(flow_is_attempt(&talk.flow, &datagram, IN));
        assert_false(expired(&talk, now_ms, OUTCOME_AGED));
        assert_int_equal(pass_packet(&talk, &datagram, IN, now_ms).effect, FLOW_EFFECT_REPEAT);
    }
    assert_true(expired(&talk, 31000, OUTCOME_AGED));
    assert_int_equal(flow_elapsed_ns(&talk.flow, 30000000000) >> 20, 29000000000 >> 20);

    for (unsigned query = 0; query < 4; query++) {
        struct flow_change change = pass_packet(&talk, &datagram, OUT, 30000);

        assert_int_equal(change.effect, FLOW_EFFECT_ENDED);
        assert_int_equal(change.outcome, OUTCOME_FINISHED);
        assert_int_equal(change.events, FLOW_EVENT_FIRST_BYTE);
        /* A late or second reply frees nothing. */
        change = pass_packet(&talk, &datagram, OUT, 30001);
        assert_int_equal(change.effect, FLOW_EFFECT_NONE);
        assert_int_equal(change.events, 0);
        assert_true(flow_is_attempt(&talk.flow, &datagram, IN)); /* the next query */
        flow_restart(&talk.flow, &datagram, UNIT_DATAGRAM, at(30002));
        talk.flow.flags |= FLOW_HAS_SLOT;
    }
}

static void a_datagram_that_waits_is_not_asked_for_twice(void **state)
{
    struct talk talk = ask(0);

    (void)state;
    talk.flow.flags = FLOW_WAITS;
    assert_false(flow_is_attempt(&talk.flow, &datagram, IN));
    assert_int_equal(flow_advance(&talk.flow, &datagram, IN, at(1)).effect, FLOW_EFFECT_REPEAT);
}

/* -- the clock of work -- */

static void ticks_come_round(void **state)
{
    const uint64_t round_ns = 1ull << (32 + FLOW_TICK_SHIFT);
    struct flow flow = {.began = flow_time(3 * round_ns - 20000)};

    (void)state;
    assert_int_equal(flow_time(16384), 1);
    assert_int_equal(flow_time(round_ns + 16383), 0);
    assert_int_equal(flow_elapsed_ns(&flow, 3 * round_ns - 20000), 0);
    assert_int_equal(flow_elapsed_ns(&flow, 3 * round_ns + 1000000), 1032192); /* 63 ticks */
    assert_true(round_ns > 19 * 3600 * 1000000000ull);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_slot_is_freed_while_a_reply_is_owed),
        cmocka_unit_test(idle_rules_hold_for_the_rest),
        cmocka_unit_test(a_connection_is_heard_once),
        cmocka_unit_test(which_resets_are_failures),
        cmocka_unit_test(case_B02_ports_used_again),
        cmocka_unit_test(case_B02_a_syn_lands_on_an_open_flow),
        cmocka_unit_test(case_B03_a_forged_reset_frees_nothing),
        cmocka_unit_test(a_service_that_repeats_its_data_is_no_running_work),
        cmocka_unit_test(case_C01_queries_from_one_port),
        cmocka_unit_test(a_datagram_that_waits_is_not_asked_for_twice),
        cmocka_unit_test(ticks_come_round),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
