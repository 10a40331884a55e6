/* SPDX-License-Identifier: BSD-3-Clause */
/* What is read of a scenario. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "control/config/config.h"
#include "tests/scenario/real.h"
#include "tests/scenario/scenario_text.h"

static void defaults(void **state)
{
    struct scenario *s = scenario_text_accepted(SCENARIO(""), NULL, "");

    (void)state;
    assert_int_equal(s->seed, 1);
    assert_same(s->duration_s, 10.);
    assert_same(s->interval_s, 1.);
    assert_false(s->cut);
    assert_null(s->gate);
    assert_int_equal(s->workers, 1);
    assert_int_equal(s->n_arrivals, 1);
    assert_string_equal(s->arrivals[0].tenant, "default");
    assert_string_equal(s->arrivals[0].service, "");
    assert_int_equal(s->arrivals[0].shape, ARRIVE_STEADY);
    assert_true(s->arrivals[0].poisson);
    assert_same(s->arrivals[0].stop_s, 10.);
    assert_int_equal(s->arrivals[0].population, 1000000);
    assert_int_equal(s->arrivals[0].n_kinds, 1);
    assert_int_equal(s->n_kinds, 1);
    assert_same(s->kinds[0].weight, 1.);
    assert_same(s->kinds[0].deadline_s, 0.);
    assert_int_equal(s->kinds[0].expired, EXPIRED_SERVED);
    assert_int_equal(s->kinds[0].reply_after, 1);
    assert_int_equal(s->kinds[0].steps[0].tries, 1);
    assert_true(s->kinds[0].steps[0].budget < 0.);
    assert_int_equal(s->n_stages, 1);
    assert_int_equal(s->stages[0].instances, 1);
    assert_int_equal(s->stages[0].servers, 4);
    assert_int_equal(s->stages[0].places, SCENARIO_NONE);
    assert_int_equal(s->clients.tries, 1);
    assert_same(s->scaler.every_s, 0.);
    assert_null(s->sweep_key);
    scenario_free(s);
}

static void arrivals_of_every_shape(void **state)
{
    struct scenario *s = scenario_text_accepted(
        "duration = \"100s\";" REQUESTS STAGES "arrivals = (\n"
        "{ name = \"a\"; rate = \"130/s\"; spacing = \"even\"; blocks = true; count = 7;\n"
        "  step = { rate = \"200/s\"; from = \"10s\"; for = \"30s\"; }; },\n"
        "{ rate = \"2.78/min\"; decay = { factor = 9; width = \"1h\"; every = \"12h\"; }; },\n"
        "{ rate = \"1/h\"; on_off = { on = \"1s\"; off = \"2s\"; factor = 1.5; rest = 0.5; }; },\n"
        "{ closed = { clients = 4; think = { exponential = \"10ms\"; }; }; start = \"5s\"; },\n"
        "{ times = [\"0s\", \"200ms\"]; start = \"5s\"; stop = \"50s\"; population = 3; });",
        NULL, "");
    const struct scenario_arrivals *a = s->arrivals;

    (void)state;
    assert_int_equal(s->n_arrivals, 5);
    assert_string_equal(a[0].name, "a");
    assert_int_equal(a[0].shape, ARRIVE_STEP);
    assert_false(a[0].poisson);
    assert_true(a[0].blocks);
    assert_int_equal(a[0].count, 7);
    assert_same(a[0].rate_per_s * a[0].factor, 200.);
    assert_same(a[0].from_s, 10.);
    assert_same(a[0].for_s, 30.);
    assert_int_equal(a[1].shape, ARRIVE_DECAY);
    assert_same(a[1].rate_per_s, 2.78 / 60.);
    assert_same(a[1].factor, 9.);
    assert_same(a[1].decay, 5.);
    assert_same(a[1].width_s, 3600.);
    assert_same(a[1].every_s, 43200.);
    assert_int_equal(a[2].shape, ARRIVE_ON_OFF);
    assert_same(a[2].on_s, 1.);
    assert_same(a[2].off_s, 2.);
    assert_same(a[2].factor, 1.5);
    assert_same(a[2].rest, .5);
    assert_int_equal(a[3].shape, ARRIVE_CLOSED);
    assert_int_equal(a[3].clients, 4);
    assert_int_equal(a[3].think.kind, DRAW_EXPONENTIAL);
    assert_same(a[3].think.rate_per_s, 1. / .01);
    assert_same(a[3].start_s, 5.);
    assert_int_equal(a[4].shape, ARRIVE_TRACE);
    assert_int_equal(a[4].n_trace, 2);
    assert_same(a[4].trace_s[0], 5.);
    assert_same(a[4].trace_s[1], 5.2);
    assert_same(a[4].stop_s, 50.);
    assert_int_equal(a[4].population, 3);
    scenario_free(s);
}

static void a_trace_from_a_file(void **state)
{
    struct scenario *s;

    (void)state;
    scenario_text_file("trace.txt", "# seconds, and how many\n0.5 2\n\n  1\n1.25\t1\n");
    s = scenario_text_accepted(WITH_ARRIVALS("trace = \"trace.txt\"; start = \"2s\";"), NULL, "");
    assert_int_equal(s->arrivals[0].shape, ARRIVE_TRACE);
    assert_int_equal(s->arrivals[0].n_trace, 4);
    assert_same(s->arrivals[0].trace_s[1], 2.5);
    assert_same(s->arrivals[0].trace_s[3], 3.25);
    scenario_free(s);
}

static struct draw time_of(const char *text)
{
    struct scenario *s = scenario_text_accepted(text, NULL, "");
    struct draw draw = s->kinds[0].steps[0].time;

    scenario_free(s);
    return draw;
}

static void times_and_distributions(void **state)
{
    struct draw draw = time_of(WITH_TIME("\"42.5/s\""));

    (void)state;
    assert_int_equal(draw.kind, DRAW_FIXED);
    assert_same(draw.mean_s, 1. / 42.5);
    draw = time_of(WITH_TIME("{ exponential = \"90s\"; }"));
    assert_int_equal(draw.kind, DRAW_EXPONENTIAL);
    assert_same(draw.rate_per_s, 1. / 90.);
    draw = time_of(WITH_TIME("{ exponential = \"42.5/s\"; }"));
    assert_same(draw.rate_per_s, 42.5);
    draw = time_of(WITH_TIME("{ lognormal = \"20ms\"; cv = 1.5; }"));
    assert_int_equal(draw.kind, DRAW_LOGNORMAL);
    assert_same(draw.mean_s, .02);
    assert_same(draw.cv, 1.5);
    draw = time_of(WITH_TIME("{ pareto = \"20ms\"; shape = 3; }"));
    assert_int_equal(draw.kind, DRAW_PARETO);
    assert_same(draw.shape, 3.);
    draw = time_of(WITH_TIME("{ fixed = \"20ms\"; other = \"200ms\"; share = 0.04; }"));
    assert_int_equal(draw.kind, DRAW_TWO_POINT);
    assert_same(draw.other_s, .2);
    assert_same(draw.share, .04);
    draw = time_of(WITH_TIME("{ fixed = \"20ms\"; other = \"200ms\"; every = 25; }"));
    assert_int_equal(draw.kind, DRAW_EVERY);
    assert_int_equal(draw.every, 25);
}

static const char service[] =
    "duration = \"10s\"; seed = 42; interval = \"100ms\"; end = \"cut\"; workers = 4;\n"
    "about = \"title\\n\" \"what it shows\";\n"
    "arrivals = ({ rate = \"1/s\"; requests = [\"post\"]; });\n"
    "requests = ({ name = \"get\"; weight = 3; path = \"/a\";\n"
    "    steps = ({ at = \"web\"; }, { at = \"db\"; }); reply_after = \"web\"; },\n"
    "  { name = \"post\"; deadline = \"1s\"; expired = \"removed\"; reply_after = \"web\";\n"
    "    steps = ({ at = \"web\"; holds = true; repeat = 2; },\n"
    "             { at = \"db\"; tries = 3; budget = 0.1; reserve = 10; }); });\n"
    "stages = ({ name = \"web\"; servers = 4; places = 17; age = \"100ms\"; order = \"lifo\"; },\n"
    "  { name = \"db\"; servers = 1; instances = 10; choice = \"random\"; fails = 0.25;\n"
    "    idempotent = true; liveness = { every = \"1s\"; timeout = \"200ms\"; restart = \"5s\"; };"
    " });\n"
    "clients = { tries = 3; timeout = \"1s\"; give_up = \"1h\"; backoff = \"50ms\";\n"
    "  backoff_max = \"1s\"; jitter = \"half\"; retry_after = true; rtt = \"10ms\"; };\n"
    "events = ({ at = \"3s\"; lose = \"db\"; count = 2; }, { at = \"4s\"; slow = \"web\";\n"
    "  factor = 10; for = \"1s\"; }, { at = \"5s\"; stop = \"db\"; for = \"2s\"; });\n"
    "scaler = { stage = \"db\"; every = \"15s\"; delay = \"2min\"; target = 0.65;\n"
    "  by_demand = true; max = 20; };\n";

static void requests_and_stages(void **state)
{
    struct scenario *s = scenario_text_accepted(service, NULL, "");
    const struct scenario_kind *post = &s->kinds[1];
    const struct scenario_stage *stages = s->stages;

    (void)state;
    assert_int_equal(s->seed, 42);
    assert_same(s->interval_s, .1);
    assert_true(s->cut);
    assert_int_equal(s->workers, 4);
    assert_string_equal(s->about, "title\nwhat it shows");
    assert_int_equal(s->arrivals[0].n_kinds, 1);
    assert_int_equal(s->arrivals[0].kinds[0], 1);
    assert_same(s->kinds[0].weight, 3.);
    assert_string_equal(s->kinds[0].path, "/a");
    assert_int_equal(s->kinds[0].n_steps, 2);
    assert_int_equal(s->kinds[0].reply_after, 1);
    assert_same(post->deadline_s, 1.);
    assert_int_equal(post->expired, EXPIRED_REMOVED);
    assert_int_equal(post->n_steps, 3);
    assert_int_equal(post->reply_after, 2);
    assert_true(post->steps[1].holds);
    assert_int_equal(post->steps[2].stage, 1);
    assert_int_equal(post->steps[2].tries, 3);
    assert_same(post->steps[2].budget, .1);
    assert_same(post->steps[2].reserve, 10.);
    assert_int_equal(stages[0].places, 17);
    assert_same(stages[0].age_s, .1);
    assert_int_equal(stages[0].order, STAGE_LIFO);
    assert_int_equal(stages[1].instances, 10);
    assert_int_equal(stages[1].choice, STAGE_RANDOM);
    assert_same(stages[1].fails, .25);
    assert_true(stages[1].idempotent);
    assert_same(stages[1].liveness.timeout_s, .2);
    assert_int_equal(stages[1].liveness.failures, 3);
    assert_same(stages[1].liveness.restart_s, 5.);
    scenario_free(s);
}

static void clients_events_and_scaler(void **state)
{
    struct scenario *s = scenario_text_accepted(service, NULL, "");

    (void)state;
    assert_int_equal(s->clients.tries, 3);
    assert_same(s->clients.timeout_s, 1.);
    assert_same(s->clients.give_up_s, 3600.);
    assert_same(s->clients.backoff_s, .05);
    assert_same(s->clients.backoff_max_s, 1.);
    assert_int_equal(s->clients.jitter, JITTER_HALF);
    assert_true(s->clients.retry_after);
    assert_same(s->clients.rtt_s, .01);
    assert_int_equal(s->n_events, 3);
    assert_int_equal(s->events[0].kind, EVENT_LOSE);
    assert_int_equal(s->events[0].count, 2);
    assert_int_equal(s->events[0].stage, 1);
    assert_same(s->events[0].for_s, 0.);
    assert_int_equal(s->events[1].kind, EVENT_SLOW);
    assert_same(s->events[1].factor, 10.);
    assert_int_equal(s->events[2].kind, EVENT_STOP);
    assert_same(s->events[2].at_s, 5.);
    assert_same(s->events[2].for_s, 2.);
    assert_int_equal(s->scaler.stage, 1);
    assert_same(s->scaler.delay_s, 120.);
    assert_same(s->scaler.target, .65);
    assert_true(s->scaler.by_demand);
    assert_int_equal(s->scaler.min, 1);
    assert_int_equal(s->scaler.max, 20);
    scenario_free(s);
}

static void a_gate_in_the_scenario(void **state)
{
    struct scenario *s = scenario_text_accepted(
        SCENARIO("gate = " GATE_OF("window = 64; wait = { places = 16; };") ";"), NULL, "");

    (void)state;
    assert_non_null(s->gate);
    assert_int_equal(s->gate->policy.n_tenants, 2);
    assert_int_equal(s->gate->policy.n_services, 1);
    assert_int_equal(s->gate->policy.services[0].window, 64);
    assert_int_equal(s->gate->policy.services[0].wait.places, 16);
    assert_int_equal(s->gate->control.period_ns, 50000000);
    scenario_free(s);
}

#define DAEMON                                                                                     \
    "gates = ({ name = \"g\"; outside = [\"a\"]; inside = [\"b\"]; });\n"                          \
    "tenants = ({ name = \"default\"; });\nservices = ({ name = \"web\"; window = 64;\n"           \
    "addresses = [\"10.9.0.10\"]; protocol = \"tcp\"; ports = [\"80\"]; });\n"

static void a_gate_in_a_file_of_its_own(void **state)
{
    static const char *const sets[] = {"gate.services.web.window=5", NULL};
    const char text[] = SCENARIO("gate = \"gate.conf\";");
    struct scenario *s;
    char value[16];

    (void)state;
    scenario_text_file("gate.conf", DAEMON);
    s = scenario_text_accepted(text, NULL, "");
    assert_int_equal(s->gate->policy.services[0].window, 64);
    scenario_free(s);
    s = scenario_text_accepted(text, sets, "");
    assert_int_equal(s->gate->policy.services[0].window, 5);
    assert_true(scenario_value(s, "gate.services.0.window", value, sizeof(value)));
    assert_string_equal(value, "5");
    scenario_free(s);
    scenario_text_file("gate.conf", DAEMON "flows = { max = 1; };");
    scenario_text_refused(text, NULL,
                          "gate.conf:5: flows.max: 1 is out of range (1024..16777216)\n"
                          "s.conf:2: gate: \"gate.conf\" is no gate, for what was said of it\n");
}

static void variants_sweep_and_columns(void **state)
{
    struct scenario *s = scenario_text_accepted(
        SCENARIO("variants = ({ name = \"A\"; }, { name = \"B\"; set = [\"duration=20s\"]; });\n"
                 "sweep = { key = \"stages.web.servers\"; values = [1, 2, 30]; };\n"
                 "columns = [\"arch=variant\", \"useful\"];"),
        NULL, "");

    (void)state;
    assert_int_equal(s->n_variants, 2);
    assert_int_equal(s->variants[0].n_sets, 0);
    assert_string_equal(s->variants[1].name, "B");
    assert_int_equal(s->variants[1].n_sets, 1);
    assert_string_equal(s->variants[1].sets[0], "duration=20s");
    assert_string_equal(s->sweep_key, "stages.web.servers");
    assert_int_equal(s->n_values, 3);
    assert_string_equal(s->values[2], "30");
    assert_int_equal(s->n_columns, 2);
    assert_string_equal(s->columns[0].name, "arch");
    assert_string_equal(s->columns[0].source, "variant");
    assert_string_equal(s->columns[1].name, "useful");
    assert_string_equal(s->columns[1].source, "useful");
    scenario_free(s);
}

static void no_such_file(void **state)
{
    struct scenario *s;
    FILE *null = fopen("/dev/null", "w");

    (void)state;
    assert_non_null(null);
    assert_int_equal(scenario_read("nowhere.conf", NULL, 0, null, &s), -ENOENT);
    assert_null(s);
    fclose(null);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(arrivals_of_every_shape),
        cmocka_unit_test(a_trace_from_a_file),
        cmocka_unit_test(times_and_distributions),
        cmocka_unit_test(requests_and_stages),
        cmocka_unit_test(clients_events_and_scaler),
        cmocka_unit_test(a_gate_in_the_scenario),
        cmocka_unit_test(a_gate_in_a_file_of_its_own),
        cmocka_unit_test(variants_sweep_and_columns),
        cmocka_unit_test(no_such_file),
    };

    return cmocka_run_group_tests(tests, scenario_text_setup, scenario_text_teardown);
}
