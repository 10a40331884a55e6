/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/load/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "tools/load/parse.h"
#include "tools/load/protocol.h"

#define NS_PER_S UINT64_C(1000000000)
/* getopt's number of the first row, beyond all letters. */
#define FIRST_ROW 256

/* One option. `read` returns 0, 1 (done, nothing to run) or -EINVAL. */
struct row {
    const char *name;
    char letter;       /* 0: none */
    const char *value; /* what it takes; NULL: nothing */
    int (*read)(struct load_options *options, const char *value);
    const char *help; /* lines of 69 at most */
};

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

static int read_rate(struct load_options *options, const char *text)
{
    return parse_rate(text, &options->schedule.count, &options->schedule.period_ns);
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
    options->kinds[options->n_kinds++] = text;
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
    return read_count(text, LOAD_ATTEMPTS_MAX, &options->attempts);
}

static int read_backoff(struct load_options *options, const char *text)
{
    return parse_range(text, &options->backoff.base_ns, &options->backoff.max_ns);
}

/* One of two words. */
static int read_word(const char *text, const char *yes, const char *no, bool *out)
{
    *out = strcmp(text, yes) == 0;
    return *out || strcmp(text, no) == 0 ? 0 : -EINVAL;
}

static int read_jitter(struct load_options *options, const char *text)
{
    return read_word(text, "full", "none", &options->backoff.jitter);
}

static int read_retry_after(struct load_options *options, const char *text)
{
    return read_word(text, "obey", "ignore", &options->obey_retry_after);
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

static int read_help(struct load_options *options, const char *text);

static int read_version(struct load_options *options, const char *text)
{
    (void)options;
    (void)text;
    puts("sluice-load " SLUICE_VERSION);
    return 1;
}

static const struct row rows[] = {
    {"target", 't', "ADDR[:PORT]", read_target,
     "where to, [ADDR]:PORT for IPv6 (port 80, udp 7, dns 53)"},
    {"protocol", 0, "NAME", read_protocol,
     "http, tcp (connect only), udp (16 bytes that are echoed), dns (http)"},
    {"rate", 'r', "N/s", read_rate, "requests per s, min or h (100/s)"},
    {"duration", 'd', "TIME", read_duration, "of sending, us|ms|s|min, 1h at most (10s)"},
    {"deadline", 0, "TIME", read_deadline, "a complete reply by then is useful (1s)"},
    {"timeout", 0, "TIME", read_timeout, "the client gives up and closes (the deadline)"},
    {"source", 's', "LIST", read_source,
     "send from these addresses in turn; a prefix stands for this\n"
     "host's addresses inside it"},
    {"path", 0, "PATH", read_path, "what to ask for with http (/); given again, in turn"},
    {"name", 0, "NAME", read_name, "the same with dns (example.com)"},
    {"poisson", 0, NULL, read_poisson, "random spacing, else even"},
    {"closed", 0, "N", read_closed,
     "in place of --rate: N clients, each asks again when its last\n"
     "request has ended. Latency then counts from the actual sending,\n"
     "and a slow service is asked less: what users would have waited\n"
     "for is not measured. To show what that hides"},
    {"seed", 0, "N", read_seed, "of all that is random (1)"},
    {"connections", 0, "N", read_connections,
     "at once, 65536 at most and less than the descriptor limit; a\n"
     "request that finds none free is not_sent (16384)"},
    {"keep-alive", 0, "N", read_keep_alive,
     "in place of --connections: N at most that stay open and are used\n"
     "again; if none is idle, the request's source opens a new one"},
    {"attempts", 0, "N", read_attempts,
     "at a piece of work, 100 at most (1): when it is refused it is tried\n"
     "again, if it is still before its deadline then"},
    {"backoff", 0, "BASE..MAX", read_backoff,
     "the wait before that, twice as long each time (50ms..1s)"},
    {"jitter", 0, "full|none", read_jitter, "a random part of the wait, or all of it (full)"},
    {"retry-after", 0, "HOW", read_retry_after,
     "obey: not before the seconds that a 429 or 503 asks for;\n"
     "ignore (obey)"},
    {"json", 'j', NULL, read_json, "one JSON object"},
    {"csv", 0, NULL, read_csv, "a header and a row"},
    {"series", 0, NULL, read_series, "also what became of each second's requests"},
    {"help", 'h', NULL, read_help, "this text"},
    {"version", 0, NULL, read_version, "which one this is"},
};

#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

static const char help_head[] =
    "Usage: sluice-load --target ADDR[:PORT] [OPTION...]\n"
    "Open-loop load: one fresh connection or datagram socket per request (but see --keep-alive), "
    "sent\n"
    "when the schedule says so; latency counts from the intended time.\n\n";

static const char help_tail[] =
    "\noffered: pieces of work; attempts: what was sent for them. Work ends as its last attempt:\n"
    " useful, late, unfinished, refused_rst (refused or reset),\n"
    "refused_timeout (no connection), refused_429, _403, _503, refused_servfail, _refused "
    "(RCODEs),\n"
    "refused_unreachable (ICMP, of datagrams), refused_other, not_sent.\n"
    "p*: latency of all that was answered; eff_*: late and unfinished counted at the deadline;\n"
    "refusal_*: time to the last refusal; behind: attempts that went out late, by more than a "
    "tenth of\n"
    "the deadline, lag_max_ms the worst of them.\n"
    "Exit: 0 measured, 1 could not, 2 usage.\n";

static void print_row(const struct row *row)
{
    char label[64], letter[] = {'-', row->letter, ',', ' ', '\0'};
    const char *line = row->help, *end;

    snprintf(label, sizeof(label), "%s--%s%s%s", row->letter ? letter : "    ", row->name,
             row->value ? " " : "", row->value ? row->value : "");
    printf("  %-25s ", label);
    while ((end = strchr(line, '\n'))) {
        printf("%.*s\n%28s", (int)(end - line), line, "");
        line = end + 1;
    }
    puts(line);
}

static int read_help(struct load_options *options, const char *text)
{
    (void)options;
    (void)text;
    fputs(help_head, stdout);
    for (size_t i = 0; i < N_ROWS; i++)
        print_row(&rows[i]);
    fputs(help_tail, stdout);
    return 1;
}

/* The rows as getopt wants them; `letters` has room for two characters a row. */
static void fill_getopt(struct option *names, char *letters)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        names[i] = (struct option){.name = rows[i].name,
                                   .has_arg = rows[i].value ? required_argument : no_argument,
                                   .val = FIRST_ROW + (int)i};
        if (!rows[i].letter)
            continue;
        *letters++ = rows[i].letter;
        if (rows[i].value)
            *letters++ = ':';
    }
    names[N_ROWS] = (struct option){0};
    *letters = '\0';
}

static const struct row *find_row(int option)
{
    if (option >= FIRST_ROW)
        return &rows[option - FIRST_ROW];
    for (size_t i = 0; i < N_ROWS; i++) {
        if (rows[i].letter == option)
            return &rows[i];
    }
    return NULL; /* getopt_long has told */
}

static int read_all(int argc, char **argv, struct load_options *options)
{
    struct option names[N_ROWS + 1];
    char letters[2 * N_ROWS + 1];
    int option, status;

    fill_getopt(names, letters);
    while ((option = getopt_long(argc, argv, letters, names, NULL)) != -1) {
        const struct row *row = find_row(option);

        if (!row)
            return -EINVAL;
        status = row->read(options, optarg);
        if (status < 0)
            fprintf(stderr, "sluice-load: cannot use \"%s\" as %s%s; see --help\n", optarg,
                    option >= FIRST_ROW ? "--" : "-",
                    option >= FIRST_ROW ? row->name : (char[]){row->letter, '\0'});
        if (status)
            return status;
    }
    if (optind < argc) {
        fprintf(stderr, "sluice-load: unexpected argument \"%s\"; see --help\n", argv[optind]);
        return -EINVAL;
    }
    return 0;
}

int options_read(int argc, char **argv, struct load_options *options)
{
    int status;

    *options = (struct load_options){
        .protocol = &protocol_http,
        .schedule = {.duration_ns = 10 * NS_PER_S, .seed = 1},
        .deadline_ns = NS_PER_S,
        .attempts = 1,
        .backoff = {.base_ns = NS_PER_S / 20, .max_ns = NS_PER_S, .jitter = true},
        .obey_retry_after = true,
        .connections = 16384};
    status = read_all(argc, argv, options);
    return status ? status : options_check(options);
}
