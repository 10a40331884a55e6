/* SPDX-License-Identifier: BSD-3-Clause */
/* What `set` does, and what it leaves alone. */
#include <errno.h>

#include "tests/unit/asking.h"

static void set_tells_old_and_new(void **state)
{
    struct fake *fake = *state;
    const struct policy_tenant *acme = &fake->settings.policy.tenants[1];

    assert_answer(
        fake, "set tenant acme quota.attempts=200/s window=50",
        "{'version':1,'tenant':'acme','epoch':8,"
        "'old':{'class':'normal','quota':{'attempts':{'rate':'20/s','burst':10},"
        "'packets':{'rate':'3000/min','burst':1000},"
        "'bits':{'rate':'200Mbit/s','burst':262144},'erlangs':{'rate':2.5}},'window':5},"
        "'new':{'class':'normal','quota':{'attempts':{'rate':'200/s','burst':10},"
        "'packets':{'rate':'3000/min','burst':1000},"
        "'bits':{'rate':'200Mbit/s','burst':262144},'erlangs':{'rate':2.5}},'window':50}}");
    assert_int_equal(fake->published, 1);
    assert_int_equal(acme->attempts.amount, 200);
    assert_int_equal(acme->window, 50);
}

static void set_is_all_or_nothing(void **state)
{
    struct fake *fake = *state;
    struct policy_tenant before = fake->settings.policy.tenants[1];
    json_t *answer = ask(fake, "set tenant acme quota.attempts=200/s window=-1");
    json_t *error = json_object_get(answer, "error");

    assert_string_equal(json_string_value(json_object_get(error, "code")), "range");
    assert_string_equal(json_string_value(json_object_get(error, "key")), "tenants.acme.window");
    assert_non_null(strstr(json_string_value(json_object_get(error, "range")), "16777216"));
    assert_int_equal(fake->published, 0);
    assert_memory_equal(&before, &fake->settings.policy.tenants[1], sizeof(before));
    json_decref(answer);
}

static void set_service_tells_old_and_new(void **state)
{
    struct fake *fake = *state;

    assert_answer(fake,
                  "set service web window=5 wait.places=1024 admit=10% over 60s "
                  "wait.age=1500us breaker=open shed.ceiling=0.9 deadline=2s capacity=180/s",
                  "{'version':1,'service':'web','epoch':8,"
                  "'old':{'window':62,'connections':496,'capacity':'170/s',"
                  "'deadline':'1s','wait':{'places':16,'age':'100ms'},'shed':{'ceiling':0.98},"
                  "'breaker':'auto','admit':'100%'},"
                  "'new':{'window':5,'connections':40,'capacity':'180/s',"
                  "'deadline':'2s','wait':{'places':1024,'age':'1500us'},'shed':{'ceiling':0.9},"
                  "'breaker':'open','admit':'10% over 60s'}}");
    assert_int_equal(fake->published, 1);
    assert_int_equal(fake->settings.policy.services[0].admit_ppm, 100000);
    assert_int_equal(fake->settings.policy.services[1].window, POLICY_WINDOW_MAX);
}

static void words_behind_a_ramp_are_not_lost(void **state)
{
    struct fake *fake = *state;
    json_t *answer = ask(fake, "set service web admit=12.5%/1h window=9");

    assert_string_equal(json_string_value(json_object_get(json_object_get(answer, "new"), "admit")),
                        "12.5% over 3600s");
    json_decref(answer);
    json_decref(ask(fake, "set service web admit=1% over 2s window=10"));
    assert_int_equal(fake->settings.policy.services[0].admit_ppm, 10000);
    assert_int_equal(fake->settings.policy.services[0].window, 10);
}

static void a_publication_that_fails_changes_nothing(void **state)
{
    struct fake *fake = *state;
    struct policy_tenant before = fake->settings.policy.tenants[1];
    struct policy_service web = fake->settings.policy.services[0];

    fake->publish_error = -EBUSY;
    assert_code(fake, "set tenant acme window=6", "busy", NULL);
    fake->publish_error = -ENOMEM;
    assert_code(fake, "set tenant acme window=6", "internal", NULL);
    assert_code(fake, "set service web window=6", "internal", NULL);
    assert_memory_equal(&web, &fake->settings.policy.services[0], sizeof(web));
    assert_memory_equal(&before, &fake->settings.policy.tenants[1], sizeof(before));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VERB_TEST(set_tells_old_and_new),
        VERB_TEST(set_is_all_or_nothing),
        VERB_TEST(set_service_tells_old_and_new),
        VERB_TEST(words_behind_a_ramp_are_not_lost),
        VERB_TEST(a_publication_that_fails_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
