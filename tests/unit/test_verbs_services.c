/* SPDX-License-Identifier: BSD-3-Clause */
/* How services are shown, to the last number. */
#include "tests/unit/asking.h"

static void a_service_shows_what_it_is_its_room_and_its_record(void **state)
{
    assert_answer(
        *state, "services web",
        "{'version':1,'services':[{'name':'web','addresses':['10.9.0.10','2001:db8::10'],"
        "'protocol':'tcp','ports':['80','8000-8099'],'tenant':'acme','unit':'connection',"
        "'refuse':'rst','refuse_rate':'100000/s',"
        "'window':{'limit':62,'used':61,'peak':65,'debt':0},"
        "'connections':{'limit':496,'used':63,'opening':4},"
        "'capacity':{'configured':'170/s','in_use':168.4},'deadline_ms':1000.0,"
        "'wait':{'places':16,'used':12,'age_ms':100.0,'oldest_ms':87.654,'order':'adaptive'},"
        "'reserve':{'normal':{'slots':0,'places':3},'critical':{'slots':4,'places':2}},"
        "'shares':[{'tenant':'acme','guaranteed':2,'ceiling':5,'weight':3,'used':4}],"
        "'shed':{'ceiling':0.98,'reserve':'20/s',"
        "'p':{'bulk':0.4013,'normal':0.1,'critical':0.0},"
        "'rate_per_s':{'bulk':100.3,'normal':40.0,'critical':20.0},'admit':0.25},"
        "'breaker':{'state':'half-open','mode':'auto','failures':3,'until_ms':1.5},"
        "'probes':{'attempts':'10/s','admitted':1011},"
        "'offered':1007,'attempts':1001,'attempt_packets':1002,'connected':1010,"
        "'admitted':1003,'adopted':1004,'health':1011,'waited':1008,'cancelled':1009,"
        "'useful':1014,'late':1015,'unfinished':1016,'failed':1012,'reclaimed':1013,"
        "'refused':{'rate':1101,'packets':1102,'bits':1103,'share':1104,'erlangs':1105,"
        "'retries':1106,'capacity':1107,'connections':1108,'shed':1109,'deadline':1110,"
        "'breaker':1111,'gateway':1112,'table':1113,'denied':1114},"
        "'outcomes':{'finished':1200,'reset':1201,'aborted':1202,'aged':1203},"
        "'answered':1005,'unanswered':1006,"
        "'latency':{'connect':{'count':10,'p50_ms':1.001,'p95_ms':2.002,'p99_ms':3.003},"
        "'reply':{'count':11,'p50_ms':1.001,'p95_ms':2.002,'p99_ms':6.006},"
        "'effective':{'count':12,'p50_ms':1.001,'p95_ms':2.002,'p99_ms':9.009}},"
        "'ledger':{'useful':{'pieces':1014,'slot_seconds':1.0},"
        "'late':{'pieces':1015,'slot_seconds':1.002},"
        "'unfinished':{'pieces':1016,'slot_seconds':1.004}},"
        "'promise':{'interval_ms':5.882,'service_ms':41.0},"
        "'demand':{'unmet_per_s':12.3,'backlog':300.0,'hidden':2.6,'slots_needed':13,"
        "'retry_after_s':8},"
        "'slo':{'objective':99.9,'latency_ms':300.0,"
        "'burn':{'5m':20.5,'30m':19.5,'1h':18.5,'6h':17.5,'3d':16.5},'alert':'blazing'}}]}");
}

/* What is off, unknown or without a limit is told apart from a zero. */
static void what_a_service_lacks_is_null(void **state)
{
    static const struct {
        const char *member, *expected;
    } rows[] = {
        {"tenant", "'default'"},
        {"protocol", "'udp'"},
        {"refuse", "'drop'"},
        {"attempts", "501"},
        {"window", "{'limit':'unlimited','used':60,'peak':64,'debt':0}"},
        {"connections", "{'limit':'unlimited','used':0,'opening':0}"},
        {"capacity", "{'configured':null,'in_use':null}"},
        {"deadline_ms", "null"},
        {"wait", "{'places':0,'used':0,'age_ms':100.0,'oldest_ms':null,'order':'fifo'}"},
        {"reserve", "{'normal':{'slots':0,'places':0},'critical':{'slots':0,'places':0}}"},
        {"shares", "[]"},
        {"shed", "{'ceiling':0.0,'reserve':'0','p':{'bulk':0.0,'normal':0.0,'critical':0.0},"
                 "'rate_per_s':{'bulk':0.0,'normal':0.0,'critical':0.0},'admit':1.0}"},
        {"breaker", "null"},
        {"probes", "null"},
        {"latency", "{'connect':{'count':0,'p50_ms':null,'p95_ms':null,'p99_ms':null},"
                    "'reply':{'count':0,'p50_ms':null,'p95_ms':null,'p99_ms':null},"
                    "'effective':{'count':0,'p50_ms':null,'p95_ms':null,'p99_ms':null}}"},
        {"promise", "{'interval_ms':null,'service_ms':null}"},
        {"demand", "{'unmet_per_s':0.0,'backlog':0.0,'hidden':0.0,'slots_needed':null,"
                   "'retry_after_s':1}"},
        {"slo", "null"},
    };
    struct fake *fake = *state;
    json_t *answer = ask(fake, "services"), *dns;

    dns = json_array_get(json_object_get(answer, "services"), 1);
    assert_string_equal(json_string_value(json_object_get(dns, "name")), "dns");
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_json(json_object_get(dns, rows[i].member), rows[i].expected);
    json_decref(answer);
}

static void assert_breaker(struct fake *fake, const char *expected)
{
    json_t *answer = ask(fake, "services web");

    assert_json(json_object_get(first_of(answer, "services"), "breaker"), expected);
    json_decref(answer);
}

/* Without failures that open it there is a breaker only while an operator holds it. */
static void a_breaker_is_shown_where_one_can_act(void **state)
{
    struct fake *fake = *state;
    struct policy_breaker *breaker = &fake->settings.policy.services[0].breaker;
    struct breaker_view *view = &fake->dataplane.services[1].breaker;

    *view = (struct breaker_view){.state = BREAKER_OPEN};
    breaker->mode = POLICY_BREAKER_OPEN;
    assert_breaker(fake, "{'state':'open','mode':'open','failures':3,'until_ms':null}");
    breaker->failures = 0;
    assert_breaker(fake, "{'state':'open','mode':'open','failures':null,'until_ms':null}");
    breaker->mode = POLICY_BREAKER_AUTO;
    assert_breaker(fake, "null");

    /* Its time has come, but nobody has tried yet. */
    breaker->failures = 2;
    view->until_ns = FAKE_NOW_NS - 1;
    assert_breaker(fake, "{'state':'open','mode':'auto','failures':2,'until_ms':null}");
}

/* A latency alone states no share that shall be useful, so there is no budget to burn. */
static void a_latency_alone_is_no_objective(void **state)
{
    struct fake *fake = *state;
    json_t *answer;

    fake->settings.policy.services[0].slo.objective_ppm = 0;
    answer = ask(fake, "services web");
    assert_json(json_object_get(first_of(answer, "services"), "slo"),
                "{'objective':null,'latency_ms':300.0,'burn':null,'alert':null}");
    json_decref(answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VERB_TEST(a_service_shows_what_it_is_its_room_and_its_record),
        VERB_TEST(what_a_service_lacks_is_null),
        VERB_TEST(a_breaker_is_shown_where_one_can_act),
        VERB_TEST(a_latency_alone_is_no_objective),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
