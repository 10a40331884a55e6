/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/serve/verbs.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "control/serve/verb.h"

static json_t *verb_help(const struct request *request);

static const struct verb {
    const char *name, *arguments, *help;
    unsigned min_words, max_words; /* the verb included */
    json_t *(*run)(const struct request *request);
} verbs[] = {
    {"status", "", "the daemon: version, uptime, policy, memory, clock, gates", 1, 1, verb_status},
    {"tenants", "[NAME]", "quotas, windows and counters of tenants", 1, 2, verb_tenants},
    {"services", "[NAME]", "windows and counters of services", 1, 2, verb_services},
    {"workers", "", "packets, flows and load of every worker", 1, 1, verb_workers},
    {"ports", "", "links, packets and queues of every device", 1, 1, verb_ports},
    {"set", "tenant NAME KEY=VALUE...", "change a tenant now, all of it or nothing", 4,
     VERBS_WORDS_MAX, verb_set},
    {"help", "", "this list", 1, 1, verb_help},
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

static json_t *run_verb(const struct request *request)
{
    for (unsigned i = 0; i < VERBS_COUNT; i++) {
        const struct verb *verb = &verbs[i];
        json_t *message, *error;

        if (strcmp(verb->name, request->words[0]) != 0)
            continue;
        if (request->n_words >= verb->min_words && request->n_words <= verb->max_words)
            return verb->run(request);
        message = json_sprintf("usage: %s%s%s", verb->name, verb->arguments[0] ? " " : "",
                               verb->arguments);
        error = json_error("usage", json_string_value(message), NULL, NULL);
        json_decref(message);
        return error;
    }
    return json_error("usage", "there is no such verb, `help` lists them", request->words[0], NULL);
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

json_t *verbs_run(struct plane *plane, const char *line)
{
    char *words[VERBS_WORDS_MAX];
    struct request request = {.plane = plane, .words = words};
    char *copy, *rest, *word;
    json_t *answer;

    if (!is_text(line))
        return json_error("usage", "a request is words of UTF-8 text", NULL, NULL);
    copy = strdup(line);
    if (!copy)
        return NULL;
    rest = copy;
    while ((word = strsep(&rest, " \t\r")) && request.n_words < VERBS_WORDS_MAX)
        if (*word)
            words[request.n_words++] = word;
    if (word)
        answer = json_error("usage", "too many words", NULL, NULL);
    else if (request.n_words == 0)
        answer = json_error("usage", "an empty request, `help` lists the verbs", NULL, NULL);
    else
        answer = run_verb(&request);
    free(copy);
    return answer;
}

char *verbs_answer(void *plane, const char *line)
{
    json_t *answer = verbs_run(plane, line);
    char *text = NULL, *longer;
    size_t bytes;

    if (answer)
        text = json_dumps(answer, JSON_COMPACT | JSON_REAL_PRECISION(12));
    json_decref(answer);
    if (!text)
        return NULL;
    bytes = strlen(text);
    longer = realloc(text, bytes + 2);
    if (!longer) {
        free(text);
        return NULL;
    }
    memcpy(longer + bytes, "\n", 2);
    return longer;
}
