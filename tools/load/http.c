/* SPDX-License-Identifier: BSD-3-Clause */
/* A GET of HTTP/1.1 and its reply, whole when http_parser says so. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "tools/load/protocol.h"

#define RETRY_AFTER "retry-after"
/* Longer than any run; whatever asks for more asks for that. */
#define RETRY_AFTER_MAX_S 10000000u

/* Printable and without blanks, so that it cannot break out of the request line. */
static bool path_fits(const char *path)
{
    if (*path != '/' || strlen(path) > LOAD_KIND_MAX_BYTES)
        return false;
    for (; *path; path++) {
        if (*path <= ' ' || *path > '~')
            return false;
    }
    return true;
}

static void compose(const struct load_options *options, const char *kind, struct request_text *out)
{
    out->bytes =
        (size_t)snprintf(out->text, sizeof(out->text),
                         "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: sluice-load\r\n"
                         "Connection: %s\r\n\r\n",
                         kind, options->target_text, options->keep_alive ? "keep-alive" : "close");
}

static void begin(struct attempt *attempt)
{
    http_parser_init(&attempt->http, HTTP_RESPONSE);
    attempt->http.data = attempt;
}

static int on_field(struct http_parser *parser, const char *at, size_t n)
{
    struct attempt *attempt = parser->data;

    if (attempt->in_value)
        attempt->field_bytes = 0;
    attempt->in_value = false;
    for (size_t i = 0; i < n && attempt->field_bytes < sizeof(attempt->field); i++)
        attempt->field[attempt->field_bytes++] = at[i];
    return 0;
}

/* Blanks may follow the number. False: it is none. */
static bool read_seconds(struct attempt *attempt, char c)
{
    if (c == ' ' || c == '\t') {
        attempt->value_ended = true;
        return true;
    }
    if (c < '0' || c > '9' || attempt->value_ended)
        return false;
    attempt->retry_after_s = attempt->retry_after_s * 10 + (uint32_t)(c - '0');
    if (attempt->retry_after_s > RETRY_AFTER_MAX_S)
        attempt->retry_after_s = RETRY_AFTER_MAX_S;
    return true;
}

/* Fields and values come in pieces. A date, or whatever else is no number, asks for nothing. */
static int on_value(struct http_parser *parser, const char *at, size_t n)
{
    struct attempt *attempt = parser->data;
    bool begins = !attempt->in_value;

    attempt->in_value = true;
    if (attempt->field_bytes != strlen(RETRY_AFTER) ||
        strncasecmp(attempt->field, RETRY_AFTER, strlen(RETRY_AFTER)))
        return 0;
    if (begins) {
        attempt->retry_after_s = 0;
        attempt->value_ended = false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!read_seconds(attempt, at[i])) {
            attempt->retry_after_s = 0;
            attempt->field_bytes = 0;
            break;
        }
    }
    return 0;
}

/* RFC 9110, 15.2: the final reply is still to come. After a 101, which nobody asked for, none of
 * HTTP does. */
static bool is_interim(unsigned int status)
{
    return status / 100 == 1 && status != 101;
}

static int on_complete(struct http_parser *parser)
{
    struct attempt *attempt = parser->data;

    if (is_interim(parser->status_code)) {
        attempt->retry_after_s = 0;
        attempt->field_bytes = 0;
        return 0;
    }
    attempt->complete = true;
    attempt->lasts = http_should_keep_alive(parser);
    /* What follows is not of this reply. */
    http_parser_pause(parser, 1);
    return 0;
}

static enum outcome verdict_of(unsigned int status)
{
    switch (status) {
    case 200:
        return OUTCOME_USEFUL;
    case 403:
        return OUTCOME_REFUSED_403;
    case 429:
        return OUTCOME_REFUSED_429;
    case 503:
        return OUTCOME_REFUSED_503;
    default:
        return OUTCOME_REFUSED_OTHER;
    }
}

static enum reading read_reply(struct attempt *attempt, const char *bytes, size_t n)
{
    static const struct http_parser_settings settings = {.on_header_field = on_field,
                                                         .on_header_value = on_value,
                                                         .on_message_complete = on_complete};
    size_t parsed;

    attempt->answered |= n > 0;
    /* Zero bytes tell the parser of the end, which completes a reply without a length. */
    parsed = http_parser_execute(&attempt->http, &settings, bytes, n);
    if (attempt->complete) {
        attempt->lasts &= n > 0 && parsed == n;
        attempt->verdict = verdict_of(attempt->http.status_code);
        if (attempt->verdict != OUTCOME_REFUSED_429 && attempt->verdict != OUTCOME_REFUSED_503)
            attempt->retry_after_s = 0;
        return READ_COMPLETE;
    }
    return n == 0 || HTTP_PARSER_ERRNO(&attempt->http) != HPE_OK ? READ_BROKEN : READ_MORE;
}

const struct protocol protocol_http = {.name = "http",
                                       .socket_type = SOCK_STREAM,
                                       .port = 80,
                                       .kind_option = "path",
                                       .kind_default = "/",
                                       .kind_fits = path_fits,
                                       .compose = compose,
                                       .begin = begin,
                                       .read = read_reply};
