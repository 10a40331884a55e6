/* SPDX-License-Identifier: BSD-3-Clause */
/* Other values in the place of those that stand in a scenario. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "control/config/config.h"
#include "tests/scenario/real.h"
#include "tests/scenario/scenario_text.h"

#define SETS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char text[] = "duration = \"10s\"; seed = 1; end = \"play\";\n"
                           "arrivals = ({ name = \"a.b\"; rate = \"1\" \"30/s\"; \n"
                           "}, { name = \"c\"; rate = \"5/s\"; });\n" REQUESTS
                           "stages = ({ name = \"web\"; servers = 4; places = \"unbounded\"; },\n"
                           "{ name = \"db\"; servers = 1; });\n"
                           "gate = " GATE_OF("\nwindow = 64;\n") ";\nclients = { tries = 1; };\n";

static struct scenario *with(const char *const *sets)
{
    return scenario_text_accepted(text, sets, "");
}

static void values_by_name_and_place(void **state)
{
    struct scenario *s = with(SETS("arrivals.1.rate=340/s", "stages.db.servers=8", "seed=7",
                                   "stages.0.servers=2", "gate.services.web.window=5",
                                   "requests.0.steps.0.time={ exponential = \"1s\"; }"));

    (void)state;
    assert_same(s->arrivals[0].rate_per_s, 130.);
    assert_same(s->arrivals[1].rate_per_s, 340.);
    assert_int_equal(s->stages[0].servers, 2);
    assert_int_equal(s->stages[1].servers, 8);
    assert_int_equal(s->seed, 7);
    assert_int_equal(s->gate->policy.services[0].window, 5);
    assert_int_equal(s->kinds[0].steps[0].time.kind, DRAW_EXPONENTIAL);
    scenario_free(s);
}

/* A string of two parts goes as one; a name may hold a point; text may become a number. */
static void all_of_a_value_is_replaced(void **state)
{
    struct scenario *s = with(SETS("arrivals.a.b.rate=2/s", "stages.web.places=17", "end=cut"));

    (void)state;
    assert_same(s->arrivals[0].rate_per_s, 2.);
    assert_int_equal(s->stages[0].places, 17);
    assert_true(s->cut);
    scenario_free(s);
}

/* A group of several lines becomes a word; mistakes behind it keep their line. */
static void lines_keep_their_numbers(void **state)
{
    struct scenario *s = with(SETS("gate=none"));

    (void)state;
    assert_null(s->gate);
    scenario_free(s);
    scenario_text_refused(SCENARIO("gate = {\n\n\n};\nworkers = 1;"),
                          SETS("gate=none", "workers=0"),
                          "s.conf:6: workers: 0 is out of range (1..64)\n");
}

static void quotes_and_backslashes_stay_text(void **state)
{
    struct scenario *s =
        scenario_text_accepted(SCENARIO("about = \"\";"), SETS("about=a \"b\" \\n; c"), "");

    (void)state;
    assert_string_equal(s->about, "a \"b\" \\n; c");
    scenario_free(s);
}

static void mistakes_in_what_is_set(void **state)
{
    (void)state;
    scenario_text_refused(SCENARIO(""), SETS("stages.web.server=1"),
                          "s.conf:1: stages[0]: there is no \"server\" to be set by "
                          "stages.web.server, only what the file has can be set (name, servers)\n");
    scenario_text_refused(SCENARIO(""), SETS("stages.db.servers=1", "seed", "=1"),
                          "s.conf:1: stages: there is no \"db.servers\" to be set by "
                          "stages.db.servers, only what the file has can be set (web)\n"
                          "s.conf:1: \"seed\" is no setting (KEY=VALUE)\n"
                          "s.conf:1: \"=1\" is no setting (KEY=VALUE)\n");
    scenario_text_refused(SCENARIO("seed = 1;"), SETS("seed.x=1"),
                          "s.conf:2: seed: there is no \"x\" to be set by seed.x, only what the "
                          "file has can be set (it has no parts)\n");
    scenario_text_refused(SCENARIO("seed = 1;"), SETS("seed=1\n2"),
                          "s.conf:2: seed: what is set is no line of text (0..4096 bytes, no "
                          "control characters)\n");
    scenario_text_refused(SCENARIO("seed = 1;"), SETS("seed=ten"),
                          "s.conf:2: seed: \"ten\" is a string, no integer "
                          "(0..9007199254740992)\n");
    /* Where there is no gate nothing can be set within it. */
    scenario_text_refused(
        SCENARIO("gate = \"none\";"), SETS("gate.services.0.window=1"),
        "s.conf:2: gate: there is no \"services.0.window\" to be set by "
        "gate.services.0.window, only what the file has can be set (it has no parts)\n");
    /* The text's own mistakes come first. */
    scenario_text_refused("duration = ", SETS("duration=1s"),
                          "s.conf:1: duration: syntax error: a value expected, not end of file\n");
}

static void values_are_told_as_they_stand(void **state)
{
    struct scenario *s = with(SETS("arrivals.1.rate=7.50/s"));
    char value[8];

    (void)state;
    assert_true(scenario_value(s, "arrivals.c.rate", value, sizeof(value)));
    assert_string_equal(value, "7.50/s");
    assert_true(scenario_value(s, "stages.web.servers", value, sizeof(value)));
    assert_string_equal(value, "4");
    assert_true(scenario_value(s, "gate.services.web.window", value, sizeof(value)));
    assert_string_equal(value, "64");
    assert_false(scenario_value(s, "gate", value, sizeof(value)));
    assert_false(scenario_value(s, "nothing", value, sizeof(value)));
    assert_false(scenario_value(s, "stages.web.places", value, sizeof(value))); /* no room */
    scenario_free(s);
}

static void assert_keys(const struct scenario *s, const char *key, const char *other,
                        enum scenario_keys expected)
{
    assert_int_equal(scenario_compare_keys(s, key, other), expected);
    assert_int_equal(scenario_compare_keys(s, other, key), expected);
}

static void keys_are_compared_by_what_they_lead_to(void **state)
{
    struct scenario *s = with(NULL);

    (void)state;
    assert_keys(s, "arrivals.a.b.rate", "arrivals.0.rate=5/s", KEYS_SAME);
    assert_keys(s, "stages.web=1", "stages.0", KEYS_SAME);
    assert_keys(s, "arrivals.c.rate", "arrivals.0.rate", KEYS_APART);
    assert_keys(s, "arrivals.0.rate", "arrivals.0.name", KEYS_APART);
    assert_keys(s, "seed", "gate", KEYS_APART);
    assert_keys(s, "gate=none", "gate.services.web.window=5", KEYS_NESTED);
    assert_keys(s, "gate.services.0", "gate.services.web.window", KEYS_NESTED);
    /* What is not there may have been before it was set. */
    assert_keys(s, "seed.a", "seed", KEYS_NESTED);
    assert_keys(s, "seed.a=1", "seed.a=2", KEYS_SAME);
    assert_keys(s, "seed.a", "seed.b", KEYS_APART);
    assert_keys(s, "seed.a", "end.a", KEYS_APART);
    scenario_free(s);
}

static void keys_within_the_file_of_a_gate(void **state)
{
    struct scenario *s;

    (void)state;
    scenario_text_file("gate.conf",
                       "gates = ({ name = \"g\"; outside = [\"a\"]; inside = [\"b\"]; });\n"
                       "tenants = ({ name = \"default\"; }); services = ({ name = \"web\";\n"
                       "addresses = [\"10.9.0.10\"]; protocol = \"tcp\"; ports = [\"80\"];\n"
                       "window = 64; });\n");
    s = scenario_text_accepted(SCENARIO("gate = \"gate.conf\";"), NULL, "");
    assert_keys(s, "gate.services.web.window", "gate.services.0.window", KEYS_SAME);
    assert_keys(s, "gate.services.web.window", "gate.services.0.ports", KEYS_APART);
    assert_keys(s, "gate.services.web.window", "gate.services", KEYS_NESTED);
    assert_keys(s, "gate.services.web.window", "gate", KEYS_NESTED);
    assert_keys(s, "gate.services.web.window", "stages", KEYS_APART);
    scenario_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_by_name_and_place),
        cmocka_unit_test(all_of_a_value_is_replaced),
        cmocka_unit_test(lines_keep_their_numbers),
        cmocka_unit_test(quotes_and_backslashes_stay_text),
        cmocka_unit_test(mistakes_in_what_is_set),
        cmocka_unit_test(values_are_told_as_they_stand),
        cmocka_unit_test(keys_are_compared_by_what_they_lead_to),
        cmocka_unit_test(keys_within_the_file_of_a_gate),
    };

    return cmocka_run_group_tests(tests, scenario_text_setup, scenario_text_teardown);
}
