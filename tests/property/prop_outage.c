/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A backend that dies, that becomes ten times slower, or is asked ten times as much as it can do,
 * behind the decision core on sixteen workers, with clients that ask again. In virtual time, with
 * the control loop.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Enough for all that come in 3 s, and in 1 s: nothing is forgotten early. */
#define GATE_ANSWERED (1 << 14)
#define GATE_DEMAND   (1 << 16)

#include "tests/property/random.h"
#include "tests/unit/overload.h"

#define WORKERS     16
#define SLOTS       4
#define SERVICE_NS  (20 * CORE_MS)
#define CAPACITY    200 /* a second: SLOTS / SERVICE_NS */
#define PERIOD_MS   50
#define CALLS_MAX   (1u << 18)
#define WHEEL_MS    (1u << 17)
#define NOBODY      UINT32_MAX
#define SECONDS_MAX 256
#define DEAD        UINT64_MAX

/* A piece of work that somebody wants, and how far it has come. */
struct call {
    uint64_t client, flow;
    uint32_t next; /* in its moment of the wheel */
    uint8_t tries, resyns;
    bool charged; /* its try came while there was overload, and was a retry */
};

struct job {
    struct slot slot;
    uint64_t begun_ns;
    uint32_t call;
    bool given_up;
};

/* How clients behave. */
struct manners {
    uint32_t per_s, tries;
    bool obeys;                   /* comes back when Retry-After says, not at once */
    bool shed;                    /* the service sheds, too */
    bool windows;                 /* sends its SYN three times more after a reset */
    uint64_t for_s, useful_per_s; /* how long, and what the backend does at least */
};

struct outage {
    struct gate g;
    struct manners manners;
    uint64_t seed, service_ns, response_ns;
    struct call calls[CALLS_MAX];
    uint32_t n_calls;
    uint32_t wheel[WHEEL_MS];
    struct job jobs[SLOTS];
    uint64_t now_ms, attempts, unique, paid_retries, trials, last_trial_ns, shortest_ns;
    uint64_t useful[SECONDS_MAX], asked[SECONDS_MAX]; /* in each second */
};

static uint32_t worker_of(const struct outage *o, uint32_t call)
{
    return (uint32_t)(o->calls[call].flow >> 32) % WORKERS;
}

static uint64_t second(const struct outage *o)
{
    return o->now_ms / 1000;
}

static void later(struct outage *o, uint32_t call, uint64_t ms)
{
    uint32_t *moment = &o->wheel[(o->now_ms + ms) % WHEEL_MS];

    assert_true(ms > 0 && ms < WHEEL_MS);
    o->calls[call].next = *moment;
    *moment = call;
}

/* -- the backend -- */

static void begin(struct outage *o, uint32_t call, const struct slot *slot)
{
    unsigned i = 0;

    while (o->jobs[i].call != NOBODY)
        i++;
    assert_true(i < SLOTS);
    o->jobs[i] = (struct job){*slot, o->g.now_ns, call, false};
    o->paid_retries += o->calls[call].charged;
    if (slot->held & SLOT_OPENING)
        admission_confirmed(o->g.crew.workers[worker_of(o, call)], &o->jobs[i].slot);
    if (!(slot->held & SLOT_TRIAL))
        return;
    for (unsigned k = 0; k < SLOTS; k++)
        assert_true(k == i || o->jobs[k].call == NOBODY || !(o->jobs[k].slot.held & SLOT_TRIAL));
    if (o->trials++ && o->g.now_ns - o->last_trial_ns < o->shortest_ns)
        o->shortest_ns = o->g.now_ns - o->last_trial_ns;
    o->last_trial_ns = o->g.now_ns;
}

static void failed(struct outage *o, uint32_t call);

static void end(struct outage *o, struct job *job, enum outcome outcome)
{
    const uint64_t held_ns = o->g.now_ns - job->begun_ns;
    const struct ending ending = {.outcome = outcome,
                                  .client = o->calls[job->call].client,
                                  .held_ns = held_ns,
                                  .latency_ns = held_ns};

    admission_complete(o->g.crew.workers[worker_of(o, job->call)], &job->slot, &ending,
                       o->g.now_ns);
    job->call = NOBODY;
}

static void serve(struct outage *o, struct job *job)
{
    struct admission *adm = o->g.crew.workers[worker_of(o, job->call)];
    const uint64_t age_ns = o->g.now_ns - job->begun_ns;

    if (age_ns >= o->service_ns) {
        if (!job->given_up) {
            admission_first_byte(adm, &job->slot, o->g.now_ns);
            o->useful[second(o)]++;
        }
        end(o, job, OUTCOME_FINISHED);
    } else if (age_ns >= 2 * o->response_ns) {
        end(o, job, OUTCOME_AGED);
    } else if (age_ns >= o->response_ns && !job->given_up) {
        job->given_up = true;
        admission_no_answer(adm, &job->slot, (uint32_t)random_u64(&o->seed), o->g.now_ns);
        failed(o, job->call);
    }
}

/* -- the clients -- */

static uint64_t patience_ms(struct outage *o)
{
    struct service_view view;

    if (!o->manners.obeys)
        return 100;
    admission_control_view(o->g.control, policy_service(o->g.crew.policy, WEB), o->g.now_ns, &view);
    return 1000ull * demand_jitter_s(view.retry_after_s, (uint32_t)random_u64(&o->seed));
}

/* A try has come to nothing: another one, of new ports, if the client has any left. */
static void failed(struct outage *o, uint32_t call)
{
    struct call *c = &o->calls[call];

    if (++c->tries >= o->manners.tries)
        return;
    c->flow = random_u64(&o->seed);
    c->resyns = 0;
    later(o, call, patience_ms(o));
}

static void refused(struct outage *o, uint32_t call)
{
    struct call *c = &o->calls[call];

    if (o->manners.windows && c->resyns++ < 3)
        later(o, call, 500);
    else
        failed(o, call);
}

static bool is_overloaded(const struct outage *o)
{
    const struct service_shared *s = &o->g.crew.shared->services[WEB];

    return s->advice.shed[CLASS_BULK] || window_used(&s->waiting) ||
           window_used(&s->window) >= SLOTS;
}

static void ask(struct outage *o, uint32_t call)
{
    struct call *c = &o->calls[call];
    const struct attempt a = {.tenant = BULK,
                              .service = WEB,
                              .ip_bytes = 60,
                              .flags = ATTEMPT_SYN,
                              .client = c->client,
                              .flow = c->flow,
                              .cookie = call};
    struct decision d;

    c->charged = c->tries && is_overloaded(o);
    o->attempts += c->resyns == 0;
    d = gate_offer(&o->g, worker_of(o, call), &a);
    if (d.verdict == VERDICT_REFUSE)
        refused(o, call);
    else if (d.verdict == VERDICT_ADMIT)
        begin(o, call, &(struct slot){BULK, WEB, 0, d.held});
}

static void newcomer(struct outage *o)
{
    uint32_t call = o->n_calls++;

    assert_true(call < CALLS_MAX);
    o->calls[call] =
        (struct call){.client = random_u64(&o->seed), .flow = random_u64(&o->seed), .next = NOBODY};
    o->unique++;
    o->asked[second(o)]++;
    ask(o, call);
}

/* -- time -- */

static void poll_all(struct outage *o)
{
    uint32_t first = (uint32_t)random_below(&o->seed, WORKERS);
    struct released r;

    for (uint32_t i = 0; i < WORKERS; i++)
        while (gate_poll(&o->g, (first + i) % WORKERS, &r)) {
            if (r.decision.verdict == VERDICT_ADMIT)
                begin(o, (uint32_t)r.cookie, &r.slot);
            else
                refused(o, (uint32_t)r.cookie);
        }
}

static void tick(struct outage *o)
{
    uint32_t call = o->wheel[o->now_ms % WHEEL_MS];

    o->wheel[o->now_ms % WHEEL_MS] = NOBODY;
    o->g.now_ns = 100 * CORE_S + o->now_ms * CORE_MS;
    for (unsigned i = 0; i < SLOTS; i++)
        if (o->jobs[i].call != NOBODY)
            serve(o, &o->jobs[i]);
    poll_all(o);
    while (call != NOBODY) {
        uint32_t next = o->calls[call].next;

        ask(o, call);
        call = next;
    }
    for (uint32_t n = o->manners.per_s; n > 0; n -= n < 1000 ? n : 1000)
        if (random_below(&o->seed, 1000) < n)
            newcomer(o);
    if (o->now_ms % PERIOD_MS == 0)
        gate_steer(&o->g);
    /* At any moment, not only in the end. */
    assert_true(10 * o->paid_retries <= o->unique + 100);
    o->now_ms++;
}

static void run(struct outage *o, uint64_t until_s)
{
    while (o->now_ms < until_s * 1000)
        tick(o);
}

static struct outage *start(const struct manners *manners)
{
    struct outage *o = calloc(1, sizeof(*o));
    struct policy_service *s;

    gate_start(&o->g, WORKERS);
    o->manners = *manners;
    o->seed = 1;
    o->service_ns = SERVICE_NS;
    o->response_ns = 100 * CORE_MS;
    o->shortest_ns = UINT64_MAX;
    for (uint32_t i = 0; i < WHEEL_MS; i++)
        o->wheel[i] = NOBODY;
    for (unsigned i = 0; i < SLOTS; i++)
        o->jobs[i].call = NOBODY;
    s = &o->g.services[WEB];
    s->window = SLOTS;
    s->wait = (struct policy_wait){.places = 16, .age_ns = 100 * CORE_MS};
    s->deadline_ns = CORE_S;
    s->capacity = core_rate(CAPACITY, 1, 0);
    s->shed.ceiling_ppm = manners->shed ? 980000 : 0;
    gate_adopt(&o->g);
    return o;
}

static void stop(struct outage *o)
{
    gate_stop(&o->g);
    free(o);
}

static uint64_t sum(const uint64_t *of, uint64_t from_s, uint64_t to_s)
{
    uint64_t n = 0;

    for (uint64_t s = from_s; s < to_s; s++)
        n += of[s];
    return n;
}

/* -- outages -- */

/* The backend is like that from 10 s to 30 s. Three failures, and then one try a period; within one
 * period of it having come back somebody finds out, and five seconds later all is as before. */
static void play_outage(uint64_t service_ns)
{
    const struct manners manners = {.per_s = 150, .tries = 3};
    struct outage *o = start(&manners);

    o->g.services[WEB].breaker.failures = 3;
    o->g.services[WEB].breaker.open_max_ns = 4 * CORE_S;
    o->g.services[WEB].breaker.response_ns = o->response_ns;
    gate_adopt(&o->g);
    run(o, 10);
    assert_int_equal(o->trials, 0);
    assert_in_range(sum(o->useful, 1, 10), 97 * sum(o->asked, 1, 10) / 100, UINT64_MAX);
    o->service_ns = service_ns;
    run(o, 30);
    /* 3 failures, and who was with them; 1, 2, 4, 4, 4 s, a tenth less or more */
    assert_in_range(gate_counts(&o->g, WEB).bad, 3, SLOTS + o->trials);
    assert_in_range(o->trials, 5, 7);
    assert_true(o->shortest_ns >= 18 * CORE_S / 10);
    assert_int_equal(sum(o->useful, 11, 30), 0);
    o->service_ns = SERVICE_NS;
    run(o, 60);
    assert_in_range(o->trials, 6, 8);
    assert_in_range(sum(o->useful, 36, 60), 97 * sum(o->asked, 36, 60) / 100, UINT64_MAX);
    assert_int_equal(gate_counts(&o->g, WEB).refused[REASON_DEADLINE], 0);
    stop(o);
}

static void dead_backend_is_tried_once_a_period(void **state)
{
    (void)state;
    play_outage(DEAD);
}

static void slow_backend_is_tried_once_a_period(void **state)
{
    (void)state;
    play_outage(10 * SERVICE_NS);
}

/* -- retries -- */

/* Ten times what the backend can do: it does all it can, whatever the clients do. */
static void play_retries(const char *name, const struct manners *manners, double least, double most)
{
    struct outage *o = start(manners);
    struct admission_service_counters c;
    double per_unique;
    uint64_t useful;

    run(o, manners->for_s);
    c = gate_counts(&o->g, WEB);
    useful = sum(o->useful, 5, manners->for_s);
    per_unique = (double)o->attempts / (double)o->unique;
    print_message("# %s: %.2f attempts/unique, %llu paid retries, %.1f useful/s\n", name,
                  per_unique, (unsigned long long)o->paid_retries,
                  (double)useful / (double)(manners->for_s - 5));
    assert_true(per_unique >= least && per_unique <= most);
    assert_in_range(useful, manners->useful_per_s * (manners->for_s - 5), UINT64_MAX);
    assert_in_range(c.attempts - o->attempts, 0, 9); /* answers forgotten early */
    assert_int_equal(c.bad, 0);
    assert_int_equal(c.ledger.pieces[LEDGER_LATE], 0);
    assert_true(manners->windows ? c.attempt_packets > 3 * c.attempts
                                 : c.attempt_packets == c.attempts);
    stop(o);
}

/* A service that sheds has a shorter queue, and runs empty now and then: without retries it does
 * 179 a second of 200. Retries make it no worse. */
static void retries_do_not_cost_goodput(void **state)
{
    static const struct manners naive = {
        .per_s = 2000, .tries = 3, .for_s = 30, .useful_per_s = 194};
    struct manners other = naive;

    (void)state;
    play_retries("naive", &naive, 2.8, 2.95);
    other.windows = true;
    play_retries("naive, with SYNs again", &other, 2.6, 2.8);
    other = naive;
    other.obeys = true;
    other.for_s = 120; /* they come back after 60 to 90 s */
    play_retries("with Retry-After", &other, 1.2, 1.5);
    other = naive;
    other.shed = true;
    other.useful_per_s = 174;
    play_retries("naive, shed", &other, 2.7, 2.95);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dead_backend_is_tried_once_a_period),
        cmocka_unit_test(slow_backend_is_tried_once_a_period),
        cmocka_unit_test(retries_do_not_cost_goodput),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
