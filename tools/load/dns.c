/* SPDX-License-Identifier: BSD-3-Clause */
/* A query for an A record over UDP (RFC 1035); its answers are not looked into. */
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "tools/load/protocol.h"

#define HEADER_BYTES    12u
#define NAME_MAX_BYTES  253u
#define LABEL_MAX_BYTES 63u

enum { RCODE_NOERROR = 0, RCODE_SERVFAIL = 2, RCODE_REFUSED = 5 };

/* The labels of a name; a dot at its end changes nothing. */
static bool name_fits(const char *name)
{
    size_t bytes = strlen(name);

    if (bytes == 0 || bytes > NAME_MAX_BYTES)
        return false;
    for (const char *label = name; *label;) {
        size_t n = strcspn(label, ".");

        if (n == 0 || n > LABEL_MAX_BYTES)
            return false;
        for (size_t i = 0; i < n; i++) {
            if (label[i] <= ' ' || label[i] > '~')
                return false;
        }
        label += n + (label[n] == '.');
    }
    return true;
}

static char *put_name(char *out, const char *name)
{
    while (*name) {
        size_t n = strcspn(name, ".");

        *out++ = (char)n;
        memcpy(out, name, n);
        out += n;
        name += n + (name[n] == '.');
    }
    *out++ = '\0';
    return out;
}

static void compose(const struct load_options *options, const char *kind, struct request_text *out)
{
    /* Recursion desired, one question. */
    static const char header[HEADER_BYTES] = {0, 0, 1, 0, 0, 1};
    static const char type_a_class_in[] = {0, 1, 0, 1};
    char *end;

    (void)options;
    memcpy(out->text, header, HEADER_BYTES);
    end = put_name(out->text + HEADER_BYTES, kind);
    memcpy(end, type_a_class_in, sizeof(type_a_class_in));
    out->bytes = (size_t)(end - out->text) + sizeof(type_a_class_in);
}

static void begin(struct attempt *attempt)
{
    attempt->text->text[0] = (char)(attempt->id >> 8);
    attempt->text->text[1] = (char)attempt->id;
}

/* A response with this id and this one question, in whatever case the server writes it. */
static bool answers(const struct attempt *attempt, const unsigned char *reply, size_t n)
{
    const struct request_text *query = attempt->text;

    return n >= query->bytes && (uint16_t)(reply[0] << 8 | reply[1]) == (uint16_t)attempt->id &&
           (reply[2] & 0xf8) == 0x80 && reply[4] == 0 && reply[5] == 1 &&
           memcmp(reply + query->bytes - 4, query->text + query->bytes - 4, 4) == 0 &&
           strncasecmp((const char *)reply + HEADER_BYTES, query->text + HEADER_BYTES,
                       query->bytes - 4 - HEADER_BYTES) == 0;
}

static enum reading read_reply(struct attempt *attempt, const char *bytes, size_t n)
{
    const unsigned char *reply = (const unsigned char *)bytes;

    if (!answers(attempt, reply, n))
        return READ_MORE;
    switch (reply[3] & 0x0f) {
    case RCODE_NOERROR:
        attempt->verdict = OUTCOME_USEFUL;
        break;
    case RCODE_SERVFAIL:
        attempt->verdict = OUTCOME_REFUSED_SERVFAIL;
        break;
    case RCODE_REFUSED:
        attempt->verdict = OUTCOME_REFUSED_REFUSED;
        break;
    default:
        attempt->verdict = OUTCOME_REFUSED_OTHER;
        break;
    }
    return READ_COMPLETE;
}

const struct protocol protocol_dns = {.name = "dns",
                                      .socket_type = SOCK_DGRAM,
                                      .port = 53,
                                      .kind_option = "name",
                                      .kind_default = "example.com",
                                      .kind_fits = name_fits,
                                      .compose = compose,
                                      .begin = begin,
                                      .read = read_reply};
