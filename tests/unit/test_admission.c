/* SPDX-License-Identifier: BSD-3-Clause */
/* Who gets in, for which reason not, and what it costs. */
#include "tests/unit/admitting.h"

/* -- order -- */

/* Everything is full at once; each limit lifted in turn shows the next in the order. */
static void reasons_come_in_the_order_of_decisions(void **state)
{
    static const enum reason order[] = {REASON_RATE,  REASON_PACKETS,  REASON_BITS,
                                        REASON_SHARE, REASON_CAPACITY, REASON_NONE};
    struct gate *g = *state;
    struct policy_tenant *acme = &g->tenants[ACME];

    acme->attempts = core_rate(0, 1, 0);
    acme->packets = core_rate(0, 1, 0);
    acme->bits = core_rate(0, 1, 0);
    acme->window = 0;
    g->services[WEB].window = 0;
    for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        adopt(g);
        assert_int_equal(offer(g, ACME, WEB, 60), order[i]);
        switch (order[i]) {
        case REASON_RATE:
            acme->attempts = CORE_UNLIMITED;
            break;
        case REASON_PACKETS:
            acme->packets = CORE_UNLIMITED;
            break;
        case REASON_BITS:
            acme->bits = CORE_UNLIMITED;
            break;
        case REASON_SHARE:
            acme->window = 1;
            break;
        default:
            g->services[WEB].window = 1;
        }
    }
    assert_int_equal(offer(g, ACME, WEB, 60), REASON_SHARE);
    assert_int_equal(offer(g, OTHER, WEB, 60), REASON_CAPACITY);
    assert_int_equal(admission_tenant_counters(g->adm, ACME)->attempts, 7);
    assert_int_equal(admission_tenant_counters(g->adm, ACME)->admitted, 1);
    assert_int_equal(admission_tenant_counters(g->adm, ACME)->refused[REASON_SHARE], 2);
    assert_int_equal(admission_service_counters(g->adm, WEB)->refused[REASON_CAPACITY], 2);
    assert_int_equal(admission_service_counters(g->adm, API)->attempts, 0);
}

/* -- all limits are tested before any is debited -- */

static void case_E07_a_full_window_costs_no_token(void **state)
{
    struct gate *g = *state;

    g->tenants[ACME].attempts = core_rate(20, 1, 10);
    g->tenants[ACME].window = 2;
    adopt(g);
    assert_int_equal(offer(g, ACME, WEB, 60), REASON_NONE);
    assert_int_equal(offer(g, ACME, WEB, 60), REASON_NONE);
    for (unsigned i = 0; i < 31; i++)
        assert_int_equal(offer(g, ACME, WEB, 60), REASON_SHARE);
    assert_int_equal(tokens(g, ACME), 9);
    assert_int_equal(share_used(g, ACME), 2);
    assert_int_equal(capacity_used(g, WEB), 2);

    /* The same behind a full service: neither a token nor a place of the share. */
    g->tenants[ACME].window = 100;
    g->services[WEB].window = 2;
    adopt(g);
    for (unsigned i = 0; i < 31; i++)
        assert_int_equal(offer(g, ACME, WEB, 60), REASON_CAPACITY);
    assert_int_equal(tokens(g, ACME), 9);
    assert_int_equal(share_used(g, ACME), 2);
}

/* 31 packets against a bucket that has and one that has not, both ways round. */
static void case_E07_two_buckets(void **state)
{
    struct gate *g = *state;

    g->tenants[ACME].attempts = core_rate(1, 86400, 99);
    g->tenants[ACME].packets = core_rate(1, 86400, 30); /* 31 at once */
    g->tenants[ACME].bits = core_rate(8, 1, 1500);      /* one frame */
    adopt(g);
    assert_int_equal(admission_charge(g->adm, ACME, 1500, 0).verdict, VERDICT_ADMIT);
    for (unsigned i = 0; i < 31; i++) {
        assert_int_equal(admission_charge(g->adm, ACME, 1500, 0).reason, REASON_BITS);
        assert_int_equal(offer(g, ACME, WEB, 1500), REASON_BITS);
    }
    assert_int_equal(tokens(g, ACME), 100);
    /* The refused took no packet: 30 are left, and they pass once the bytes are there. */
    g->now_ns = 1500 * CORE_S;
    for (unsigned i = 0; i < 30; i++)
        assert_int_equal(admission_charge(g->adm, ACME, 50, g->now_ns).reason, REASON_NONE);
    /* The reverse: no packets are left, and the refused took no byte either. */
    g->now_ns += 1500 * CORE_S;
    for (unsigned i = 0; i < 31; i++) {
        assert_int_equal(admission_charge(g->adm, ACME, 1500, g->now_ns).reason, REASON_PACKETS);
        assert_int_equal(offer(g, ACME, WEB, 1500), REASON_PACKETS);
    }
    g->tenants[ACME].packets = CORE_UNLIMITED;
    adopt(g);
    assert_int_equal(admission_charge(g->adm, ACME, 1500, g->now_ns).reason, REASON_NONE);
    assert_int_equal(admission_charge(g->adm, ACME, 1, g->now_ns).reason, REASON_BITS);

    assert_int_equal(admission_tenant_counters(g->adm, ACME)->dropped_bits, 32);
    assert_int_equal(admission_tenant_counters(g->adm, ACME)->dropped_packets, 31);
    assert_int_equal(admission_tenant_counters(g->adm, ACME)->refused[REASON_BITS], 31);
    assert_int_equal(admission_tenant_counters(g->adm, ACME)->refused[REASON_PACKETS], 31);
    assert_int_equal(admission_tenant_counters(g->adm, ACME)->admitted, 0);
}

static void case_E07_packet_against_a_burst_of_1500_bytes(void **state)
{
    static const struct {
        uint32_t bytes;
        enum reason reason;
    } sizes[] = {{1499, REASON_NONE}, {1500, REASON_NONE}, {1501, REASON_BITS}};
    struct gate *g = *state;

    g->tenants[ACME].bits = core_rate(12000, 1, 1500);
    adopt(g);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(admission_charge(g->adm, ACME, sizes[i].bytes, g->now_ns).reason,
                         sizes[i].reason);
        g->now_ns += 10 * CORE_S;
        assert_int_equal(offer(g, ACME, WEB, sizes[i].bytes), sizes[i].reason);
        g->now_ns += 10 * CORE_S;
    }
}

/* An admitted attempt pays with its own packet, too. */
static void attempt_pays_every_bucket(void **state)
{
    struct gate *g = *state;

    g->tenants[ACME].attempts = core_rate(1, 86400, 9);
    g->tenants[ACME].packets = core_rate(1, 86400, 2);
    g->tenants[ACME].bits = core_rate(8, 86400, 1000);
    g->tenants[ACME].bits.period_s = 1;
    adopt(g);
    assert_int_equal(offer(g, ACME, WEB, 400), REASON_NONE);
    assert_int_equal(offer(g, ACME, WEB, 600), REASON_NONE);
    assert_int_equal(offer(g, ACME, WEB, 1), REASON_BITS);
    assert_int_equal(tokens(g, ACME), 8);
    g->now_ns = CORE_S;
    assert_int_equal(offer(g, ACME, WEB, 1), REASON_NONE);
    assert_int_equal(offer(g, ACME, WEB, 1), REASON_PACKETS);
    assert_int_equal(tokens(g, ACME), 7);
}

static void case_E03_bits_above_32_bits(void **state)
{
    struct gate *g = *state;
    uint64_t admitted = 0;

    g->tenants[ACME].bits = core_rate(34400000000, 1, 6000000000);
    adopt(g);
    for (unsigned i = 0; i < 100000; i++)
        assert_int_equal(admission_charge(g->adm, ACME, 60000, 0).reason, REASON_NONE);
    assert_int_equal(admission_charge(g->adm, ACME, 60000, 0).reason, REASON_BITS);
    for (g->now_ns = 0; g->now_ns <= CORE_S; g->now_ns += 1000)
        while (admission_charge(g->adm, ACME, 43000, g->now_ns).reason == REASON_NONE)
            admitted += 43000;
    assert_int_equal(admitted, 4300000000); /* 34.4 Gbit/s for one second */
    /* What no bucket can count blocks; it never wraps to another rate. */
    g->tenants[OTHER].bits = core_rate(400000000008, 1, 6000000000);
    g->tenants[OTHER].attempts = core_rate(BUCKET_RATE_MAX + 1, 1, 0);
    adopt(g);
    assert_int_equal(admission_charge(g->adm, OTHER, 60, CORE_S).reason, REASON_BITS);
    assert_int_equal(offer(g, OTHER, WEB, 60), REASON_RATE);
}

/* -- what is not offered -- */

static void no_service_takes_no_slot(void **state)
{
    struct gate *g = *state;

    g->tenants[ACME].attempts = core_rate(1, 1, 1);
    g->tenants[ACME].window = 0;
    adopt(g);
    assert_int_equal(offer(g, ACME, ADMISSION_NO_SERVICE, 60), REASON_NONE);
    assert_int_equal(offer(g, ACME, ADMISSION_NO_SERVICE, 60), REASON_NONE);
    assert_int_equal(offer(g, ACME, ADMISSION_NO_SERVICE, 60), REASON_RATE);
    /* Without a packet or bit quota nothing is metered, whatever the attempts. */
    assert_int_equal(admission_charge(g->adm, ACME, UINT32_MAX, 0).reason, REASON_NONE);
    assert_int_equal(share_used(g, ACME), 0);
    for (uint32_t s = 0; s < SERVICES; s++) {
        assert_int_equal(capacity_used(g, s), 0);
        assert_int_equal(admission_service_counters(g->adm, s)->attempts, 0);
    }
}

static void refuse_and_repeat_only_count(void **state)
{
    struct gate *g = *state;
    const struct admission_tenant_counters *t = admission_tenant_counters(g->adm, ACME);
    const struct admission_service_counters *s = admission_service_counters(g->adm, WEB);

    g->tenants[ACME].attempts = core_rate(1, 86400, 4);
    adopt(g);
    admission_refuse(g->adm, &(struct attempt){.tenant = ACME, .service = WEB, .ip_bytes = 60},
                     REASON_TABLE, 0);
    admission_refuse(
        g->adm, &(struct attempt){.tenant = ACME, .service = ADMISSION_NO_SERVICE, .ip_bytes = 60},
        REASON_TABLE, 0);
    admission_repeat(g->adm, &(struct slot){.tenant = ACME, .service = WEB});
    assert_int_equal(tokens(g, ACME), 5);
    assert_int_equal(share_used(g, ACME), 0);
    assert_int_equal(t->attempts, 2);
    assert_int_equal(t->attempt_packets, 3);
    assert_int_equal(t->refused[REASON_TABLE], 2);
    assert_int_equal(s->attempts, 1);
    assert_int_equal(s->attempt_packets, 2);
    assert_int_equal(s->refused[REASON_TABLE], 1);

    assert_int_equal(admission_charge(g->adm, ACME, 60, 0).verdict, VERDICT_ADMIT);
    admission_count_out(g->adm, ACME, 1500);
    admission_count_out(g->adm, ACME, 1500);
    assert_int_equal(t->packets[DIRECTION_IN], 1);
    assert_int_equal(t->bytes[DIRECTION_IN], 60);
    assert_int_equal(t->packets[DIRECTION_OUT], 2);
    assert_int_equal(t->bytes[DIRECTION_OUT], 3000);
    assert_int_equal(t->attempts, 2);
}

static void answers_are_limited(void **state)
{
    struct gate *g = *state;
    unsigned told = 0;

    g->services[WEB].refuse_rate = core_rate(10, 1, 4);
    g->services[API].refusal = REFUSAL_DROP;
    adopt(g);
    for (unsigned i = 0; i < 20; i++)
        told += admission_may_answer(g->adm, WEB, 0);
    assert_int_equal(told, 5);
    assert_true(admission_may_answer(g->adm, WEB, CORE_S / 10));
    assert_false(admission_may_answer(g->adm, WEB, CORE_S / 10));
    assert_false(admission_may_answer(g->adm, API, 0));
    assert_int_equal(admission_service_counters(g->adm, WEB)->answered, 6);
    assert_int_equal(admission_service_counters(g->adm, WEB)->unanswered, 16);
    assert_int_equal(admission_service_counters(g->adm, API)->answered, 0);
    assert_int_equal(admission_service_counters(g->adm, API)->unanswered, 1);
}

/* -- windows -- */

static void case_B09_exactly_the_limit(void **state)
{
    static const uint32_t limits[] = {1, 2, 6};
    struct gate *g = *state;

    for (size_t i = 0; i < 3; i++) {
        g->tenants[ACME].window = limits[i];
        adopt(g);
        for (uint32_t n = 0; n < limits[i]; n++)
            assert_int_equal(offer(g, ACME, WEB, 60), REASON_NONE);
        assert_int_equal(offer(g, ACME, WEB, 60), REASON_SHARE);
        assert_int_equal(offer(g, ACME, API, 60), REASON_SHARE); /* the share is over all */
        assert_int_equal(offer(g, OTHER, WEB, 60), REASON_NONE); /* and its own */
        complete(g, OTHER, WEB);
        complete(g, ACME, WEB);
        assert_int_equal(offer(g, ACME, WEB, 60), REASON_NONE);
        assert_int_equal(offer(g, ACME, WEB, 60), REASON_SHARE);
        for (uint32_t n = 0; n < limits[i]; n++)
            complete(g, ACME, WEB);
        assert_int_equal(share_used(g, ACME), 0);
        assert_int_equal(capacity_used(g, WEB), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        gate_test(reasons_come_in_the_order_of_decisions),
        gate_test(case_E07_a_full_window_costs_no_token),
        gate_test(case_E07_two_buckets),
        gate_test(case_E07_packet_against_a_burst_of_1500_bytes),
        gate_test(attempt_pays_every_bucket),
        gate_test(case_E03_bits_above_32_bits),
        gate_test(no_service_takes_no_slot),
        gate_test(refuse_and_repeat_only_count),
        gate_test(answers_are_limited),
        gate_test(case_B09_exactly_the_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
