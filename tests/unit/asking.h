/* SPDX-License-Identifier: BSD-3-Clause */
/* Asking the verbs around a fake data plane, and comparing what they answer. */
#ifndef SLUICE_TESTS_ASKING_H
#define SLUICE_TESTS_ASKING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "control/serve/verbs.h"
#include "tests/unit/fake_dataplane.h"

static inline int start(void **state)
{
    *state = fake_create(4);
    return 0;
}

static inline int stop(void **state)
{
    fake_destroy(*state);
    return 0;
}

/* `expected` is JSON with ' for ". Integers and reals differ. */
static inline void assert_json(json_t *actual, const char *expected)
{
    char *text = strdup(expected), *c;
    json_error_t error;
    json_t *wanted;

    for (c = text; (c = strchr(c, '\'')); c++)
        *c = '"';
    wanted = json_loads(text, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (!wanted)
        fail_msg("expectation: %s: %s", error.text, text);
    if (!json_equal(actual, wanted)) {
        char *got = json_dumps(actual, JSON_COMPACT | JSON_ENCODE_ANY);

        fail_msg("\n got %s\nwant %s", got, text);
    }
    json_decref(wanted);
    free(text);
}

/* The whole text of an answer. */
static inline char *text_of(struct fake *fake, const char *line)
{
    struct control_answer *answer = verbs_answer(&fake->plane, line);
    char *text = NULL, *piece;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);

    assert_non_null(answer);
    while ((piece = answer->next(answer))) {
        fputs(piece, out);
        free(piece);
    }
    answer->release(answer);
    fclose(out);
    return text;
}

static inline json_t *ask(struct fake *fake, const char *line)
{
    char *text = text_of(fake, line);
    json_error_t error;
    json_t *answer = json_loads(text, JSON_REJECT_DUPLICATES, &error);

    if (!answer)
        fail_msg("%s: %s", error.text, text);
    free(text);
    return answer;
}

static inline void assert_answer(struct fake *fake, const char *line, const char *expected)
{
    json_t *answer = ask(fake, line);

    assert_json(answer, expected);
    json_decref(answer);
}

static inline json_t *first_of(json_t *answer, const char *listing)
{
    return json_array_get(json_object_get(answer, listing), 0);
}

static inline void assert_code(struct fake *fake, const char *line, const char *code,
                               const char *key)
{
    json_t *answer = ask(fake, line), *error = json_object_get(answer, "error");
    const char *actual = json_string_value(json_object_get(error, "key"));

    assert_string_equal(json_string_value(json_object_get(error, "code")), code);
    assert_true(json_string_length(json_object_get(error, "message")) > 0);
    if (key)
        assert_string_equal(actual, key);
    else
        assert_null(actual);
    json_decref(answer);
}

#define VERB_TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

#endif
