/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/load/options_rows.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tools/load/parse.h"
#include "tools/load/protocol.h"

static int read_target(struct load_options *options, const char *text)
{
    options->target_text = text;
    return 0;
}

static int read_protocol(struct load_options *options, const char *text)
{
    options->protocol = protocol_find(text);
    return options->protocol ? 0 : -EINVAL;
}

static int read_scenario(struct load_options *options, const char *text)
{
    options->scenario_path = text;
    return 0;
}

static int read_set(struct load_options *options, const char *text)
{
    if (options->n_sets == LOAD_SETS_MAX)
        return -EINVAL;
    options->sets[options->n_sets++] = text;
    return 0;
}

static int read_rate(struct load_options *options, const char *text)
{
    return parse_frequency(text, &options->schedule.count, &options->schedule.period_ns);
}

static int read_duration(struct load_options *options, const char *text)
{
    return parse_duration(text, &options->schedule.duration_ns);
}

static int read_deadline(struct load_options *options, const char *text)
{
    return parse_duration(text, &options->deadline_ns);
}

static int read_timeout(struct load_options *options, const char *text)
{
    return parse_duration(text, &options->timeout_ns);
}

static int read_source(struct load_options *options, const char *text)
{
    int error = source_list_add(&options->sources, text);

    if (error == -ENOENT)
        fprintf(stderr, "sluice-load: this host has no address inside %s\n", text);
    else if (error == -E2BIG)
        fprintf(stderr, "sluice-load: more than %u source addresses\n", SOURCES_MAX);
    return error;
}

static int read_kind(struct load_options *options, const char *option, const char *text)
{
    if (options->n_kinds == LOAD_KINDS_MAX)
        return -EINVAL;
    options->kind_option = option;
    options->kinds[options->n_kinds++].name = text;
    return 0;
}

static int read_path(struct load_options *options, const char *text)
{
    return read_kind(options, "path", text);
}

static int read_name(struct load_options *options, const char *text)
{
    return read_kind(options, "name", text);
}

static int read_poisson(struct load_options *options, const char *text)
{
    (void)text;
    options->schedule.poisson = true;
    return 0;
}

static int read_seed(struct load_options *options, const char *text)
{
    options->seed_given = true;
    return parse_whole(text, UINT64_MAX, &options->schedule.seed);
}

static int read_count(const char *text, uint32_t max, uint32_t *out)
{
    uint64_t n;

    if (parse_whole(text, max, &n) || n == 0)
        return -EINVAL;
    *out = (uint32_t)n;
    return 0;
}

static int read_closed(struct load_options *options, const char *text)
{
    return read_count(text, LOAD_CONNECTIONS_MAX, &options->closed);
}

static int read_connections(struct load_options *options, const char *text)
{
    options->keep_alive = false;
    return read_count(text, LOAD_CONNECTIONS_MAX, &options->connections);
}

static int read_keep_alive(struct load_options *options, const char *text)
{
    int error = read_connections(options, text);

    options->keep_alive = true;
    return error;
}

static int read_attempts(struct load_options *options, const char *text)
{
    return read_count(text, LOAD_ATTEMPTS_MAX, &options->clients.tries);
}

static int read_backoff(struct load_options *options, const char *text)
{
    uint64_t from_ns, to_ns;

    if (parse_range(text, &from_ns, &to_ns))
        return -EINVAL;
    options->clients.backoff_s = (double)from_ns / 1e9;
    options->clients.backoff_max_s = (double)to_ns / 1e9;
    return 0;
}

/* One of two words. */
static int read_word(const char *text, const char *yes, const char *no, bool *out)
{
    *out = strcmp(text, yes) == 0;
    return *out || strcmp(text, no) == 0 ? 0 : -EINVAL;
}

static int read_jitter(struct load_options *options, const char *text)
{
    bool full;

    if (read_word(text, "full", "none", &full))
        return -EINVAL;
    options->clients.jitter = full ? JITTER_FULL : JITTER_NONE;
    return 0;
}

static int read_retry_after(struct load_options *options, const char *text)
{
    return read_word(text, "obey", "ignore", &options->clients.retry_after);
}

static int read_min(struct load_options *options, const char *text)
{
    return parse_frequency(text, &options->find.min, &options->find.period_ns);
}

static int read_max(struct load_options *options, const char *text)
{
    return parse_frequency(text, &options->find.max, &options->find.max_period_ns);
}

static int read_percentile(struct load_options *options, const char *text)
{
    return read_count(text, 100, &options->find.percentile);
}

static int read_precision(struct load_options *options, const char *text)
{
    return parse_percent(text, &options->find.precision_percent);
}

static int read_json(struct load_options *options, const char *text)
{
    (void)text;
    options->format = LOAD_JSON;
    return 0;
}

static int read_csv(struct load_options *options, const char *text)
{
    (void)text;
    options->format = LOAD_CSV;
    return 0;
}

static int read_series(struct load_options *options, const char *text)
{
    (void)text;
    options->series = true;
    return 0;
}

static int read_version(struct load_options *options, const char *text)
{
    (void)options;
    (void)text;
    puts("sluice-load " SLUICE_VERSION);
    return 1;
}

const struct options_row options_rows[] = {
    {"target", 't', "ADDR[:PORT]", IN_ALL, read_target,
     "where to, [ADDR]:PORT for IPv6 (port 80, udp 7, dns 53)"},
    {"protocol", 0, "NAME", IN_ALL, read_protocol,
     "http, tcp (connect only), udp (16 bytes that are echoed), dns (http)"},
    {"scenario", 0, "FILE", IN_LOAD | WITH_SCENARIO, read_scenario,
     "what arrives when, from whose addresses, with which deadline, and\n"
     "how clients try again: see below"},
    {"set", 0, "KEY=VALUE", IN_LOAD | WITH_SCENARIO, read_set,
     "in place of a value of that file, as arrivals.0.rate=340/s"},
    {"rate", 'r', "N/s", IN_LOAD, read_rate, "requests per s, min or h (100/s)"},
    {"duration", 'd', "TIME", IN_LOAD, read_duration, "of sending, us|ms|s|min, 1h at most (10s)"},
    {"min", 0, "N/s", IN_FIND, read_min, "the lowest rate, per s, min or h (10/s)"},
    {"max", 0, "N/s", IN_FIND, read_max, "the highest, in the same unit (1000/s)"},
    {"percentile", 0, "N", IN_FIND, read_percentile,
     "of effective latency that is to meet the deadline (99)"},
    {"trial", 0, "TIME", IN_FIND, read_duration, "of sending at each rate (5s)"},
    {"precision", 0, "N%", IN_FIND, read_precision, "of the answer, 1 to 50 (2%)"},
    {"deadline", 0, "TIME", IN_BOTH, read_deadline, "a complete reply by then is useful (1s)"},
    {"timeout", 0, "TIME", IN_BOTH, read_timeout, "the client gives up and closes (the deadline)"},
    {"source", 's', "LIST", IN_ALL, read_source,
     "send from these addresses in turn; a prefix stands for this\n"
     "host's addresses inside it"},
    {"path", 0, "PATH", IN_BOTH, read_path, "what to ask for with http (/); given again, in turn"},
    {"name", 0, "NAME", IN_BOTH, read_name, "the same with dns (example.com)"},
    {"poisson", 0, NULL, IN_BOTH, read_poisson, "random spacing, else even"},
    {"closed", 0, "N", IN_LOAD, read_closed,
     "in place of --rate: N clients, each asks again when its last\n"
     "request has ended. Latency then counts from the actual sending,\n"
     "and a slow service is asked less: what users would have waited\n"
     "for is not measured. To show what that hides"},
    {"seed", 0, "N", IN_ALL, read_seed, "of all that is random (1, or the scenario's)"},
    {"connections", 0, "N", IN_ALL, read_connections,
     "at once, 65536 at most and less than the descriptor limit; a\n"
     "request that finds none free is not_sent (16384)"},
    {"keep-alive", 0, "N", IN_ALL, read_keep_alive,
     "in place of --connections: N at most that stay open and are used\n"
     "again; if none is idle, the request's source opens a new one"},
    {"attempts", 0, "N", IN_BOTH, read_attempts,
     "at a piece of work, 100 at most (1): when it is refused it is tried\n"
     "again, if it is still before its deadline then"},
    {"backoff", 0, "BASE..MAX", IN_BOTH, read_backoff,
     "the wait before that, twice as long each time (50ms..1s)"},
    {"jitter", 0, "full|none", IN_BOTH, read_jitter,
     "a random part of the wait, or all of it (full)"},
    {"retry-after", 0, "HOW", IN_BOTH, read_retry_after,
     "obey: not before the seconds that a 429 or 503 asks for;\n"
     "ignore (obey)"},
    {"json", 'j', NULL, IN_ALL, read_json, "one JSON object"},
    {"csv", 0, NULL, IN_LOAD | WITH_SCENARIO, read_csv, "a header and a row"},
    {"series", 0, NULL, IN_LOAD | WITH_SCENARIO, read_series,
     "also what became of each second's requests"},
    {"help", 'h', NULL, IN_ALL, NULL, "this text"},
    {"version", 0, NULL, IN_ALL, read_version, "which one this is"},
};

const unsigned int options_rows_n = sizeof(options_rows) / sizeof(options_rows[0]);

_Static_assert(sizeof(options_rows) / sizeof(options_rows[0]) <= OPTIONS_ROWS_MAX,
               "getopt's table has no room for more rows");
