/* SPDX-License-Identifier: BSD-3-Clause */
/* Every place where packets or work can wait, with its bound. */
#include "tests/unit/asking.h"

static void queues_show_every_place_with_bound_and_fill(void **state)
{
    assert_answer(
        *state, "queues",
        "{'version':1,'queues':["
        "{'place':'receive','of':'net_af_packet0,iface=g0 queue 0','bound':1024,'fill':60,"
        "'oldest_ms':null,'depth_source':'driver'},"
        "{'place':'receive','of':'net_af_packet1,iface=g1 queue 0','bound':null,'fill':61,"
        "'oldest_ms':null,'depth_source':'burst'},"
        "{'place':'held','of':'worker 0','bound':1012,'fill':1008,'oldest_ms':null},"
        "{'place':'judge','of':'worker 0','bound':2047,'fill':1013,'oldest_ms':null},"
        "{'place':'send','of':'worker 0','bound':2047,'fill':1014,'oldest_ms':null},"
        "{'place':'held','of':'worker 1','bound':2012,'fill':2008,'oldest_ms':null},"
        "{'place':'judge','of':'worker 1','bound':2047,'fill':2013,'oldest_ms':null},"
        "{'place':'send','of':'worker 1','bound':2047,'fill':2014,'oldest_ms':null},"
        "{'place':'wait','of':'web','bound':16,'fill':12,'oldest_ms':87.654},"
        "{'place':'wait','of':'dns','bound':0,'fill':0,'oldest_ms':null},"
        "{'place':'policies','of':'sluiced','bound':8,'fill':2,'oldest_ms':null},"
        "{'place':'clients','of':'sluiced','bound':16,'fill':1,'oldest_ms':null}]}");
}

static void a_lone_worker_hands_nothing_over(void **state)
{
    static const char *const places[] = {"receive", "receive",  "held",   "wait",
                                         "wait",    "policies", "clients"};
    struct fake *fake = *state;
    json_t *answer, *list;

    fake->dataplane.n_workers = 1;
    answer = ask(fake, "queues");
    list = json_object_get(answer, "queues");
    assert_int_equal(json_array_size(list), 7);
    for (unsigned i = 0; i < 7; i++)
        assert_string_equal(json_string_value(json_object_get(json_array_get(list, i), "place")),
                            places[i]);
    json_decref(answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VERB_TEST(queues_show_every_place_with_bound_and_fill),
        VERB_TEST(a_lone_worker_hands_nothing_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
