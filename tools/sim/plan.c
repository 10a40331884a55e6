/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/sim/plan.h"

#include <math.h>
#include <stdarg.h>

#include "control/config/sizing.h"
#include "dataplane/admission/bucket.h"
#include "dataplane/admission/demand.h"

#define BURST_RATIO    1.3 /* that instances have room for where no burst is stated */
#define TCP_IDLE_MAX_S 60  /* the defaults */
#define UDP_IDLE_MAX_S 30
#define RATE_MIN_PER_S (1. / 86400)
#define ROUNDING       1e-3 /* of what people state to three digits */

static void row(struct plan *plan, const char *name, double value, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void row(struct plan *plan, const char *name, double value, const char *format, ...)
{
    struct plan_row *next = &plan->rows[plan->n_rows++];
    va_list arguments;

    next->name = name;
    next->value = value;
    va_start(arguments, format);
    vsnprintf(next->formula, sizeof(next->formula), format, arguments);
    va_end(arguments);
}

static bool impossible(struct plan *plan, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool impossible(struct plan *plan, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(plan->error, sizeof(plan->error), format, arguments);
    va_end(arguments);
    return false;
}

/* What was stated and what follows from it. */
static void name_service(struct plan *plan, const struct plan_input *stated)
{
    const struct plan_input *in = &plan->in;

    if (stated->capacity_per_s)
        row(plan, "capacity_per_s", in->capacity_per_s, "stated");
    else
        row(plan, "capacity_per_s", in->capacity_per_s,
            "utilisation x slots / service = %g x %g / %g", in->utilisation, in->slots,
            in->service_s);
    if (stated->service_s)
        row(plan, "service_ms", in->service_s * 1e3, "stated");
    else
        row(plan, "service_ms", in->service_s * 1e3, "slots / capacity = %g / %g (Little)",
            in->slots, in->capacity_per_s);
    if (stated->slots)
        row(plan, "slots", in->slots, "stated");
    else
        row(plan, "slots", in->slots, "capacity x service = %g x %g, rounded up (Little)",
            in->capacity_per_s, in->service_s);
}

/* Any two of capacity, service time and slots give the third. */
static bool size_service(struct plan *plan)
{
    struct plan_input *in = &plan->in;
    const struct plan_input stated = *in;

    if (!stated.capacity_per_s + !stated.service_s + !stated.slots > 1)
        return impossible(plan, "say two of --capacity, --service and --slots");
    if (!stated.slots)
        in->slots = sizing_whole(in->capacity_per_s * in->service_s);
    if (in->slots > POLICY_WINDOW_MAX)
        return impossible(plan, "%.0f slots are needed, at most %d are possible", in->slots,
                          POLICY_WINDOW_MAX);
    if (!stated.service_s)
        in->service_s = in->slots / in->capacity_per_s;
    if (!stated.capacity_per_s)
        in->capacity_per_s = in->utilisation * in->slots / in->service_s;
    if (in->capacity_per_s > in->slots / in->service_s * (1 + ROUNDING))
        return impossible(plan, "--capacity: %g slots of %g ms do at most %.6g/s", in->slots,
                          in->service_s * 1e3, in->slots / in->service_s);
    if (in->capacity_per_s < RATE_MIN_PER_S || in->capacity_per_s > BUCKET_RATE_MAX)
        return impossible(plan, "a capacity of %.6g/s cannot be configured (1/day..%.0f/s)",
                          in->capacity_per_s, (double)BUCKET_RATE_MAX);
    name_service(plan, &stated);
    return true;
}

static void size_steady_state(struct plan *plan)
{
    const struct plan_input *in = &plan->in;
    const struct sizing_load load = {in->rate_per_s, in->service_s, (uint32_t)in->slots};
    double wait_s = sizing_wait_s(&load, (struct sizing_spread){1, in->spread});

    plan->headroom_per_s = in->capacity_per_s - in->rate_per_s;
    row(plan, "headroom_per_s", plan->headroom_per_s, "capacity - rate = %.6g - %.6g%s",
        in->capacity_per_s, in->rate_per_s,
        plan->headroom_per_s > 0 ? ""
                                 : ": not stable, at this rate work is refused all the time and "
                                   "no queue drains");
    row(plan, "utilisation", sizing_utilisation(&load), "rate x service / slots = %.6g x %.6g / %g",
        in->rate_per_s, in->service_s, in->slots);
    if (isinf(wait_s))
        row(plan, "wait_mean_ms", wait_s, "an unbounded queue grows as long as the rate lasts");
    else
        row(plan, "wait_mean_ms", wait_s * 1e3,
            "unbounded queue: C(%.6g, %g) x service / (slots x (1 - utilisation)) x (1 + %g^2) / 2",
            in->rate_per_s * in->service_s, in->slots, in->spread);
}

/* Fewer than the service's own slots would leave one of them idle; more than are done by the
 * deadline at the capacity would promise too much, and sluiced warns of it. */
static double least_window(const struct plan_input *in, char *why, size_t size)
{
    double by_deadline = floor(in->capacity_per_s * in->deadline_s * (1 + 1e-12));

    if (in->unit == UNIT_CONNECTION || !in->deadline_s || by_deadline >= in->slots) {
        snprintf(why, size, "slots");
        return in->slots;
    }
    snprintf(why, size, "capacity x deadline rounded down");
    return by_deadline;
}

static bool size_window(struct plan *plan)
{
    const struct plan_input *in = &plan->in;
    bool connection = in->unit == UNIT_CONNECTION;
    char of[48];
    double least;

    plan->held_s = in->service_s + (connection ? SIZING_CONNECTION_TRIPS * in->rtt_s : 0);
    least = least_window(in, of, sizeof(of));
    plan->window = fmax(least, sizing_whole(sizing_window(in->capacity_per_s, plan->held_s)));
    if (plan->window > POLICY_WINDOW_MAX)
        return impossible(plan, "a window of %.0f is needed, at most %d are possible", plan->window,
                          POLICY_WINDOW_MAX);
    if (connection && in->rtt_s)
        row(plan, "window", plan->window,
            "max(slots, capacity x (service + %d round trips)) = max(%g, %.6g x (%.6g + %d x %g)), "
            "rounded up (Little)",
            SIZING_CONNECTION_TRIPS, in->slots, in->capacity_per_s, in->service_s,
            SIZING_CONNECTION_TRIPS, in->rtt_s);
    else
        row(plan, "window", plan->window,
            "max(%s, capacity x service) = max(%g, %.6g x %.6g), rounded up (Little)", of, least,
            in->capacity_per_s, in->service_s);
    return true;
}

/* Were there no queue. */
static bool size_lines(struct plan *plan)
{
    const struct plan_input *in = &plan->in;
    double erlangs = in->rate_per_s * plan->held_s;

    if (erlangs > POLICY_WINDOW_MAX)
        return impossible(plan, "--rate: keeps %.0f slots busy, at most %d are possible", erlangs,
                          POLICY_WINDOW_MAX);
    row(plan, "window_refused", sizing_erlang_b(erlangs, (uint32_t)plan->window),
        "without a queue: B(rate x held, window) = B(%.6g, %g) (Erlang)", erlangs, plan->window);
    row(plan, "lines", sizing_lines(erlangs, in->blocked),
        "without a queue: fewest slots with B(%.6g, slots) <= %g (Erlang)", erlangs, in->blocked);
    return true;
}

/* The client's round trip before its request counts where the deadline runs from its SYN. */
static bool size_age(struct plan *plan)
{
    const struct plan_input *in = &plan->in;
    double trip_s = in->unit == UNIT_CONNECTION ? in->rtt_s : 0;
    double left_s = in->deadline_s - in->service_s - trip_s;

    plan->age_s = in->age_s;
    if (in->deadline_s && left_s < 1e-3)
        return impossible(plan,
                          "--deadline: %g ms leave no millisecond to wait beside %g ms of "
                          "service and %g ms of round trip",
                          in->deadline_s * 1e3, in->service_s * 1e3, trip_s * 1e3);
    if (in->deadline_s && left_s < in->age_s)
        plan->age_s = floor(left_s * 1e3) / 1e3;
    if (in->deadline_s)
        row(plan, "age_ms", plan->age_s * 1e3,
            "min(wait, deadline - service - round trip) = min(%g, %g - %.6g - %g)", in->age_s,
            in->deadline_s, in->service_s, trip_s);
    else
        row(plan, "age_ms", plan->age_s * 1e3, "wait = %g", in->age_s);
    return true;
}

static const char *ordinal(double n)
{
    long last = (long)fmod(n, 100);

    if (last / 10 == 1)
        return "th";
    return last % 10 == 1 ? "st" : last % 10 == 2 ? "nd" : last % 10 == 3 ? "rd" : "th";
}

static void size_places(struct plan *plan)
{
    const struct plan_input *in = &plan->in;
    double by_age = in->capacity_per_s * plan->age_s;
    double by_recovery = plan->headroom_per_s * in->recovery_s;
    bool recovers = in->rate_per_s && by_recovery > 0;
    char product[PLAN_FORMULA_MAX], why[64] = "";

    plan->places = fmin(sizing_places(in->capacity_per_s, plan->age_s), POLICY_PLACES_MAX);
    if (plan->places < POLICY_PLACES_MAX)
        snprintf(why, sizeof(why), ": the %.0f%s would wait %g ms and more", plan->places + 1,
                 ordinal(plan->places + 1), plan->age_s * 1e3);
    if (recovers && by_recovery < plan->places) {
        plan->places = floor(by_recovery * (1 + 1e-12));
        *why = '\0';
    }
    if (recovers)
        snprintf(product, sizeof(product),
                 "min(capacity x age, headroom x recovery) = min(%.6g x %g, %.6g x %g) = %.6g",
                 in->capacity_per_s, plan->age_s, plan->headroom_per_s, in->recovery_s,
                 fmin(by_age, by_recovery));
    else
        snprintf(product, sizeof(product), "capacity x age = %.6g x %g = %.6g", in->capacity_per_s,
                 plan->age_s, by_age);
    row(plan, "places", plan->places, "%s -> %.0f%s", product, plan->places, why);
    row(plan, "last_wait_ms", sizing_last_wait_s(plan->places, in->capacity_per_s) * 1e3,
        "places / capacity = %g / %.6g", plan->places, in->capacity_per_s);
}

static void size_queue_in_steady_state(struct plan *plan)
{
    const struct sizing_load load = {plan->in.rate_per_s, plan->held_s, (uint32_t)plan->window};
    struct sizing_bounded bounded = sizing_bounded(&load, (uint32_t)plan->places);

    row(plan, "refused", bounded.refused, "at the rate, with the queue: M/M/%g/%g", plan->window,
        plan->window + plan->places);
    row(plan, "refused_wait_mean_ms", bounded.wait_s * 1e3, "of those that are admitted then");
}

static bool size_reserve(struct plan *plan)
{
    const struct plan_input *in = &plan->in;

    if (in->critical_per_s >= in->capacity_per_s)
        return impossible(plan, "--critical: %.6g/s leave nothing of %.6g/s", in->critical_per_s,
                          in->capacity_per_s);
    if (in->critical_per_s)
        row(plan, "reserve_per_s", in->critical_per_s, "rise of critical work%s",
            in->rate_per_s && in->critical_per_s > plan->headroom_per_s
                ? ": more than the headroom, so lower classes are shed all the time"
                : "");
    return true;
}

static void size_instances(struct plan *plan)
{
    const struct plan_input *in = &plan->in;
    double most = fmin(in->capacity_per_s * in->service_s / in->slots, 1);
    double ratio =
        in->burst_per_s > in->rate_per_s ? in->burst_per_s / in->rate_per_s : BURST_RATIO;
    double target = most / ratio;

    row(plan, "target_utilisation", target,
        "(capacity x service / slots) / (burst / rate) = %.4g / %.4g", most, ratio);
    row(plan, "instances",
        demand_instances(in->rate_per_s, in->service_s, (uint32_t)in->slots, target),
        "rate x service / (slots x target_utilisation) = %.6g x %.6g / (%g x %.4g), rounded up",
        in->rate_per_s, in->service_s, in->slots, target);
}

/* An exchange does not outlast its reply, whatever becomes of the connection. */
static void size_idle(struct plan *plan)
{
    const struct plan_input *in = &plan->in;
    bool tcp = in->unit == UNIT_CONNECTION;
    double most_s = tcp ? TCP_IDLE_MAX_S : UDP_IDLE_MAX_S;
    double fits_s = sizing_idle_s(plan->window, in->capacity_per_s, in->lost);
    double leaked;

    if (in->unit == UNIT_EXCHANGE)
        return;
    fits_s = fmin(fmax(floor(fits_s * 1e3) / 1e3, SIZING_IDLE_MIN_S), most_s);
    if (fits_s < most_s)
        plan->idle_s = fits_s;
    row(plan, tcp ? "tcp_idle_ms" : "udp_idle_ms", fits_s * 1e3,
        "%g x window / (lost x capacity) = %g x %g / (%g x %.6g), at least %d s, at most the "
        "default of %g s",
        SIZING_LEAK_MAX, SIZING_LEAK_MAX, plan->window, in->lost, in->capacity_per_s,
        SIZING_IDLE_MIN_S, most_s);
    leaked = sizing_leaked_slots(in->capacity_per_s, in->lost, fits_s);
    row(plan, "leaked_slots", leaked, "lost x capacity x idle = %g x %.6g x %g (Little)%s",
        in->lost, in->capacity_per_s, fits_s,
        leaked <= SIZING_LEAK_MAX * plan->window ? ""
        : tcp ? ": too many for this window, the unit exchange loses none"
              : ": too many for this window");
}

static void size_retry_after(struct plan *plan, double outside, const char *whose)
{
    const struct plan_input *in = &plan->in;
    double backlog = plan->places + outside;

    row(plan, "retry_after_s",
        demand_retry_capacity_s(&(struct demand){backlog, in->capacity_per_s, in->rate_per_s}),
        "(places + %s) / max(headroom, capacity / 10) = (%g + %.6g) / max(%.6g, %.6g), rounded up",
        whose, plan->places, outside, plan->headroom_per_s, in->capacity_per_s / 10);
}

/* A drain that never ends is told as such. */
static void row_of_drain(struct plan *plan, const char *name, const char *what, double queue)
{
    double drain_s = sizing_drain_s(queue, plan->in.capacity_per_s, plan->in.rate_per_s);

    if (isinf(drain_s))
        row(plan, name, drain_s, "never, for there is no headroom");
    else
        row(plan, name, drain_s, "%s / headroom = %.6g / %.6g", what, queue, plan->headroom_per_s);
}

static void size_queue_in_burst(struct plan *plan, double excess)
{
    const struct plan_input *in = &plan->in;
    double queue = fmin(plan->places, excess);

    row(plan, "burst_queue_unbounded", excess,
        "max(burst - capacity, 0) x its duration = max(%.6g - %.6g, 0) x %g", in->burst_per_s,
        in->capacity_per_s, in->burst_s);
    row(plan, "burst_wait_unbounded_ms", excess / in->capacity_per_s * 1e3,
        "that / capacity = %.6g / %.6g", excess, in->capacity_per_s);
    row_of_drain(plan, "burst_drain_unbounded_s", "that", excess);
    row(plan, "burst_queue", queue, "min(places, that) = min(%g, %.6g)", plan->places, excess);
    row(plan, "burst_refused", excess - queue, "the rest: %.6g - %.6g", excess, queue);
    row(plan, "burst_wait_ms", queue / in->capacity_per_s * 1e3,
        "queue / capacity = %.6g / %.6g, the worst", queue, in->capacity_per_s);
    row_of_drain(plan, "burst_drain_s", "queue", queue);
}

/* Regular arrivals and service times. */
static void size_burst(struct plan *plan)
{
    const struct plan_input *in = &plan->in;
    double excess_per_s = fmax(in->burst_per_s - in->capacity_per_s, 0);
    double excess = excess_per_s * in->burst_s;
    double patience_s = in->deadline_s ? in->deadline_s : DEMAND_PATIENCE_NS / 1e9;

    size_queue_in_burst(plan, excess);
    size_retry_after(plan, fmin(fmax(excess - plan->places, 0), excess_per_s * patience_s),
                     "refused that still want it");
}

bool plan_make(const struct plan_input *in, struct plan *plan)
{
    *plan = (struct plan){.in = *in};
    if (in->burst_per_s && !in->rate_per_s)
        return impossible(plan, "--burst: say also the --rate before and after it");
    if (!size_service(plan))
        return false;
    if (in->rate_per_s)
        size_steady_state(plan);
    if (!size_window(plan) || !size_age(plan))
        return false;
    size_places(plan);
    if (!size_reserve(plan))
        return false;
    size_idle(plan);
    if (!in->rate_per_s)
        return true;
    if (!size_lines(plan))
        return false;
    size_queue_in_steady_state(plan);
    size_instances(plan);
    if (in->burst_per_s)
        size_burst(plan);
    else
        size_retry_after(plan, 0, "nobody else");
    return true;
}

int plan_main(int argc, char **argv)
{
    struct plan_input in;
    struct plan plan;
    int status = plan_options(argc, argv, &in);

    if (status)
        return status > 0 ? 0 : 2;
    if (!plan_make(&in, &plan)) {
        fprintf(stderr, "sluice-sim plan: %s\n", plan.error);
        return 2;
    }
    if (in.json)
        plan_print_json(&plan, stdout);
    else
        plan_print(&plan, stdout);
    return 0;
}
