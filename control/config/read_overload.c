/* SPDX-License-Identifier: BSD-3-Clause */
/* What becomes of the work beyond a service's capacity: the groups of one service. */
#include "control/config/address_text.h"
#include "control/config/limits.h"
#include "control/config/settings_reader.h"
#include "dataplane/policy/prefix.h"

#define MS_NS            1000000ull
#define S_NS             (1000 * MS_NS)
#define FAILURES_MAX     1000
#define FAILURES_DEFAULT 3
#define CEILING_DEFAULT  980000u /* ppm */
#define PROBES_DEFAULT   10u     /* attempts per second */
#define WEIGHT_MAX       1000

static void read_places(struct reader *r, const config_setting_t *setting, uint32_t *places)
{
    int64_t value;

    if (read_integer(r, setting, 0, POLICY_PLACES_MAX, &value))
        *places = (uint32_t)value;
}

static void read_wait_places(struct reader *r, const config_setting_t *setting, void *target)
{
    read_places(r, setting, &((struct policy_wait *)target)->places);
}

static void read_wait_age(struct reader *r, const config_setting_t *setting, void *target)
{
    read_duration(r, setting, &limits_age, &((struct policy_wait *)target)->age_ns);
}

static void read_wait_order(struct reader *r, const config_setting_t *setting, void *target)
{
    static const char *const words[] = {"fifo", "adaptive", "deadline", NULL};
    struct policy_wait *wait = target;
    int i;

    if (read_word(r, setting, words, &i))
        wait->order = (enum policy_order[]){ORDER_FIFO, ORDER_ADAPTIVE, ORDER_DEADLINE}[i];
}

void read_wait(struct reader *r, const config_setting_t *setting, void *target)
{
    static const struct key keys[] = {
        {"places", read_wait_places, false},
        {"age", read_wait_age, false},
        {"order", read_wait_order, false},
    };

    READ_GROUP(r, setting, keys, &((struct policy_service *)target)->wait);
}

static void read_reserved_slots(struct reader *r, const config_setting_t *setting, void *target)
{
    int64_t value;

    if (read_integer(r, setting, 0, POLICY_WINDOW_MAX - 1, &value))
        ((struct policy_reserve *)target)->slots = (uint32_t)value;
}

static void read_reserved_places(struct reader *r, const config_setting_t *setting, void *target)
{
    read_places(r, setting, &((struct policy_reserve *)target)->places);
}

static void read_class_reserve(struct reader *r, const config_setting_t *setting,
                               struct policy_reserve *reserve)
{
    static const struct key keys[] = {{"slots", read_reserved_slots, false},
                                      {"places", read_reserved_places, false}};

    READ_GROUP(r, setting, keys, reserve);
}

static void read_normal(struct reader *r, const config_setting_t *setting, void *target)
{
    read_class_reserve(r, setting, &((struct policy_reserve *)target)[CLASS_NORMAL]);
}

static void read_critical(struct reader *r, const config_setting_t *setting, void *target)
{
    read_class_reserve(r, setting, &((struct policy_reserve *)target)[CLASS_CRITICAL]);
}

void read_reserve(struct reader *r, const config_setting_t *setting, void *target)
{
    static const struct key keys[] = {{"normal", read_normal, false},
                                      {"critical", read_critical, false}};

    READ_GROUP(r, setting, keys, ((struct policy_service *)target)->reserve);
}

static void read_ceiling(struct reader *r, const config_setting_t *setting, void *target)
{
    read_decimal(r, setting, &limits_ceiling, &((struct policy_shed *)target)->ceiling_ppm);
}

static void read_shed_reserve(struct reader *r, const config_setting_t *setting, void *target)
{
    struct quota_rate *reserve = &((struct policy_shed *)target)->reserve, read = *reserve;

    if (!read_rate(r, setting, &read))
        return;
    if (read.unlimited)
        refuse(r, setting, "0, or 1..1000000000 per s, min, h or day",
               "an unlimited reserve leaves nothing");
    else
        *reserve = read;
}

void read_shed(struct reader *r, const config_setting_t *setting, void *target)
{
    static const struct key keys[] = {{"ceiling", read_ceiling, false},
                                      {"reserve", read_shed_reserve, false}};

    READ_GROUP(r, setting, keys, &((struct policy_service *)target)->shed);
}

static void read_failures(struct reader *r, const config_setting_t *setting, void *target)
{
    int64_t value;

    if (read_integer(r, setting, 1, FAILURES_MAX, &value))
        ((struct policy_breaker *)target)->failures = (uint32_t)value;
}

static void read_open(struct reader *r, const config_setting_t *setting, void *target)
{
    static const struct duration_limits limits = {100 * MS_NS, 60 * S_NS, 1, "100ms..1min"};

    read_duration(r, setting, &limits, &((struct policy_breaker *)target)->open_ns);
}

static void read_open_max(struct reader *r, const config_setting_t *setting, void *target)
{
    static const struct duration_limits limits = {100 * MS_NS, 3600 * S_NS, 1, "100ms..1h"};

    read_duration(r, setting, &limits, &((struct policy_breaker *)target)->open_max_ns);
}

static void read_response(struct reader *r, const config_setting_t *setting, void *target)
{
    static const struct duration_limits limits = {MS_NS, 60 * S_NS, 1, "1ms..1min"};

    read_duration(r, setting, &limits, &((struct policy_breaker *)target)->response_ns);
}

void read_breaker(struct reader *r, const config_setting_t *setting, void *target)
{
    static const struct key keys[] = {
        {"failures", read_failures, false},
        {"open", read_open, false},
        {"open_max", read_open_max, false},
        {"response", read_response, false},
    };
    struct policy_breaker *breaker = &((struct policy_service *)target)->breaker;

    breaker->failures = FAILURES_DEFAULT;
    READ_GROUP(r, setting, keys, breaker);
    if (breaker->open_max_ns < breaker->open_ns) {
        const config_setting_t *given = config_setting_get_member(setting, "open_max");

        if (given)
            refuse(r, given, "", "is shorter than open");
        breaker->open_max_ns = breaker->open_ns;
    }
}

static void read_probe_prefixes(struct reader *r, const config_setting_t *setting, void *target)
{
    static const char range[] = "an IPv4 or IPv6 network such as 10.0.0.0/24";
    struct policy_probes *probes = target;
    int n = read_elements(r, setting, true, 1, POLICY_PROBES_MAX);

    if (n > 0)
        probes->prefixes = reader_alloc(r, (size_t)n, sizeof(*probes->prefixes));
    for (int i = 0; i < n && probes->prefixes; i++) {
        const config_setting_t *element = config_setting_get_elem(setting, (unsigned)i);
        struct policy_network *prefix = &probes->prefixes[probes->n];
        const char *text = read_string(r, element, range);
        char quoted[LIMITS_QUOTED_MAX];

        if (!text)
            continue;
        if (prefix_parse(text, &prefix->network, &prefix->bits))
            probes->n++;
        else
            refuse(r, element, range, "%s is no prefix", limits_quote(text, quoted));
    }
}

static void read_probe_attempts(struct reader *r, const config_setting_t *setting, void *target)
{
    struct quota_rate *rate = &((struct policy_probes *)target)->attempts;

    if (read_rate(r, setting, rate))
        rate->burst = rate->amount ? limits_default_burst(rate, 1) : 0;
}

void read_probes(struct reader *r, const config_setting_t *setting, void *target)
{
    static const struct key keys[] = {{"prefixes", read_probe_prefixes, true},
                                      {"attempts", read_probe_attempts, false}};
    struct policy_probes *probes = &((struct policy_service *)target)->probes;

    probes->attempts = (struct quota_rate){.amount = PROBES_DEFAULT, .period_s = 1};
    probes->attempts.burst = limits_default_burst(&probes->attempts, 1);
    READ_GROUP(r, setting, keys, probes);
}

static void read_objective(struct reader *r, const config_setting_t *setting, void *target)
{
    read_decimal(r, setting, &limits_objective, &((struct policy_slo *)target)->objective_ppm);
}

static void read_latency(struct reader *r, const config_setting_t *setting, void *target)
{
    static const struct duration_limits limits = {MS_NS, 600 * S_NS, 1, "1ms..10min"};

    read_duration(r, setting, &limits, &((struct policy_slo *)target)->latency_ns);
}

void read_slo(struct reader *r, const config_setting_t *setting, void *target)
{
    static const struct key keys[] = {{"objective", read_objective, true},
                                      {"latency", read_latency, false}};

    READ_GROUP(r, setting, keys, &((struct policy_service *)target)->slo);
}

/* The name is resolved by the checks, when every tenant is known. */
static void note_share_tenant(struct reader *r, const config_setting_t *setting, void *target)
{
    (void)target;
    read_string(r, setting, "the name of a tenant");
}

static void read_guaranteed(struct reader *r, const config_setting_t *setting, void *target)
{
    int64_t value;

    if (read_integer(r, setting, 0, POLICY_WINDOW_MAX - 1, &value))
        ((struct policy_share *)target)->guaranteed = (uint32_t)value;
}

static void read_share_ceiling(struct reader *r, const config_setting_t *setting, void *target)
{
    read_count(r, setting, "slots", &((struct policy_share *)target)->ceiling);
}

static void read_weight(struct reader *r, const config_setting_t *setting, void *target)
{
    int64_t value;

    if (read_integer(r, setting, 1, WEIGHT_MAX, &value))
        ((struct policy_share *)target)->weight = (uint32_t)value;
}

void read_shares(struct reader *r, const config_setting_t *setting, void *target)
{
    static const struct key keys[] = {
        {"tenant", note_share_tenant, true},
        {"guaranteed", read_guaranteed, false},
        {"ceiling", read_share_ceiling, false},
        {"weight", read_weight, false},
    };
    struct policy_service *service = target;
    int n = read_elements(r, setting, false, 0, POLICY_SHARES_MAX);

    if (n > 0)
        service->shares = reader_alloc(r, (size_t)n, sizeof(*service->shares));
    for (int i = 0; i < n && service->shares; i++) {
        const config_setting_t *group = config_setting_get_elem(setting, (unsigned)i);
        struct policy_share *share = &service->shares[service->n_shares++];

        *share = (struct policy_share){.ceiling = POLICY_WINDOW_MAX, .weight = 1};
        READ_GROUP(r, group, keys, share);
        if (share->ceiling < share->guaranteed)
            refuse(r, group, "", "the ceiling is below what is guaranteed");
    }
    places_of(r)->service_shares[service->id] = setting;
}

void settle_overload(const config_setting_t *group, struct policy_service *service)
{
    struct policy_breaker *breaker = &service->breaker;

    if (!service_member(group, "connections", NULL))
        service->connections = limits_default_connections(service->window);
    if (!service_member(group, "shed", "ceiling") &&
        (service_member(group, "capacity", NULL) || service_member(group, "window", NULL) ||
         service_member(group, "wait", NULL)))
        service->shed.ceiling_ppm = CEILING_DEFAULT;
    if (!service_member(group, "breaker", "response") && service->deadline_ns)
        breaker->response_ns = service->deadline_ns;
}
