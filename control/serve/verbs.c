/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/serve/verbs.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "control/serve/verb.h"

static json_t *verb_help(const struct request *request);

static const struct verb {
    const char *name, *arguments, *help; /* the name is one word, or two */
    unsigned min_words, max_words;       /* the verb included */
    json_t *(*run)(const struct request *request);
    const struct listing *listing; /* what the verb alone lists, in place of run */
} verbs[] = {
    {"status", "", "the daemon: version, uptime, policy, memory, clock, gates", 1, 1, verb_status,
     NULL},
    {"tenants", "[NAME]", "quotas, windows and counters of tenants", 1, 2, verb_tenant,
     &listing_tenants},
    {"services", "[NAME]", "how services do: windows, waiting, shedding, breakers, latency", 1, 2,
     verb_service, &listing_services},
    {"workers", "[--steps DURATION]",
     "packets, flows and load of every worker; sample its steps for so long", 1, 3, verb_workers,
     NULL},
    {"ports", "", "links, packets and queues of every device", 1, 1, verb_ports, NULL},
    {"queues", "", "every place where packets or work can wait", 1, 1, NULL, &listing_queues},
    {"set", "tenant|service NAME KEY=VALUE...", "change one now, all of it or nothing", 4,
     VERBS_WORDS_MAX, verb_set, NULL},
    {"xdp status", "", "the XDP program at every interface: guard, stand-in or off, and why", 2, 2,
     verb_xdp_status, NULL},
    {"xdp counters", "", "what became of the packets that came to XDP programs", 2, 2,
     verb_xdp_counters, NULL},
    {"deny add", "PREFIX... [for DURATION]", "let nothing in from there, for good or so long", 3,
     VERBS_WORDS_MAX, verb_deny_add, NULL},
    {"deny del", "PREFIX...", "let it in again", 3, VERBS_WORDS_MAX, verb_deny_del, NULL},
    {"deny list", "", "what is denied, and for how long still", 2, 2, NULL, &listing_denied},
    {"help", "", "this list", 1, 1, verb_help, NULL},
};

#define VERBS_COUNT (sizeof(verbs) / sizeof(verbs[0]))

static json_t *verb_help(const struct request *request)
{
    json_t *list = json_array();

    (void)request;
    for (unsigned i = 0; i < VERBS_COUNT; i++)
        list = json_and(list, json_pack("{s:s, s:s, s:s}", "name", verbs[i].name, "arguments",
                                        verbs[i].arguments, "help", verbs[i].help));
    return json_listing("verbs", list);
}

static json_t *usage_of(const struct verb *verb)
{
    const char *blank = verb->arguments[0] ? " " : "";
    json_t *message = json_sprintf("usage: %s%s%s", verb->name, blank, verb->arguments);
    json_t *error = json_error("usage", json_string_value(message), NULL, NULL);

    json_decref(message);
    return error;
}

/* How many words of the request are the verb's name; 0: it asks for another one. */
static unsigned name_words(const struct verb *verb, const struct request *request)
{
    const char *first = request->words[0], *blank = strchr(verb->name, ' ');

    if (!blank)
        return strcmp(verb->name, first) == 0;
    if (request->n_words < 2 || strncmp(verb->name, first, (size_t)(blank - verb->name)) != 0 ||
        first[blank - verb->name] != '\0' || strcmp(blank + 1, request->words[1]) != 0)
        return 0;
    return 2;
}

/* The second words of those of two words that start with `first`: "add|del|list", or NULL. */
static json_t *seconds_of(const char *first)
{
    const size_t length = strlen(first);
    json_t *seconds = NULL;

    for (unsigned i = 0; i < VERBS_COUNT; i++) {
        const char *name = verbs[i].name;
        json_t *before = seconds;

        if (strncmp(name, first, length) != 0 || name[length] != ' ')
            continue;
        seconds = json_sprintf("%s%s%s", before ? json_string_value(before) : "", before ? "|" : "",
                               name + length + 1);
        json_decref(before);
    }
    return seconds;
}

static json_t *no_such_verb(const char *first)
{
    json_t *seconds = seconds_of(first), *message, *error;

    if (!seconds)
        return json_error("usage", "there is no such verb, `help` lists them", first, NULL);
    message = json_sprintf("usage: %s %s", first, json_string_value(seconds));
    error = json_error("usage", json_string_value(message), NULL, NULL);
    json_decref(message);
    json_decref(seconds);
    return error;
}

static struct control_answer *run_verb(const struct request *request)
{
    for (unsigned i = 0; i < VERBS_COUNT; i++) {
        const struct verb *verb = &verbs[i];
        unsigned named = name_words(verb, request);

        if (!named)
            continue;
        if (request->n_words < verb->min_words || request->n_words > verb->max_words)
            return answer_whole(usage_of(verb));
        if (verb->listing && request->n_words == named)
            return answer_listing(request->plane, verb->listing);
        return answer_whole(verb->run(request));
    }
    return answer_whole(no_such_verb(request->words[0]));
}

static struct control_answer *usage_error(const char *message)
{
    return answer_whole(json_error("usage", message, NULL, NULL));
}

/* Text a terminal and a JSON reader can bear: valid UTF-8 (jansson checks it), no control bytes. */
static bool is_text(const char *line)
{
    json_t *string;

    for (const char *c = line; *c; c++)
        if (iscntrl((unsigned char)*c) && *c != '\t' && *c != '\r')
            return false;
    string = json_string(line);
    json_decref(string);
    return string != NULL;
}

struct control_answer *verbs_answer(void *plane, const char *line)
{
    char *words[VERBS_WORDS_MAX];
    struct request request = {.plane = plane, .words = words};
    struct control_answer *answer;
    char *copy, *rest, *word;

    if (!is_text(line))
        return usage_error("a request is words of UTF-8 text");
    copy = strdup(line);
    if (!copy)
        return NULL;
    rest = copy;
    while ((word = strsep(&rest, " \t\r")) && request.n_words < VERBS_WORDS_MAX)
        if (*word)
            words[request.n_words++] = word;
    if (word)
        answer = usage_error("too many words");
    else if (request.n_words == 0)
        answer = usage_error("an empty request, `help` lists the verbs");
    else
        answer = run_verb(&request);
    free(copy);
    return answer;
}
