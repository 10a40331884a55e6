/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "control/config/address_text.h"
#include "control/config/limits.h"
#include "control/serve/verb.h"
#include "control/serve/verbs.h"
#include "dataplane/policy/prefix.h"

#define NS_PER_S     1000000000ull
#define FIRST_PREFIX 2 /* deny add PREFIX ... */

/* The prefixes of a request. */
struct denial {
    struct policy_network networks[VERBS_WORDS_MAX]; /* masked, each once */
    uint32_t n;
    uint32_t repeated;
    json_t *masked; /* those that had host bits, as they were given and as they are meant */
};

static json_t *no_prefix(const char *word)
{
    return json_error("range", "is no prefix", word, "10.1.0.0/16, 2001:db8::/32 or an address");
}

static bool is_there(const struct denial *denial, const struct policy_network *network)
{
    for (uint32_t i = 0; i < denial->n; i++)
        if (denial->networks[i].bits == network->bits &&
            address_equal(&denial->networks[i].network, &network->network))
            return true;
    return false;
}

/* False: the word is no prefix. */
static bool take_prefix(struct denial *denial, const char *word)
{
    struct policy_network network;
    struct address given;
    char text[ADDRESS_TEXT_MAX];

    if (!prefix_parse(word, &given, &network.bits))
        return false;
    network.network = prefix_mask(&given, network.bits);
    if (!address_equal(&network.network, &given))
        denial->masked = json_and(denial->masked,
                                  json_pack("{s:s, s:s}", "given", word, "meant",
                                            prefix_format(&network.network, network.bits, text)));
    if (is_there(denial, &network))
        denial->repeated++;
    else
        denial->networks[denial->n++] = network;
    return true;
}

/* NULL, or the error; words from FIRST_PREFIX to n_words. */
static json_t *take_prefixes(const struct request *request, unsigned n_words, struct denial *denial)
{
    *denial = (struct denial){.masked = json_array()};
    for (unsigned i = FIRST_PREFIX; i < n_words; i++) {
        if (take_prefix(denial, request->words[i]))
            continue;
        json_decref(denial->masked);
        return no_prefix(request->words[i]);
    }
    return NULL;
}

static json_t *unsaved(const struct plane *plane)
{
    if (!plane->denied->unsaved)
        return json_null();
    return json_string(plane->denied_unsaved == -EEXIST
                           ? "its file could not be read at the start, move it away"
                           : strerror(-plane->denied_unsaved));
}

/* What has come of it, behind the counts of what was done. */
static json_t *outcome(const struct request *request, const struct denial *denial, json_t *counts)
{
    const struct plane *plane = request->plane;
    json_t *answer = json_with(json_object(), "version", json_integer(ANSWER_VERSION));

    answer = json_joined(answer, counts);
    answer = json_with(answer, "repeated", json_count(denial->repeated));
    answer = json_with(answer, "masked", denial->masked);
    answer = json_with(answer, "entries", json_count(plane->denied->n));
    answer = json_with(answer, "epoch", json_count(plane->settings->policy.epoch));
    answer = json_with(answer, "pending", json_boolean(plane->denied_pending));
    return json_with(answer, "unsaved", unsaved(plane));
}

static const struct duration_limits end_limits = {NS_PER_S, 8760 * 3600 * NS_PER_S, 1, "1s..8760h"};

/* Where the word `for` stands; n_words: nowhere. */
static unsigned find_for(const struct request *request)
{
    unsigned i = FIRST_PREFIX;

    while (i < request->n_words && strcmp(request->words[i], "for") != 0)
        i++;
    return i;
}

/* `... for DURATION` at the end of the words: NULL and where the prefixes end, or the error. */
static json_t *take_end(const struct request *request, unsigned *n_words, uint64_t *end_s)
{
    struct config_refusal no;
    uint64_t duration_ns;

    *n_words = find_for(request);
    *end_s = DENY_FOREVER;
    if (*n_words == request->n_words)
        return NULL;
    if (*n_words == FIRST_PREFIX)
        return json_error("usage", "usage: deny add PREFIX... [for DURATION]", NULL, NULL);
    if (*n_words + 1 == request->n_words)
        return json_error("usage", "a time is missing: deny add PREFIX... for 10min", "for",
                          end_limits.range);
    if (*n_words + 2 < request->n_words)
        return json_error("usage", "nothing comes behind the time: deny add PREFIX... for 10min",
                          "for", end_limits.range);
    if (!limits_duration(request->words[*n_words + 1], &end_limits, &duration_ns, &no))
        return json_error("range", no.why, "for", no.range);
    *end_s = (request->plane->denied_now_ns + duration_ns + NS_PER_S - 1) / NS_PER_S;
    return NULL;
}

static json_t *no_room(uint32_t n, uint32_t wanted)
{
    char message[96], range[32];

    snprintf(message, sizeof(message), "the list holds %u prefixes, %u more do not fit", n, wanted);
    snprintf(range, sizeof(range), "at most %u", POLICY_DENIED_MAX);
    return json_error("range", message, NULL, range);
}

json_t *verb_deny_add(const struct request *request)
{
    struct deny_list *list = request->plane->denied;
    struct denial denial;
    uint32_t added = 0;
    uint64_t end_s;
    unsigned n_words;
    json_t *error = take_end(request, &n_words, &end_s);

    if (!error)
        error = take_prefixes(request, n_words, &denial);
    if (error)
        return error;
    for (uint32_t i = 0; i < denial.n; i++)
        added += !deny_has(list, &denial.networks[i]);
    if (list->n + added > POLICY_DENIED_MAX) {
        json_decref(denial.masked);
        return no_room(list->n, added);
    }
    for (uint32_t i = 0; i < denial.n; i++)
        deny_put(list, &denial.networks[i], end_s);
    plane_deny(request->plane, added > 0);
    return outcome(request, &denial,
                   json_pack("{s:I, s:I}", "added", (json_int_t)added, "renewed",
                             (json_int_t)(denial.n - added)));
}

json_t *verb_deny_del(const struct request *request)
{
    struct deny_list *list = request->plane->denied;
    struct denial denial;
    json_t *error = take_prefixes(request, request->n_words, &denial);
    char text[ADDRESS_TEXT_MAX];

    if (error)
        return error;
    for (uint32_t i = 0; i < denial.n; i++) {
        const struct policy_network *network = &denial.networks[i];

        if (deny_has(list, network))
            continue;
        json_decref(denial.masked);
        return json_error("unknown", "is not on the deny list, nothing is deleted",
                          prefix_format(&network->network, network->bits, text), NULL);
    }
    for (uint32_t i = 0; i < denial.n; i++)
        deny_remove(list, &denial.networks[i]);
    plane_deny(request->plane, true);
    return outcome(request, &denial, json_pack("{s:I}", "deleted", (json_int_t)denial.n));
}

static uint32_t count_denied(const struct plane *plane)
{
    return plane->denied->n;
}

/* Rounded down: it is denied at least so long. */
static json_t *expires_in(const struct plane *plane, uint64_t end_s)
{
    uint64_t end_ns = end_s * NS_PER_S, now_ns = plane->denied_now_ns;
    uint64_t left_ns = end_ns > now_ns ? end_ns - now_ns : 0;

    return end_s == DENY_FOREVER ? json_null() : json_duration(left_ns / NS_PER_S * NS_PER_S);
}

static json_t *denied_item(const struct plane *plane, uint32_t index)
{
    const struct policy_network *network = &plane->denied->networks[index];
    char text[ADDRESS_TEXT_MAX];

    return json_pack("{s:s, s:o}", "prefix", prefix_format(&network->network, network->bits, text),
                     "expires_in", expires_in(plane, plane->denied->ends_s[index]));
}

const struct listing listing_denied = {"denied", 256, count_denied, denied_item};
