/* SPDX-License-Identifier: BSD-3-Clause */
/* What the verbs say of XDP programs, to the last number. */
#include "tests/unit/asking.h"
#include "tests/unit/fake_xdp.h"

static int start_xdp(void **state)
{
    int err = start(state);
    struct fake *fake = *state;

    fake->plane.xdp = fake_xdp();
    return err;
}

#define XDP_TEST(name) cmocka_unit_test_setup_teardown(name, start_xdp, stop)

static void status_shows_every_interface_and_why_one_is_off(void **state)
{
    assert_answer(
        *state, "xdp status",
        "{'version':1,'xdp':["
        "{'gate':'front','side':'outside','interface':'g0','device':'net_af_xdp0,iface=g0',"
        "'wanted':{'xdp':'required','mode':'native'},'state':'guard','mode':'native','program':41,"
        "'pins':'/sys/fs/bpf/sluice/v1','heartbeat_age_ms':1.25,'standby':'redirect',"
        "'standby_after':'200ms','after_exit':'standby','why':null},"
        "{'gate':'front','side':'inside','interface':'g1','device':'net_af_xdp1,iface=g1',"
        "'wanted':{'xdp':'required','mode':'native'},'state':'standby','mode':'generic',"
        "'program':42,'pins':'/sys/fs/bpf/sluice/v1','heartbeat_age_ms':null,"
        "'standby':'redirect','standby_after':'200ms','after_exit':'standby','why':null},"
        "{'gate':'back','side':'outside','interface':null,'device':'0000:03:00.0',"
        "'wanted':{'xdp':'off','mode':'auto'},'state':'off','mode':null,'program':null,"
        "'pins':null,'heartbeat_age_ms':null,'standby':'pass','standby_after':'50ms',"
        "'after_exit':'detach','why':'no interface in the kernel'}]}");
}

/* Every reason the kernel can have is named, whatever it counted. */
static void assert_dropped(json_t *item, uint64_t base)
{
    json_t *dropped = json_object_get(item, "dropped");

    assert_int_equal(json_object_size(dropped), REASON_MAX - 1 - 2);
    for (unsigned r = REASON_NONE + 1; r < REASON_MAX; r++) {
        const json_t *count = json_object_get(dropped, reason_name(r));

        if (r == REASON_TX || r == REASON_HANDOFF)
            assert_null(count);
        else
            assert_int_equal(json_integer_value(count), base + 10 + r);
    }
    json_object_del(item, "dropped");
}

static void counters_show_where_packets_went(void **state)
{
    json_t *answer = ask(*state, "xdp counters"), *list = json_object_get(answer, "counters");

    assert_int_equal(json_array_size(list), 2);
    assert_dropped(json_array_get(list, 0), 1000);
    assert_dropped(json_array_get(list, 1), 2000);
    assert_json(list, "[{'gate':'front','side':'outside','interface':'g0','received':1001,"
                      "'guarded':1002,'socket':1003,'passed':1004,'redirected':1005},"
                      "{'gate':'front','side':'inside','interface':'g1','received':2001,"
                      "'guarded':2002,'socket':2003,'passed':2004,'redirected':2005}]");
    json_decref(answer);
}

/* Invariant 1 begins where packets do. */
static void workers_show_what_came_before_them(void **state)
{
    json_t *answer = ask(*state, "workers"), *counters = ask(*state, "xdp counters");

    assert_true(json_equal(json_object_get(answer, "xdp"), json_object_get(counters, "counters")));
    json_decref(counters);
    json_decref(answer);
}

static void daemon_status_tells_the_modes(void **state)
{
    json_t *answer = ask(*state, "status");

    assert_json(json_object_get(answer, "xdp"),
                "[{'gate':'front','side':'outside','interface':'g0','state':'guard',"
                "'mode':'native'},"
                "{'gate':'front','side':'inside','interface':'g1','state':'standby',"
                "'mode':'generic'},"
                "{'gate':'back','side':'outside','interface':null,'state':'off','mode':null}]");
    json_decref(answer);
}

static void other_words_are_usage(void **state)
{
    assert_code(*state, "xdp", "usage", NULL);
    assert_code(*state, "xdp counters now", "usage", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        XDP_TEST(status_shows_every_interface_and_why_one_is_off),
        XDP_TEST(counters_show_where_packets_went),
        XDP_TEST(workers_show_what_came_before_them),
        XDP_TEST(daemon_status_tells_the_modes),
        XDP_TEST(other_words_are_usage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
