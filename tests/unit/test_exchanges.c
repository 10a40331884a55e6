/* SPDX-License-Identifier: BSD-3-Clause */
/* A slot held from a request to the end of its reply. */
#include "tests/unit/talk.h"

/* Request in two segments, reply in three, silence, and again; across the wrap of both halves and
 * of whole sequence numbers. */
static void an_exchange_ends_in_silence(void **state)
{
    static const uint32_t client_seqs[] = {0, 0x7ff0, 0xfff0, 0xfffffff0};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct talk talk = open_talk(UNIT_EXCHANGE, client_seqs[i]);

        assert_false(has_slot(&talk));
        for (uint32_t t = 100; t < 1000000; t += 50000) {
            step(&talk, IN, ACK, 20, t, FLOW_EFFECT_REQUEST, 0);
            assert_int_equal(talk.flow.began, flow_time(t * 1000000ull));
            step(&talk, IN, ACK, 1460, t + 1, FLOW_EFFECT_NONE, 0); /* the same request */
            step(&talk, OUT, ACK, 0, t + 2, FLOW_EFFECT_NONE, 0);
            assert_false(flow_silent(&talk.flow, SILENCE_MS, t + 2000)); /* it is owed */
            step(&talk, OUT, ACK, 100, t + 2000, FLOW_EFFECT_NONE, FLOW_EVENT_FIRST_BYTE);
            assert_in_range(flow_elapsed_ns(&talk.flow, (t + 2000) * 1000000ull), 1999980000,
                            2000020000);
            step(&talk, OUT, ACK, 1460, t + 2040, FLOW_EFFECT_NONE, 0);
            step(&talk, IN, ACK, 0, t + 2041, FLOW_EFFECT_NONE, 0); /* no life of the service's */
            step(&talk, OUT, ACK, 1, t + 2080, FLOW_EFFECT_NONE, 0);
            step(&talk, IN, ACK, 0, t + 2100, FLOW_EFFECT_NONE, 0);
            assert_false(flow_silent(&talk.flow, SILENCE_MS, t + 2129));
            assert_true(has_slot(&talk));
            end_in_silence(&talk, t + 2130);
            assert_false(flow_silent(&talk.flow, SILENCE_MS, t + 40000));
        }
    }
}

/* Its slot has been given back, for silence; what the service sends then shows that it runs. */
static void a_reply_that_pauses_takes_its_slot_again(void **state)
{
    struct talk talk = open_talk(UNIT_EXCHANGE, 5);
    struct packet again;

    (void)state;
    step(&talk, IN, ACK, 20, 10, FLOW_EFFECT_REQUEST, 0);
    step(&talk, OUT, ACK, 100, 20, FLOW_EFFECT_NONE, FLOW_EVENT_FIRST_BYTE);
    again = talk.last;
    for (uint32_t t = 100; t < 1000; t += 100) {
        end_in_silence(&talk, t);
        step(&talk, IN, ACK, 0, t, FLOW_EFFECT_NONE, 0);
        step(&talk, OUT, ACK, 0, t, FLOW_EFFECT_NONE, 0);
        step(&talk, OUT, ACK, 100, t + 1, FLOW_EFFECT_RESUMED, 0);
        step(&talk, OUT, ACK, 100, t + 2, FLOW_EFFECT_NONE, 0);
        assert_true(has_slot(&talk));
        assert_int_equal(talk.flow.began, flow_time(10000000)); /* it is the same exchange */
    }
    step(&talk, IN, ACK, 20, 910, FLOW_EFFECT_NEXT, 0);
    step(&talk, OUT, ACK, 100, 920, FLOW_EFFECT_NONE, FLOW_EVENT_FIRST_BYTE);
    end_in_silence(&talk, 1000);

    /* What was lost is sent again, which is no work; nor does anything follow a FIN. */
    assert_int_equal(pass_packet(&talk, &talk.last, OUT, 1200).effect, FLOW_EFFECT_NONE);
    assert_int_equal(pass_packet(&talk, &again, OUT, 1201).effect, FLOW_EFFECT_NONE);
    /* The slot of the next request is on its way. */
    talk.flow.flags |= FLOW_WAITS;
    step(&talk, OUT, ACK, 100, 1300, FLOW_EFFECT_NONE, 0);
    talk.flow.flags &= (uint8_t)~FLOW_WAITS;
    step(&talk, OUT, FIN_ACK, 100, 1400, FLOW_EFFECT_ENDED, 0);
    step(&talk, OUT, ACK, 100, 1500, FLOW_EFFECT_NONE, 0);
    assert_false(has_slot(&talk));
}

static void the_next_request_ends_an_exchange(void **state)
{
    struct talk talk = open_talk(UNIT_EXCHANGE, 5);
    struct packet again;

    (void)state;
    step(&talk, IN, ACK, 20, 10, FLOW_EFFECT_REQUEST, 0);
    step(&talk, OUT, ACK, 100, 20, FLOW_EFFECT_NONE, FLOW_EVENT_FIRST_BYTE);
    step(&talk, IN, ACK, 20, 30, FLOW_EFFECT_NEXT, 0);
    again = talk.last;
    assert_int_equal(talk.flow.began, flow_time(30000000));
    assert_true(has_slot(&talk));
    step(&talk, OUT, ACK, 100, 40, FLOW_EFFECT_NONE, FLOW_EVENT_FIRST_BYTE);
    /* Its reply was lost behind us: the client repeats a request that was answered. */
    assert_int_equal(flow_request(&talk.flow, &again, IN), FLOW_EFFECT_NONE);
    assert_int_equal(pass_packet(&talk, &again, IN, 50).effect, FLOW_EFFECT_NONE);
    assert_int_equal(talk.flow.began, flow_time(30000000));
    /* Freed first, as a worker does that has to ask for the next slot: then it is no "next". */
    again = segment(&talk, IN, ACK, 20);
    assert_int_equal(flow_request(&talk.flow, &again, IN), FLOW_EFFECT_NEXT);
    flow_end_exchange(&talk.flow);
    assert_int_equal(pass_packet(&talk, &again, IN, 60).effect, FLOW_EFFECT_REQUEST);
}

/* A probe of Windows carries one byte that was acknowledged long ago. */
static void a_keep_alive_probe_is_no_request(void **state)
{
    struct talk talk = open_talk(UNIT_EXCHANGE, 0xfffffff0);
    struct packet probe;

    (void)state;
    step(&talk, IN, ACK, 20, 10, FLOW_EFFECT_REQUEST, 0);
    step(&talk, OUT, ACK, 100, 20, FLOW_EFFECT_NONE, FLOW_EVENT_FIRST_BYTE);
    flow_end_exchange(&talk.flow);
    talk.flow.flags &= (uint8_t)~FLOW_HAS_SLOT;
    talk.seq[IN]--;
    probe = segment(&talk, IN, ACK, 1);
    assert_int_equal(flow_request(&talk.flow, &probe, IN), FLOW_EFFECT_NONE);
    assert_int_equal(pass_packet(&talk, &probe, IN, 7000).effect, FLOW_EFFECT_NONE);
    assert_int_equal(talk.flow.heard_ms, 7000); /* but a sign of life */
    step(&talk, IN, ACK, 1, 7001, FLOW_EFFECT_REQUEST, 0);
}

static void a_request_that_waits_is_not_asked_for_twice(void **state)
{
    struct talk talk = open_talk(UNIT_EXCHANGE, 5);
    struct packet request = segment(&talk, IN, ACK, 20), more = segment(&talk, IN, ACK, 20);
    struct packet ack = segment(&talk, IN, ACK, 0);

    (void)state;
    assert_int_equal(flow_request(&talk.flow, &request, IN), FLOW_EFFECT_REQUEST);
    talk.flow.flags |= FLOW_WAITS;
    talk.flow.waiter = 7;
    assert_int_equal(flow_request(&talk.flow, &request, IN), FLOW_EFFECT_REPEAT);
    assert_int_equal(flow_request(&talk.flow, &more, IN), FLOW_EFFECT_REPEAT);
    assert_int_equal(flow_request(&talk.flow, &ack, IN), FLOW_EFFECT_NONE);
    talk.flow.flags &= (uint8_t)~FLOW_WAITS;
    assert_int_equal(pass_packet(&talk, &request, IN, 100).effect, FLOW_EFFECT_REQUEST);
    assert_int_equal(pass_packet(&talk, &request, IN, 101).effect, FLOW_EFFECT_NONE);
}

/* Only data of the client on an open flow begins an exchange. */
static void what_begins_no_exchange(void **state)
{
    struct talk talk = open_talk(UNIT_EXCHANGE, 5);
    struct packet request = segment(&talk, IN, ACK, 20), other = request;

    (void)state;
    for (unsigned s = FLOW_OPENING; s <= FLOW_CLOSED; s++) {
        bool open = s == FLOW_ANSWERED || s == FLOW_ESTABLISHED || s == FLOW_CLOSING;

        talk.flow.state = (uint8_t)s;
        assert_int_equal(flow_request(&talk.flow, &request, IN),
                         open ? FLOW_EFFECT_REQUEST : FLOW_EFFECT_NONE);
        assert_int_equal(flow_request(&talk.flow, &request, OUT), FLOW_EFFECT_NONE);
    }
    talk.flow.state = FLOW_ESTABLISHED;
    other.tcp_flags = TCP_RST | TCP_ACK;
    assert_int_equal(flow_request(&talk.flow, &other, IN), FLOW_EFFECT_NONE);
    other.tcp_flags = TCP_SYN;
    assert_int_equal(flow_request(&talk.flow, &other, IN), FLOW_EFFECT_NONE);
    other.tcp_flags = FIN_ACK; /* a request that is the last */
    assert_int_equal(flow_request(&talk.flow, &other, IN), FLOW_EFFECT_REQUEST);
    talk.flow.state = FLOW_CLOSING;
    talk.flow.flags |= FLOW_HAS_FIN_INSIDE; /* to a service that has closed */
    assert_int_equal(flow_request(&talk.flow, &request, IN), FLOW_EFFECT_NONE);
    talk.flow = open_talk(UNIT_CONNECTION, 5).flow;
    assert_int_equal(flow_request(&talk.flow, &request, IN), FLOW_EFFECT_NONE);
}

/* Half closed by the client with its request; reply and FIN in one segment. */
static void an_exchange_ends_with_the_services_fin(void **state)
{
    struct talk talk = open_talk(UNIT_EXCHANGE, 5);

    (void)state;
    step(&talk, IN, FIN_ACK, 20, 10, FLOW_EFFECT_REQUEST, 0);
    assert_int_equal(talk.flow.state, FLOW_CLOSING);
    assert_false(expired(&talk, 10 + 299999, OUTCOME_AGED)); /* owed */
    step(&talk, OUT, FIN_ACK, 100, 20, FLOW_EFFECT_ENDED, FLOW_EVENT_FIRST_BYTE);
    assert_int_equal(talk.flow.state, FLOW_CLOSED);
    assert_false(flow_silent(&talk.flow, SILENCE_MS, 1000));

    talk = open_talk(UNIT_EXCHANGE, 5);
    step(&talk, IN, ACK, 20, 10, FLOW_EFFECT_REQUEST, 0);
    step(&talk, OUT, FIN_ACK, 100, 20, FLOW_EFFECT_ENDED, FLOW_EVENT_FIRST_BYTE);
    assert_int_equal(talk.flow.state, FLOW_CLOSING); /* the connection has not ended */
    assert_false(has_slot(&talk));
    step(&talk, IN, FIN_ACK, 0, 30, FLOW_EFFECT_ENDED, 0);
    assert_int_equal(talk.flow.state, FLOW_CLOSED);
}

static void the_clients_reset_ends_no_exchange(void **state)
{
    struct talk talk = open_talk(UNIT_EXCHANGE, 5);

    (void)state;
    step(&talk, IN, ACK, 20, 10, FLOW_EFFECT_REQUEST, 0);
    step(&talk, IN, TCP_RST, 0, 20, FLOW_EFFECT_NONE, 0);
    assert_true(has_slot(&talk));
    assert_false(expired(&talk, 20 + 999, OUTCOME_ABORTED));
    assert_true(expired(&talk, 20 + 1000, OUTCOME_ABORTED));
    step(&talk, OUT, FIN_ACK, 0, 30, FLOW_EFFECT_ENDED, 0);
    assert_false(has_slot(&talk));
}

static void a_greeting_is_no_exchange(void **state)
{
    struct talk talk = open_talk(UNIT_EXCHANGE, 5);

    (void)state;
    step(&talk, OUT, ACK, 30, 10, FLOW_EFFECT_NONE, FLOW_EVENT_FIRST_BYTE);
    step(&talk, OUT, ACK, 30, 11, FLOW_EFFECT_NONE, 0);
    assert_false(flow_silent(&talk.flow, SILENCE_MS, 1000));
    step(&talk, IN, ACK, 20, 20, FLOW_EFFECT_REQUEST, 0);
}

/* A SYN with data (RFC 7413) begins its exchange at once. */
static void a_syn_with_data_is_a_request(void **state)
{
    struct talk talk = {.flow = {.key = {.tags = 6u << 24}}};
    struct packet syn = segment(&talk, IN, TCP_SYN, 20), again;

    (void)state;
    assert_true(flow_opening_takes_slot(UNIT_EXCHANGE, &syn));
    flow_restart(&talk.flow, &syn, UNIT_EXCHANGE, at(0));
    talk.flow.flags |= FLOW_HAS_SLOT;
    assert_false(expired(&talk, 2999, OUTCOME_AGED));
    assert_true(expired(&talk, 3000, OUTCOME_AGED)); /* nobody has answered it */
    step(&talk, OUT, SYN_ACK, 0, 10, FLOW_EFFECT_NONE, FLOW_EVENT_ANSWERED);
    step(&talk, IN, ACK, 0, 20, FLOW_EFFECT_NONE, 0);
    again = syn;
    again.tcp_flags = ACK; /* the service had not taken it */
    assert_int_equal(pass_packet(&talk, &again, IN, 30).effect, FLOW_EFFECT_NONE);
    step(&talk, OUT, ACK, 100, 40, FLOW_EFFECT_NONE, FLOW_EVENT_FIRST_BYTE);
    assert_true(flow_silent(&talk.flow, SILENCE_MS, 90));
}

static bool has_heard(const struct talk *talk, uint32_t ack, uint32_t now_ms)
{
    return flow_has_heard(&talk->flow, &(struct packet){.tcp_ack = ack}, SILENCE_MS, now_ms);
}

/* Who asks again before it has the whole reply cannot be answered yet. Across the wrap of whole
 * sequence numbers and of the bits that are kept. */
static void an_answer_follows_what_the_service_has_sent(void **state)
{
    struct talk talk = open_talk(UNIT_EXCHANGE, 5);
    struct packet first;

    (void)state;
    assert_true(has_heard(&talk, talk.seq[OUT], 4));
    step(&talk, IN, ACK, 20, 10, FLOW_EFFECT_REQUEST, 0);
    assert_true(has_heard(&talk, talk.seq[OUT], 11)); /* it has not sent a byte */
    step(&talk, OUT, ACK, 1460, 20, FLOW_EFFECT_NONE, FLOW_EVENT_FIRST_BYTE);
    first = talk.last;
    for (unsigned i = 0; i < 40; i++) {
        uint32_t before = talk.seq[OUT];

        step(&talk, OUT, ACK, 1460, 21 + i, FLOW_EFFECT_NONE, 0);
        assert_false(has_heard(&talk, before, 21 + i));
        assert_true(has_heard(&talk, talk.seq[OUT], 21 + i));
        if (i == 3) /* what was lost comes again */
            pass_packet(&talk, &first, OUT, 21 + i);
        assert_true(has_heard(&talk, talk.seq[OUT], 21 + i));
    }
    step(&talk, IN, ACK, 0, 61, FLOW_EFFECT_NONE, 0);
    step(&talk, OUT, ACK, 0, 62, FLOW_EFFECT_NONE, 0); /* is no more of the reply */
    assert_true(has_heard(&talk, talk.seq[OUT], 63));
    assert_false(has_heard(&talk, talk.seq[OUT] - 1, 62 + SILENCE_MS - 1));
    assert_true(has_heard(&talk, talk.seq[OUT] - 1, 62 + SILENCE_MS));
    end_in_silence(&talk, 200);
    step(&talk, OUT, ACK, 100, 200, FLOW_EFFECT_RESUMED, 0);
    assert_false(has_heard(&talk, talk.seq[OUT] - 100, 201));
    assert_true(has_heard(&talk, talk.seq[OUT], 201));

    first = segment(&talk, OUT, ACK, 1460);
    flow_start_established(&talk.flow, &first, UNIT_EXCHANGE, at(300));
    assert_false(has_heard(&talk, first.tcp_seq, 301));
    assert_true(has_heard(&talk, talk.seq[OUT], 301));
}

static void an_exchange_found_mid_way_is_in_its_reply(void **state)
{
    struct talk talk = {.flow = {.key = {.tags = 6u << 24}}, .seq = {0xffff, 9}};
    struct packet found = segment(&talk, OUT, ACK, 100);

    (void)state;
    flow_start_established(&talk.flow, &found, UNIT_EXCHANGE, at(100));
    assert_false(flow_silent(&talk.flow, SILENCE_MS, 149));
    assert_true(flow_silent(&talk.flow, SILENCE_MS, 150));
    talk.seq[IN]--;
    step(&talk, IN, ACK, 1, 110, FLOW_EFFECT_NONE, 0); /* of before */
    step(&talk, IN, ACK, 20, 120, FLOW_EFFECT_NEXT, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exchange_ends_in_silence),
        cmocka_unit_test(a_reply_that_pauses_takes_its_slot_again),
        cmocka_unit_test(the_next_request_ends_an_exchange),
        cmocka_unit_test(a_keep_alive_probe_is_no_request),
        cmocka_unit_test(a_request_that_waits_is_not_asked_for_twice),
        cmocka_unit_test(what_begins_no_exchange),
        cmocka_unit_test(an_exchange_ends_with_the_services_fin),
        cmocka_unit_test(the_clients_reset_ends_no_exchange),
        cmocka_unit_test(a_greeting_is_no_exchange),
        cmocka_unit_test(a_syn_with_data_is_a_request),
        cmocka_unit_test(an_answer_follows_what_the_service_has_sent),
        cmocka_unit_test(an_exchange_found_mid_way_is_in_its_reply),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
