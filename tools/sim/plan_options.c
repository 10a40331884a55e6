/* SPDX-License-Identifier: BSD-3-Clause */
#include <getopt.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/limits.h"
#include "control/config/units.h"
#include "tools/sim/plan.h"

#define US_NS 1000ull
#define MS_NS (1000 * US_NS)
#define S_NS  (1000 * MS_NS)

#define SPREAD_MAX  100
#define PPM_PERCENT (POLICY_PPM / 100)
#define MILLI       1000u

static const char help_text[] =
    "Usage: sluice-sim plan OPTION...\n"
    "From what a service can do to a configuration, with the formula behind every number.\n\n"
    "      --capacity N/s         completions it can give, in s, min, h or day\n"
    "      --service TIME         one piece of work takes, on average\n"
    "      --slots N              pieces of work it does at once: two of these three\n"
    "      --utilisation X        of its slots, up to which it is in time (.85): the capacity\n"
    "                             where that is not stated\n"
    "      --rate N/s             what is offered\n"
    "      --burst \"N/s for TIME\" what is offered for a while instead\n"
    "      --critical N/s         by so much may critical work rise in a burst\n"
    "      --deadline TIME        from the attempt to the end of the reply, or none (none)\n"
    "      --wait TIME            longest wait for a slot (100ms)\n"
    "      --recover TIME         in which a full queue shall be gone (1s)\n"
    "      --unit UNIT            connection, exchange or datagram (connection)\n"
    "      --rtt TIME             round trip to the clients (none)\n"
    "      --spread X             of the service times, standard deviation over mean (1)\n"
    "      --block X              share that may be refused where nobody waits (1%)\n"
    "      --lost-fins X          of the clients vanish without a FIN, or replies get lost (1%)\n"
    "  -j, --json                 one JSON object\n"
    "  -h, --help\n\n"
    "Times in us, ms, s, min or h; X as .01 or 1%. Exit: 0 planned, 2 usage.\n";

enum kind { RATE, DURATION, SHARE, SLOTS, SPREAD, UNIT, BURST };

/* A value goes to `offset` of struct plan_input; limits are those of a duration, or of a share in
 * ppm. */
struct plan_option {
    const char *name;
    enum kind kind;
    size_t offset;
    struct duration_limits limits;
};

#define AT(member) offsetof(struct plan_input, member)

static const struct plan_option options[] = {
    {"capacity", RATE, AT(capacity_per_s), {0}},
    {"service", DURATION, AT(service_s), {US_NS, 3600 * S_NS, 1, "1us..1h"}},
    {"slots", SLOTS, AT(slots), {0}},
    {"utilisation", SHARE, AT(utilisation), {10000, POLICY_PPM, 1, "0.01..1"}},
    {"rate", RATE, AT(rate_per_s), {0}},
    {"burst", BURST, AT(burst_s), {MS_NS, 86400 * S_NS, 1, "1ms..24h"}},
    {"critical", RATE, AT(critical_per_s), {0}},
    {"deadline", DURATION, AT(deadline_s), {MS_NS, 600 * S_NS, 1, "1ms..10min, or none"}},
    {"wait", DURATION, AT(age_s), {MS_NS, 10 * S_NS, US_NS, "1ms..10s in whole us"}},
    {"recover", DURATION, AT(recovery_s), {MS_NS, 86400 * S_NS, 1, "1ms..24h"}},
    {"unit", UNIT, AT(unit), {0}},
    {"rtt", DURATION, AT(rtt_s), {US_NS, 10 * S_NS, 1, "1us..10s, or none"}},
    {"spread", SPREAD, AT(spread), {0}},
    {"block", SHARE, AT(blocked), {100, 500000, 1, "0.01%..50%"}},
    {"lost-fins", SHARE, AT(lost), {0, 500000, 1, "0..50%"}},
};
#define N_OPTIONS (sizeof(options) / sizeof(options[0]))

/* What the text of an option is: `why` starts with a verb. */
static bool wrong(const struct plan_option *option, const char *text, const char *why,
                  const char *range)
{
    char quoted[LIMITS_QUOTED_MAX];

    fprintf(stderr, "sluice-sim plan: --%s: %s %s (%s)\n", option->name, limits_quote(text, quoted),
            why, range);
    return false;
}

static bool read_rate(const struct plan_option *option, const char *text, double *per_s)
{
    struct quota_rate rate = {0};
    enum units_result result = units_rate(text, &rate);

    if (result == UNITS_OK && (rate.unlimited || !rate.amount))
        result = UNITS_RANGE;
    if (result != UNITS_OK)
        return wrong(option, text,
                     result == UNITS_RANGE     ? "is out of range"
                     : result == UNITS_BARE    ? "has no period, such as /s"
                     : result == UNITS_INEXACT ? "is no whole number in its period"
                                               : "is no rate",
                     "1..1000000000 per s, min, h or day");
    *per_s = (double)rate.amount / rate.period_s;
    return true;
}

static bool read_duration(const struct plan_option *option, const char *text, double *duration_s)
{
    bool may_be_none = strstr(option->limits.range, "none");
    uint64_t duration_ns = 0;
    struct config_refusal no;

    if (!(may_be_none && !strcmp(text, "none")) &&
        !limits_duration(text, &option->limits, &duration_ns, &no)) {
        fprintf(stderr, "sluice-sim plan: --%s: %s (%s)\n", option->name, no.why, no.range);
        return false;
    }
    *duration_s = (double)duration_ns / S_NS;
    return true;
}

/* Decimals as in a configuration, but also ".85", and "1%". */
static enum units_result read_decimal(const char *text, uint32_t scale, bool may_be_percent,
                                      uint64_t *value)
{
    char digits[32] = "0";
    size_t length = strlen(text);

    if (!length || length + 2 > sizeof(digits))
        return UNITS_SYNTAX;
    strcpy(digits + (text[0] == '.'), text);
    length = strlen(digits);
    if (may_be_percent && digits[length - 1] == '%') {
        digits[length - 1] = '\0';
        scale /= 100;
    }
    return units_decimal(digits, scale, value);
}

static bool read_share(const struct plan_option *option, const char *text, double *share)
{
    uint64_t ppm;
    enum units_result result = read_decimal(text, POLICY_PPM, true, &ppm);

    if (result == UNITS_OK && (ppm < option->limits.min_ns || ppm > option->limits.max_ns))
        result = UNITS_RANGE;
    if (result != UNITS_OK)
        return wrong(option, text,
                     result == UNITS_RANGE     ? "is out of range"
                     : result == UNITS_INEXACT ? "is too fine"
                                               : "is no share",
                     option->limits.range);
    *share = (double)ppm / POLICY_PPM;
    return true;
}

static bool read_spread(const struct plan_option *option, const char *text, double *spread)
{
    uint64_t milli;

    if (read_decimal(text, MILLI, false, &milli) != UNITS_OK || milli > SPREAD_MAX * MILLI)
        return wrong(option, text, "is no spread", "0..100, to three decimals");
    *spread = (double)milli / MILLI;
    return true;
}

static bool read_slots(const struct plan_option *option, const char *text, double *slots)
{
    uint64_t n;

    if (units_integer(text, &n) != UNITS_OK || n < 1 || n > POLICY_WINDOW_MAX)
        return wrong(option, text, "is no number of slots", "1..16777216");
    *slots = (double)n;
    return true;
}

static bool read_unit(const struct plan_option *option, const char *text, enum policy_unit *unit)
{
    static const char *const names[] = {[UNIT_CONNECTION] = "connection",
                                        [UNIT_EXCHANGE] = "exchange",
                                        [UNIT_DATAGRAM] = "datagram"};

    for (int i = 0; i < 3; i++) {
        if (!strcmp(text, names[i])) {
            *unit = (enum policy_unit)i;
            return true;
        }
    }
    return wrong(option, text, "is no unit", "connection, exchange or datagram");
}

static bool read_burst(const struct plan_option *option, const char *text, struct plan_input *in)
{
    static const char between[] = " for ";
    const char *after = strstr(text, between);
    char rate[32];

    if (!after || (size_t)(after - text) >= sizeof(rate))
        return wrong(option, text, "is no burst", "such as \"200/s for 10s\"");
    memcpy(rate, text, (size_t)(after - text));
    rate[after - text] = '\0';
    return read_rate(option, rate, &in->burst_per_s) &&
           read_duration(option, after + strlen(between), &in->burst_s);
}

static bool read_option(const struct plan_option *option, const char *text, struct plan_input *in)
{
    void *target = (char *)in + option->offset;

    switch (option->kind) {
    case RATE:
        return read_rate(option, text, target);
    case DURATION:
        return read_duration(option, text, target);
    case SHARE:
        return read_share(option, text, target);
    case SLOTS:
        return read_slots(option, text, target);
    case SPREAD:
        return read_spread(option, text, target);
    case UNIT:
        return read_unit(option, text, target);
    case BURST:
        return read_burst(option, text, in);
    }
    return false;
}

int plan_options(int argc, char **argv, struct plan_input *in)
{
    struct option known[N_OPTIONS + 3] = {{"json", no_argument, NULL, 'j'},
                                          {"help", no_argument, NULL, 'h'}};
    int c;

    for (size_t i = 0; i < N_OPTIONS; i++)
        known[i + 2] = (struct option){options[i].name, required_argument, NULL, 256 + (int)i};
    *in = (struct plan_input){.age_s = .1,
                              .recovery_s = 1,
                              .utilisation = .85,
                              .blocked = .01,
                              .lost = .01,
                              .spread = 1,
                              .unit = UNIT_CONNECTION};
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":jh", known, NULL)) != -1) {
        if (c == 'h') {
            fputs(help_text, stdout);
            return 1;
        }
        if (c == 'j') {
            in->json = true;
        } else if (c == '?' || c == ':') {
            fprintf(stderr, "sluice-sim plan: %s %s (see --help)\n", argv[optind - 1],
                    c == ':' ? "needs a value" : "is no option");
            return -1;
        } else if (!read_option(&options[c - 256], optarg, in)) {
            return -1;
        }
    }
    if (optind == argc)
        return 0;
    fprintf(stderr, "sluice-sim plan: %s is no option (see --help)\n", argv[optind]);
    return -1;
}
