/* SPDX-License-Identifier: BSD-3-Clause */
/* What the verbs answer, to the last number; tenants, services, queues and `set` have tests of
 * their own. */
#include <errno.h>

#include "tests/unit/asking.h"

static void status_tells_what_runs(void **state)
{
    assert_answer(*state, "status",
                  "{'version':1,'release':'" SLUICE_VERSION "','uptime_s':90,"
                  "'policy':{'epoch':7,'workers':[6,7]},'memory':'none',"
                  "'clock':{'mode':'tsc','tsc_hz_reported':2000000000,"
                  "'tsc_hz_measured':2100000001,'error_ns':-42},"
                  "'gates':[{'name':'front','outside':['net_af_packet0,iface=g0'],"
                  "'inside':['net_af_packet1,iface=g1']}],"
                  "'xdp':[],'gateway':{'shed':{'bulk':0.98,'normal':0.1235,'critical':0.0}}}");
}

static void status_names_a_packet_clock(void **state)
{
    struct fake *fake = *state;
    json_t *answer;

    fake->settings.dataplane.eal.clock = CLOCK_PACKETS;
    answer = ask(fake, "status");
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(answer, "clock"), "mode")), "packets");
    json_decref(answer);
}

static void workers_show_the_terms_of_the_balance(void **state)
{
    struct fake *fake = *state;
    json_t *answer = ask(fake, "workers"), *worker;

    assert_int_equal(json_array_size(json_object_get(answer, "workers")), 2);
    worker = first_of(answer, "workers");
    json_object_del(worker, "passes"); /* the next test's */
    json_object_del(worker, "dropped");
    assert_json(worker,
                "{'lcore':1,'cpu':11,'numa_node':0,'received':1001,'handed_in':1002,'made':1011,"
                "'forwarded':13266,'answered':1003,'tx_failed':1004,'handed_out':1005,"
                "'handoff_failed':1006,'held':1008,'slots':1009,"
                "'flows':{'used':1010,'max':65536},'aged_slots':1007,'policy_epoch':6,"
                "'busy':0.1234,'cycles_per_packet':1834.3,'packets_per_s':250000.0}");
    json_decref(answer);
}

static void workers_show_steps_once_they_were_sampled(void **state)
{
    struct fake *fake = *state;
    json_t *answer = ask(fake, "workers"), *worker = first_of(answer, "workers");

    assert_null(json_object_get(worker, "sampled"));
    assert_null(json_object_get(worker, "steps"));
    json_decref(answer);

    assert_answer(fake, "workers --steps 1500us", "{'version':1,'sampling_ms':2}");
    assert_int_equal(fake->dataplane.sampled_ns, 1500000);
    answer = ask(fake, "workers");
    worker = first_of(answer, "workers");
    assert_json(json_object_get(worker, "sampled"),
                "{'bursts':16,'packets':500,'cycles':280028,'cycles_per_packet':560.1}");
    assert_json(json_object_get(worker, "steps"),
                "{'receive':{'cycles':10001,'cycles_per_packet':20.0},"
                "'parse':{'cycles':20002,'cycles_per_packet':40.0},"
                "'hand_over':{'cycles':30003,'cycles_per_packet':60.0},"
                "'find_flows':{'cycles':40004,'cycles_per_packet':80.0},"
                "'classify':{'cycles':50005,'cycles_per_packet':100.0},"
                "'judge':{'cycles':60006,'cycles_per_packet':120.0},"
                "'act':{'cycles':70007,'cycles_per_packet':140.0}}");
    worker = json_array_get(json_object_get(answer, "workers"), 1);
    assert_json(json_object_get(worker, "sampled"),
                "{'bursts':0,'packets':0,'cycles':0,'cycles_per_packet':0.0}");
    assert_json(json_object_get(json_object_get(worker, "steps"), "act"),
                "{'cycles':0,'cycles_per_packet':0.0}");
    json_decref(answer);
}

static void steps_are_sampled_for_a_millisecond_to_a_minute(void **state)
{
    static const char *const wrong[] = {"0s", "999us", "60001ms", "1h", "1", "-1s", "s", "2/s"};
    struct fake *fake = *state;

    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char line[64];

        snprintf(line, sizeof(line), "workers --steps %s", wrong[i]);
        assert_answer(fake, line,
                      "{'error':{'code':'range','message':'a duration as 500ms or 2s',"
                      "'key':'--steps','range':'1ms..60s'}}");
    }
    assert_int_equal(fake->dataplane.sampled_ns, 0);
    assert_answer(fake, "workers --steps 1ms", "{'version':1,'sampling_ms':1}");
    assert_answer(fake, "workers --steps 60s", "{'version':1,'sampling_ms':60000}");
    assert_int_equal(fake->dataplane.sampled_ns, 60000000000);
}

static uint64_t sum_of(const json_t *object)
{
    const char *key;
    json_t *value;
    uint64_t sum = 0;

    json_object_foreach ((json_t *)object, key, value)
        sum += (uint64_t)json_integer_value(value);
    return sum;
}

static void assert_count(const json_t *object, const char *name, uint64_t count)
{
    json_t *value = json_object_get(object, name);

    if (!json_is_integer(value) || json_integer_value(value) != (json_int_t)count)
        fail_msg("%s is not %ju", name, (uintmax_t)count);
}

/* Each name of the lists once, and nothing else. */
static void listings_hold_every_pass_and_reason(void **state)
{
    struct fake *fake = *state;
    json_t *answer = ask(fake, "workers"), *worker = first_of(answer, "workers");
    json_t *passes = json_object_get(worker, "passes");
    json_t *dropped = json_object_get(worker, "dropped");
    size_t n_dropped = 0;

#define PASS(symbol, name) assert_count(passes, name, 1100 + PASS_##symbol);
    DATAPLANE_PASSES(PASS)
#define DROP(symbol, name, kind, http)                                                             \
    if (REASON_##symbol != REASON_TX && REASON_##symbol != REASON_HANDOFF) {                       \
        assert_count(dropped, name, 1200 + REASON_##symbol);                                       \
        n_dropped++;                                                                               \
    }
    SLUICE_REASONS(DROP)
    assert_int_equal(json_object_size(passes), PASS_MAX);
    assert_int_equal(json_object_size(dropped), n_dropped);
    assert_int_equal(n_dropped, REASON_MAX - 1 - 2);
    assert_int_equal(sum_of(passes), json_integer_value(json_object_get(worker, "forwarded")));
    json_decref(answer);

    for (unsigned i = 0; i < 2; i++) {
        json_t *refused;
        size_t n_refused = 0;

        answer = ask(fake, i ? "services web" : "tenants acme");
        refused = json_object_get(first_of(answer, i ? "services" : "tenants"), "refused");
#define REFUSED(symbol, name, kind, http)                                                          \
    assert_count(refused, name, (i ? 1100 : 40100) + REASON_##symbol);                             \
    n_refused++;
        SLUICE_ATTEMPT_REASONS(REFUSED)
        assert_int_equal(json_object_size(refused), n_refused);
        json_decref(answer);
    }
}

static void zeros_are_shown(void **state)
{
    struct fake *fake = *state;
    json_t *answer, *refused;

    memset(&fake->dataplane.tenants[3], 0, sizeof(fake->dataplane.tenants[3]));
    answer = ask(fake, "tenants acme");
    refused = json_object_get(first_of(answer, "tenants"), "refused");
    assert_int_equal(json_object_size(refused), REASON_ATTEMPT_MAX - 1);
    assert_int_equal(sum_of(refused), 0);
    json_decref(answer);
}

static void ports_show_links_counters_and_queues(void **state)
{
    assert_answer(*state, "ports",
                  "{'version':1,'ports':["
                  "{'device':'net_af_packet0,iface=g0','gate':'front','side':'outside',"
                  "'driver':'net_af_packet','link':'up','rx_packets':10,'tx_packets':20,"
                  "'rx_bytes':30,'tx_bytes':40,'rx_no_mbuf':50,"
                  "'queues':[{'queue':0,'depth':60,'depth_source':'driver','missed':70}]},"
                  "{'device':'net_af_packet1,iface=g1','gate':'front','side':'inside',"
                  "'driver':'net_af_packet','link':'down','rx_packets':11,'tx_packets':21,"
                  "'rx_bytes':31,'tx_bytes':41,'rx_no_mbuf':51,"
                  "'queues':[{'queue':0,'depth':61,'depth_source':'burst','missed':71}]}]}");
}

static void a_port_that_cannot_be_read_is_an_error(void **state)
{
    struct fake *fake = *state;

    fake->dataplane.port_error = -ENODEV;
    assert_answer(fake, "ports",
                  "{'error':{'code':'internal',"
                  "'message':'port 1 cannot be read: No such device'}}");
}

static void what_cannot_be_answered_has_a_code(void **state)
{
    struct fake *fake = *state;

    assert_code(fake, "", "usage", NULL);
    assert_code(fake, " \t ", "usage", NULL);
    assert_code(fake, "reload", "usage", "reload");
    assert_code(fake, "statusx", "usage", "statusx");
    assert_code(fake, "status now", "usage", NULL);
    assert_code(fake, "tenants a b", "usage", NULL);
    assert_code(fake, "queues web", "usage", NULL);
    assert_code(fake, "workers --steps", "usage", NULL);
    assert_code(fake, "workers steps 1s", "usage", NULL);
    assert_code(fake, "workers --steps 1s 1s", "usage", NULL);
    assert_code(fake, "set tenant acme", "usage", NULL);
    assert_code(fake, "set gate front window=5", "usage", "gate");
    assert_code(fake, "set service acme window=5", "unknown", "acme");
    assert_code(fake, "set service web window=-1", "range", "services.web.window");
    assert_code(fake, "set service web wait.places=1025", "range", "services.web.wait.places");
    assert_code(fake, "set service web admit=10% over", "range", "services.web.admit");
    assert_code(fake, "set service web admit=10% over 1day", "range", "services.web.admit");
    assert_code(fake, "set service web window=5 connections=9 window=5", "usage",
                "services.web.window");
    assert_code(fake, "set tenant acme window=5 window=6", "usage", "tenants.acme.window");
    assert_code(fake, "set tenant nobody window=5", "unknown", "nobody");
    assert_code(fake, "set tenant acme window", "usage", "tenants.acme.window");
    assert_code(fake, "set tenant acme prefixes=10.0.0.0/8", "range", "tenants.acme.prefixes");
    assert_code(fake, "tenants nobody", "unknown", "nobody");
    assert_code(fake, "services acme", "unknown", "acme");
    assert_int_equal(fake->published, 0);
}

static void garbage_is_refused_without_an_echo(void **state)
{
    struct fake *fake = *state;
    char many[400] = "set";

    assert_code(fake, "\x01\x02\x1b[2J", "usage", NULL);
    assert_code(fake, "tenants \xff\xfe\xc0", "usage", NULL);
    for (unsigned i = 0; i < VERBS_WORDS_MAX; i++)
        strcat(many, " x=1");
    assert_code(fake, many, "usage", NULL);
    assert_int_equal(fake->published, 0);
}

static void words_may_be_parted_by_any_blanks(void **state)
{
    struct fake *fake = *state;
    json_t *answer = ask(fake, "\t tenants  \tacme \r");

    assert_int_equal(json_array_size(json_object_get(answer, "tenants")), 1);
    json_decref(answer);
}

static void help_lists_the_verbs(void **state)
{
    static const char *const names[] = {
        "status",     "tenants",      "services", "workers",  "ports",     "queues", "set",
        "xdp status", "xdp counters", "deny add", "deny del", "deny list", "help"};
    const unsigned n = sizeof(names) / sizeof(names[0]);
    struct fake *fake = *state;
    json_t *answer = ask(fake, "help"), *list = json_object_get(answer, "verbs");

    assert_int_equal(json_array_size(list), n);
    for (unsigned i = 0; i < n; i++)
        assert_string_equal(json_string_value(json_object_get(json_array_get(list, i), "name")),
                            names[i]);
    json_decref(answer);
}

static void an_answer_is_one_compact_line(void **state)
{
    struct fake *fake = *state;
    char *line = text_of(fake, "services nobody"), *end;

    assert_string_equal(line, "{\"error\":{\"code\":\"unknown\",\"message\":\"there is no such "
                              "service\",\"key\":\"nobody\"}}\n");
    free(line);
    line = text_of(fake, "workers");
    end = strchr(line, '\n');
    assert_ptr_equal(end, line + strlen(line) - 1);
    assert_non_null(strstr(line, "\"busy\":0.1234,\"cycles_per_packet\":1834.3,"
                                 "\"packets_per_s\":250000.0}"));
    free(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VERB_TEST(status_tells_what_runs),
        VERB_TEST(status_names_a_packet_clock),
        VERB_TEST(workers_show_the_terms_of_the_balance),
        VERB_TEST(workers_show_steps_once_they_were_sampled),
        VERB_TEST(steps_are_sampled_for_a_millisecond_to_a_minute),
        VERB_TEST(listings_hold_every_pass_and_reason),
        VERB_TEST(zeros_are_shown),
        VERB_TEST(ports_show_links_counters_and_queues),
        VERB_TEST(a_port_that_cannot_be_read_is_an_error),
        VERB_TEST(what_cannot_be_answered_has_a_code),
        VERB_TEST(garbage_is_refused_without_an_echo),
        VERB_TEST(words_may_be_parted_by_any_blanks),
        VERB_TEST(help_lists_the_verbs),
        VERB_TEST(an_answer_is_one_compact_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
