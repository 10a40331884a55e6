/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "control/serve/verb.h"

#define JSON_FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(12))

struct answer {
    struct control_answer base; /* first: the socket hands this one back */
    json_t *whole;
    const struct listing *listing;
    const struct plane *plane;
    uint32_t next; /* element of the listing */
    bool done;
};

static bool print_items(struct answer *answer, FILE *out)
{
    const struct listing *listing = answer->listing;
    uint32_t count = listing->count(answer->plane);

    if (answer->next == 0)
        fprintf(out, "{\"version\":%d,\"%s\":[", ANSWER_VERSION, listing->name);
    for (uint32_t i = 0; i < listing->piece && answer->next < count; i++) {
        json_t *item = listing->item(answer->plane, answer->next);
        bool printed;

        if (answer->next++ > 0)
            fputc(',', out);
        printed = item && json_dumpf(item, out, JSON_FLAGS) == 0;
        json_decref(item);
        if (!printed)
            return false;
    }
    answer->done = answer->next >= count;
    if (answer->done)
        fputs("]}\n", out);
    return true;
}

static bool print_whole(struct answer *answer, FILE *out)
{
    answer->done = true;
    return json_dumpf(answer->whole, out, JSON_FLAGS) == 0 && fputc('\n', out) == '\n';
}

static char *answer_next(struct control_answer *base)
{
    struct answer *answer = (struct answer *)base;
    char *text = NULL;
    size_t bytes;
    FILE *out;
    bool printed;

    if (answer->done)
        return NULL;
    out = open_memstream(&text, &bytes);
    if (!out)
        return NULL;
    printed = answer->whole ? print_whole(answer, out) : print_items(answer, out);
    if (fclose(out) == 0 && printed)
        return text;
    free(text);
    answer->done = true;
    return NULL;
}

static void answer_release(struct control_answer *base)
{
    struct answer *answer = (struct answer *)base;

    json_decref(answer->whole);
    free(answer);
}

static struct answer *answer_create(void)
{
    struct answer *answer = calloc(1, sizeof(*answer));

    if (answer)
        answer->base = (struct control_answer){.next = answer_next, .release = answer_release};
    return answer;
}

struct control_answer *answer_listing(const struct plane *plane, const struct listing *listing)
{
    struct answer *answer = answer_create();

    if (!answer)
        return NULL;
    answer->plane = plane;
    answer->listing = listing;
    return &answer->base;
}

struct control_answer *answer_whole(json_t *json)
{
    struct answer *answer = json ? answer_create() : NULL;

    if (!answer) {
        json_decref(json);
        return NULL;
    }
    answer->whole = json;
    return &answer->base;
}
