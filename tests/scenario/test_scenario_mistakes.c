/* SPDX-License-Identifier: BSD-3-Clause */
/* What is said of scenarios that cannot be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/scenario/scenario_text.h"

struct mistake {
    const char *text, *report; /* without "" */
};

#define N(table) (sizeof(table) / sizeof((table)[0]))

static void check(const struct mistake *mistakes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char report[1024];

        snprintf(report, sizeof(report), "s.conf:2: %s\n", mistakes[i].report);
        scenario_text_refused(mistakes[i].text, NULL, report);
    }
}

static void of_the_whole(void **state)
{
    static const struct mistake mistakes[] = {
        {SCENARIO("sed = 1;"),
         "sed: unknown key, perhaps seed was meant (about, seed, duration, interval, workers, "
         "end, stages, requests, gate, arrivals, clients, events, scaler, variants, sweep, "
         "columns)"},
        {SCENARIO("about = \"a\\tb\";"),
         "about: is no such text (1..4000 bytes, no control characters but \\n)"},
        {SCENARIO("seed = -1;"), "seed: -1 is out of range (0..9007199254740992)"},
        {SCENARIO("interval = \"1us\";"), "interval: \"1us\" is out of range (1ms..8760h)"},
        {SCENARIO("end = \"later\";"), "end: \"later\" is not one of its words (play or cut)"},
        {SCENARIO("workers = 65;"), "workers: 65 is out of range (1..64)"},
        {SCENARIO("x"), "x: syntax error: '=' expected, not end of file"},
        {"\nduration = \"1h\"; interval = \"1ms\";" REQUESTS STAGES ARRIVALS,
         "interval: the interval is too short for the duration (1000000 intervals at most)"},
        {SCENARIO("columns = [\"=x\"];"), "columns[0]: is no column (NAME or NAME=SOURCE)"},
        {SCENARIO("sweep = { key = \"stages.db\"; values = [1]; };"),
         "sweep.key: there is no \"db\" to be set by stages.db, only what the file has can be set "
         "(web)"},
        {SCENARIO("sweep = { values = []; };"),
         "sweep.values: is empty (1..256 elements)\ns.conf:2: sweep.key: is missing"},
        {SCENARIO("variants = ({ name = \"A\"; set = [\"x=1\"]; });"),
         "variants[0].set[0]: there is no \"x\" to be set by x, only what the file has can be "
         "set (duration, arrivals, requests, stages, variants)"},
        {SCENARIO("variants = ({ name = \"A\"; set = [\"duration\"]; });"),
         "variants[0].set[0]: \"duration\" is no setting (KEY=VALUE)"},
    };

    (void)state;
    check(mistakes, N(mistakes));
}

static void of_arrivals(void **state)
{
    static const struct mistake mistakes[] = {
        {WITH_ARRIVALS(""),
         "arrivals[0]: does not say how many come (a rate, or closed, times or trace)"},
        {WITH_ARRIVALS("rate = 130;"),
         "arrivals[0].rate: 130 is no string in quotes (0.000001..1000000000 per s, min, h or "
         "day)"},
        {WITH_ARRIVALS("rate = \"130\";"),
         "arrivals[0].rate: \"130\" is no rate, or out of range (0.000001..1000000000 per s, "
         "min, h or day)"},
        {WITH_ARRIVALS("rate = \"0/s\";"),
         "arrivals[0].rate: \"0/s\" is no rate, or out of range (0.000001..1000000000 per s, "
         "min, h or day)"},
        {WITH_ARRIVALS("rate = \".5/s\";"),
         "arrivals[0].rate: \".5/s\" is no rate, or out of range (0.000001..1000000000 per s, "
         "min, h or day)"},
        {WITH_ARRIVALS("rate = \"1e3/s\";"),
         "arrivals[0].rate: \"1e3/s\" is no rate, or out of range (0.000001..1000000000 per "
         "s, min, h or day)"},
        {WITH_ARRIVALS("rate = \"2000000000/s\";"),
         "arrivals[0].rate: \"2000000000/s\" is no rate, or out of range "
         "(0.000001..1000000000 per s, min, h or day)"},
        {WITH_ARRIVALS("rate = \"1/s\"; spacing = \"odd\";"),
         "arrivals[0].spacing: \"odd\" is not one of its words (even or poisson)"},
        {WITH_ARRIVALS("rate = \"1/s\"; closed = { clients = 4; };"),
         "arrivals[0].rate: does not go with closed, times or trace"},
        {WITH_ARRIVALS("closed = { clients = 0; };"),
         "arrivals[0].closed.clients: 0 is out of range (1..1000000)"},
        {WITH_ARRIVALS("rate = \"1/s\"; step = { from = \"1s\"; for = \"1s\"; };"),
         "arrivals[0].step: needs one of them (factor, or rate)"},
        {WITH_ARRIVALS("rate = \"1/s\"; step = { factor = 2; from = \"1s\"; };"),
         "arrivals[0].step.for: is missing"},
        {WITH_ARRIVALS("rate = \"1/s\"; decay = { factor = 0; width = \"1s\"; };"),
         "arrivals[0].decay.factor: 0 is out of range (0.001..1000000)"},
        {WITH_ARRIVALS("rate = \"1/s\"; decay = { factor = 2; width = \"2s\"; every = \"1s\"; };"),
         "arrivals[0].decay.every: a spike begins before the last one is over"},
        {WITH_ARRIVALS("rate = \"1/s\"; on_off = { on = \"1s\"; off = \"0s\"; };"),
         "arrivals[0].on_off.off: \"0s\" is out of range (1us..8760h)"},
        {WITH_ARRIVALS("times = [\"1s\", \"900ms\"];"),
         "arrivals[0].times[1]: comes before the one in front of it (ascending)"},
        {WITH_ARRIVALS("trace = \"nowhere.txt\";"),
         "arrivals[0].trace: \"nowhere.txt\" cannot be read: No such file or directory"},
        {WITH_ARRIVALS("times = [\"1s\"]; trace = \"trace.txt\";"),
         "arrivals[0]: has more than one of them (step, decay, on_off, closed, times or trace)"},
        {WITH_ARRIVALS("rate = \"1/s\"; stop = \"11s\";"),
         "arrivals[0].stop: nothing can arrive at that time (start < stop <= duration)"},
        {WITH_ARRIVALS("rate = \"1/s\"; start = \"10s\";"),
         "arrivals[0]: nothing can arrive at that time (start < stop <= duration)"},
        {WITH_ARRIVALS("rate = \"1/s\"; requests = [\"get\"];"),
         "arrivals[0].requests[0]: no request is named \"get\""},
        {WITH_ARRIVALS("rate = \"1/s\"; population = 0;"),
         "arrivals[0].population: 0 is out of range (1..16777216)"},
        {WITH_ARRIVALS("rate = \"1/s\"; blocks = 1;"),
         "arrivals[0].blocks: is no boolean (true or false)"},
        {WITH_ARRIVALS("rate = \"1/s\"; }, 5, {"), "arrivals[1]: is no group { ... }"},
    };

    (void)state;
    scenario_text_file("trace.txt", "1\n");
    check(mistakes, N(mistakes));
}

#define TRACE(text) text, sizeof(text) - 1
#define OF_TRACE    "arrivals[0].trace: line "
#define LINES       " (SECONDS [COUNT], ascending)"

static void of_traces(void **state)
{
    static const struct {
        const char *trace;
        size_t length;
        const char *report;
    } mistakes[] = {
        {TRACE(""), "arrivals[0].trace: \"trace.txt\" holds no times"},
        {TRACE("1\n.9\n"), OF_TRACE "2 of \"trace.txt\" comes before the one in front of it" LINES},
        {TRACE("1\nx\n"), OF_TRACE "2 of \"trace.txt\" is no time in seconds" LINES},
        {TRACE("1 0\n"), OF_TRACE "1 of \"trace.txt\" has a count out of range" LINES},
        {TRACE("1 2 3\n"),
         OF_TRACE "1 of \"trace.txt\" has something behind its time and count" LINES},
        {TRACE("-1\n"), OF_TRACE "1 of \"trace.txt\" is no time in seconds" LINES},
        {TRACE("1 4000001\n"), OF_TRACE "1 of \"trace.txt\" has a count out of range" LINES},
        {TRACE("1 4000000\n2\n"), OF_TRACE "2 of \"trace.txt\" is one of too many" LINES},
        {TRACE("1e400\n"), OF_TRACE "1 of \"trace.txt\" is no time in seconds" LINES},
        {TRACE("1\n0x10\n"), OF_TRACE "2 of \"trace.txt\" is no time in seconds" LINES},
        {TRACE("0X1p3\n"), OF_TRACE "1 of \"trace.txt\" is no time in seconds" LINES},
        {TRACE("1 0x2\n"),
         OF_TRACE "1 of \"trace.txt\" has something behind its time and count" LINES},
        {TRACE("1\n2\0x\n3\n"), OF_TRACE "2 of \"trace.txt\" holds a NUL" LINES},
        {TRACE("1\n\0"), OF_TRACE "2 of \"trace.txt\" holds a NUL" LINES},
    };

    (void)state;
    for (size_t i = 0; i < N(mistakes); i++) {
        const struct mistake mistake = {WITH_ARRIVALS("trace = \"trace.txt\";"),
                                        mistakes[i].report};

        scenario_text_bytes("trace.txt", mistakes[i].trace, mistakes[i].length);
        check(&mistake, 1);
    }
}

/* Both can be opened; the second fails in its first page, at address 0. */
static void of_traces_that_cannot_be_read(void **state)
{
    static const struct mistake mistakes[] = {
        {WITH_ARRIVALS("trace = \".\";"),
         "arrivals[0].trace: line 1 of \".\" cannot be read: Is a directory"},
        {WITH_ARRIVALS("trace = \"/proc/self/mem\";"),
         "arrivals[0].trace: line 1 of \"/proc/self/mem\" cannot be read: Input/output error"},
    };

    (void)state;
    check(mistakes, N(mistakes));
}

static void of_requests(void **state)
{
    static const struct mistake mistakes[] = {
        {WITH_REQUESTS(""), "requests[0].steps: is missing"},
        {WITH_REQUESTS("steps = ({ at = \"db\"; });"),
         "requests[0].steps[0].at: no stage is named \"db\""},
        {WITH_REQUESTS("steps = ({ at = \"web\"; repeat = 65; });"),
         "requests[0].steps[0].repeat: 65 is out of range (1..64)"},
        {WITH_REQUESTS("steps = ({ at = \"web\"; repeat = 64; }, { at = \"web\"; });"),
         "requests[0].steps[1]: there are too many steps, repeats counted (1..64)"},
        {WITH_REQUESTS("steps = ({ at = \"web\"; reserve = 1; });"),
         "requests[0].steps[0].reserve: goes with a budget only"},
        {WITH_REQUESTS("steps = ({ at = \"web\"; budget = 1.5; });"),
         "requests[0].steps[0].budget: 1.5 is out of range (0..1)"},
        {WITH_REQUESTS("steps = ({ at = \"web\"; }); weight = 0;"),
         "requests[0].weight: 0 is out of range (0.000001..1000000)"},
        {WITH_REQUESTS("steps = ({ at = \"web\"; }); deadline = \"0s\";"),
         "requests[0].deadline: \"0s\" is out of range (\"none\", or 1us..8760h)"},
        {WITH_REQUESTS("steps = ({ at = \"web\"; }); reply_after = \"db\";"),
         "requests[0].reply_after: no stage is named \"db\""},
        {"duration = \"10s\";" ARRIVALS "\nrequests = ({ steps = ({ at = \"web\"; });"
         "reply_after = \"db\"; }); stages = ({ name = \"web\"; servers = 1; },"
         "{ name = \"db\"; servers = 1; });",
         "requests[0].reply_after: no step is at this stage"},
        {WITH_REQUESTS("steps = ({ at = \"web\"; }); }, { steps = ({ at = \"web\"; });"),
         "requests[1]: has the name of requests[0]"},
        {WITH_TIME("20"),
         "requests[0].steps[0].time: 20 is no string in quotes (0s..8760h, or a rate: "
         "0.000001..1000000000 per s, min, h or day)"},
        {WITH_TIME("\"20\""),
         "requests[0].steps[0].time: \"20\" has no unit, such as ms or s (0s..8760h)"},
        {WITH_TIME("\"x/s\""),
         "requests[0].steps[0].time: \"x/s\" is no rate, or out of range (0s..8760h, or a "
         "rate: 0.000001..1000000000 per s, min, h or day)"},
        {WITH_TIME("{ exponential = \"1s\"; cv = 1; }"),
         "requests[0].steps[0].time: is no distribution (exponential; lognormal and cv; "
         "pareto and shape; fixed; fixed, other and share; fixed, other and every)"},
        {WITH_TIME("{ pareto = \"1s\"; shape = 1; }"),
         "requests[0].steps[0].time.shape: 1 is out of range (1.01..100)"},
        {WITH_TIME("{ fixed = \"1s\"; other = \"2s\"; share = 0.5; every = 2; }"),
         "requests[0].steps[0].time: is no distribution (exponential; lognormal and cv; "
         "pareto and shape; fixed; fixed, other and share; fixed, other and every)"},
        {WITH_TIME("{ lognormal = \"1s\"; cv = \"1\"; }"),
         "requests[0].steps[0].time.cv: is no number (0..100)"},
    };

    (void)state;
    check(mistakes, N(mistakes));
}

static void of_stages_and_the_rest(void **state)
{
    static const struct mistake mistakes[] = {
        {WITH_STAGES("places = \"many\";"),
         "stages[0].places: \"many\" is a string, no integer (0..1000000000, or \"unbounded\")"},
        {WITH_STAGES("places = -1;"),
         "stages[0].places: is out of range (0..1000000000, or \"unbounded\")"},
        {WITH_STAGES("fails = 2;"), "stages[0].fails: 2 is out of range (0..1)"},
        {WITH_STAGES("liveness = { every = \"1s\"; timeout = \"1s\"; };"),
         "stages[0].liveness.restart: is missing"},
        {WITH_STAGES("}, { name = \"web\"; servers = 1;"), "stages[1]: has the name of stages[0]"},
        {WITH_STAGES("}, { servers = 0; name = \"db\";"),
         "stages[1].servers: 0 is out of range (1..1000000)"},
        {SCENARIO("clients = { tries = 0; };"), "clients.tries: 0 is out of range (1..1000)"},
        {SCENARIO("clients = { backoff = \"2s\"; backoff_max = \"1s\"; };"),
         "clients.backoff_max: is less than the first backoff"},
        {SCENARIO("events = ({ at = \"1s\"; });"),
         "events[0]: needs one of them (lose, slow or stop, with the name of a stage)"},
        {SCENARIO("events = ({ at = \"1s\"; slow = \"web\"; });"),
         "events[0]: slow and factor go together"},
        {SCENARIO("events = ({ at = \"1s\"; stop = \"web\"; });"),
         "events[0]: stop needs for: nothing that is stopped for good can end"},
        {SCENARIO("events = ({ at = \"1s\"; stop = \"web\"; for = \"1s\"; count = 1; });"),
         "events[0]: a count goes with lose only"},
        {SCENARIO("events = ({ at = \"1s\"; lose = \"web\"; count = 2; });"),
         "events[0]: more instances are lost than there are"},
        {SCENARIO("scaler = { stage = \"web\"; every = \"1s\"; target = 2; max = 4; };"),
         "scaler.target: 2 is out of range (0.01..1)"},
        {SCENARIO("scaler = { stage = \"web\"; every = \"1s\"; target = .5; min = 5; max = 4; };"),
         "scaler: has room for no number of instances (min <= max)"},
    };

    (void)state;
    check(mistakes, N(mistakes));
}

static void of_gates(void **state)
{
    static const struct mistake mistakes[] = {
        {SCENARIO("gate = 5;"),
         "gate: 5 is no string in quotes (a group, the name of a file, or \"none\")"},
        {SCENARIO("gate = { tenants = ({ name = \"default\"; }); services = (); };"),
         "gate: the gate has no service"},
        {SCENARIO("gate = { tenants = ({ name = \"a\"; }); };"),
         "gate.services: is missing\ns.conf:2: gate.tenants: no tenant is named \"default\" "
         "(it is mandatory)"},
        {SCENARIO("gate = " GATE_OF("window = -1;") ";"),
         "gate.services[0].window: -1 is out of range (0..16777216 slots or \"unlimited\")"},
        {SCENARIO("gate = " GATE_OF("windw = 1;") ";"),
         "gate.services[0].windw: unknown key, perhaps window was meant (name, addresses, "
         "protocol, ports, tenant, unit, window, connections, capacity, deadline, wait, "
         "reserve, shares, shed, breaker, probes, turn, silence, slo, refuse, refuse_rate, "
         "standby)"},
        {WITH_ARRIVALS(
             "rate = \"1/s\"; tenant = \"globex\"; service = \"db\"; });\ngate = " GATE_OF(
                 "") "; variants = ({ name = \"A\";"),
         "arrivals[0].tenant: no tenant of the gate is named \"globex\"\ns.conf:2: "
         "arrivals[0].service: no service of the gate is named \"db\""},
    };

    (void)state;
    check(mistakes, N(mistakes));
}

static void of_what_is_not_there(void **state)
{
    (void)state;
    scenario_text_refused("\nduration = \"1s\";" STAGES ARRIVALS, NULL,
                          "s.conf:1: requests: is missing\n");
    scenario_text_refused(SCENARIO("gate = \"nowhere.conf\";"), NULL,
                          "nowhere.conf: cannot be read: No such file or directory\n"
                          "s.conf:2: gate: \"nowhere.conf\" is no gate, for what was said of it\n");
}

static void a_deadline_that_nobody_looks_at(void **state)
{
    (void)state;
    scenario_free(scenario_text_accepted(
        WITH_REQUESTS("steps = ({ at = \"web\"; }); expired = \"removed\"; deadline = \"none\";"),
        NULL, "s.conf:2: warning: requests[0].expired: has no effect without a deadline\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_the_whole),
        cmocka_unit_test(of_arrivals),
        cmocka_unit_test(of_traces),
        cmocka_unit_test(of_traces_that_cannot_be_read),
        cmocka_unit_test(of_requests),
        cmocka_unit_test(of_stages_and_the_rest),
        cmocka_unit_test(of_gates),
        cmocka_unit_test(of_what_is_not_there),
        cmocka_unit_test(a_deadline_that_nobody_looks_at),
    };

    return cmocka_run_group_tests(tests, scenario_text_setup, scenario_text_teardown);
}
