/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/bpf/corpus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/admission/admission.h"

#define LINE_MAX_BYTES 1024
#define WORDS_MAX      6

struct layer {
    char *words[WORDS_MAX]; /* "" behind the last */
};

static uint32_t number(const char *word, int base)
{
    char *end;
    unsigned long value = strtoul(word, &end, base);

    if (!*word || *end)
        fail_msg("\"%s\" is no number", word);
    return (uint32_t)value;
}

/* -- layers of a frame -- */

static void add_vlan(struct frame *f, const struct layer *l)
{
    frame_vlan(f, (uint16_t)number(l->words[1], 16), (uint16_t)number(l->words[2], 10));
}

static void add_type(struct frame *f, const struct layer *l)
{
    frame_ethertype(f, (uint16_t)number(l->words[1], 16));
}

static void add_ip4(struct frame *f, const struct layer *l)
{
    static const uint8_t nops[40] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                     1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    struct frame_ipv4 ip = {.source = l->words[1], .destination = l->words[2], .options = nops};

    if (strcmp(l->words[3], "fragment") == 0)
        ip.fragment = (uint16_t)number(l->words[4], 16);
    else if (strcmp(l->words[3], "options") == 0)
        ip.option_bytes = number(l->words[4], 10);
    frame_ipv4(f, &ip);
}

static void add_ip6(struct frame *f, const struct layer *l)
{
    struct frame_ipv6 ip = {.source = l->words[1], .destination = l->words[2]};

    if (strcmp(l->words[3], "hop") == 0)
        ip.hop_limit = (uint8_t)number(l->words[4], 10);
    frame_ipv6(f, &ip);
}

static void add_extension(struct frame *f, const struct layer *l)
{
    frame_extension(f, (uint8_t)number(l->words[1], 10), number(l->words[2], 10));
}

static void add_fragment(struct frame *f, const struct layer *l)
{
    frame_fragment(f, (uint16_t)number(l->words[1], 10), strcmp(l->words[2], "more") == 0);
}

static void add_tcp(struct frame *f, const struct layer *l)
{
    static const char letters[] = "FSRPAU"; /* from bit 0 on */
    struct frame_tcp tcp = {.seq = 1000,
                            .source_port = (uint16_t)number(l->words[1], 10),
                            .destination_port = (uint16_t)number(l->words[2], 10)};

    for (const char *c = l->words[3]; *c && *c != '-'; c++) {
        const char *letter = strchr(letters, *c);

        if (!letter)
            fail_msg("\"%c\" is no flag of TCP", *c);
        else
            tcp.flags |= (uint8_t)(1 << (letter - letters));
    }
    frame_tcp(f, &tcp);
}

static void add_udp(struct frame *f, const struct layer *l)
{
    frame_udp(f, (uint16_t)number(l->words[1], 10), (uint16_t)number(l->words[2], 10));
}

static void add_icmp(struct frame *f, const struct layer *l)
{
    frame_icmp(f, (uint8_t)number(l->words[1], 10), (uint8_t)number(l->words[2], 10));
}

static void add_protocol(struct frame *f, const struct layer *l)
{
    frame_protocol(f, (uint8_t)number(l->words[1], 10));
}

static void add_data(struct frame *f, const struct layer *l)
{
    static const uint8_t zeros[1500];

    frame_payload(f, zeros, number(l->words[1], 10));
}

/* -- what is done to a finished one -- */

static void add_trailer(struct frame *f, const struct layer *l)
{
    frame_trailer(f, 0, number(l->words[1], 10));
}

static void put_bytes(struct frame *f, const struct layer *l)
{
    uint32_t at = number(l->words[1], 10);
    const char *hex = l->words[2];

    for (; hex[0] && hex[1]; hex += 2, at++) {
        const char byte[3] = {hex[0], hex[1], 0};

        f->bytes[at] = (uint8_t)number(byte, 16);
        f->length = at >= f->length ? at + 1 : f->length;
    }
}

static void cut(struct frame *f, const struct layer *l)
{
    f->length = number(l->words[1], 10);
}

static const struct {
    const char *name;
    void (*add)(struct frame *, const struct layer *);
    bool finishes; /* lengths and checksums are made before */
} layers[] = {
    {"vlan", add_vlan, false},
    {"type", add_type, false},
    {"ip4", add_ip4, false},
    {"ip6", add_ip6, false},
    {"extension", add_extension, false},
    {"fragment", add_fragment, false},
    {"tcp", add_tcp, false},
    {"udp", add_udp, false},
    {"icmp", add_icmp, false},
    {"protocol", add_protocol, false},
    {"data", add_data, false},
    {"trailer", add_trailer, true},
    {"put", put_bytes, true},
    {"cut", cut, true},
};

static void add_layer(struct frame *f, char *text, bool *finished)
{
    static char nothing[] = "";
    struct layer l;
    char *rest = NULL;

    for (unsigned i = 0; i < WORDS_MAX; i++) {
        char *word = strtok_r(i ? NULL : text, " \t", &rest);

        l.words[i] = word ? word : nothing;
    }
    for (size_t i = 0; i < sizeof(layers) / sizeof(*layers); i++) {
        if (strcmp(layers[i].name, l.words[0]) != 0)
            continue;
        if (layers[i].finishes && !*finished) {
            frame_finish(f);
            *finished = true;
        }
        layers[i].add(f, &l);
        return;
    }
    fail_msg("\"%s\" is no part of a frame", l.words[0]);
}

void corpus_build(struct frame *frame, const char *description)
{
    char text[LINE_MAX_BYTES], *rest = NULL;
    bool finished = false;

    snprintf(text, sizeof(text), "%s", description);
    frame_ethernet(frame);
    for (char *part = strtok_r(text, "/", &rest); part; part = strtok_r(NULL, "/", &rest))
        add_layer(frame, part, &finished);
    if (!finished)
        frame_finish(frame);
}

/* -- lines -- */

static enum reason reason_of(const char *name)
{
    for (unsigned r = 1; r < REASON_MAX; r++)
        if (strcmp(reason_name((enum reason)r), name) == 0)
            return (enum reason)r;
    fail_msg("\"%s\" is no reason", name);
    return REASON_NONE;
}

/* "pass [TENANT]" or "drop REASON [TENANT]" */
static void read_expected(struct corpus_frame *f, char *text)
{
    char verdict[8] = "", first[32] = "", second[32] = "";

    sscanf(text, "%7s %31s %31s", verdict, first, second);
    if (strcmp(verdict, "drop") == 0) {
        f->reason = reason_of(first);
        memcpy(f->tenant, second, sizeof(f->tenant));
        return;
    }
    if (strcmp(verdict, "pass") != 0)
        fail_msg("%s: \"%s\" is neither pass nor drop", f->where, verdict);
    f->reason = REASON_NONE;
    memcpy(f->tenant, first, sizeof(f->tenant));
}

static void read_line(struct corpus_frame *f, char *line)
{
    char *fields[5] = {0}, *rest = NULL;
    char direction[8] = "";

    for (unsigned i = 0; i < 5; i++) {
        fields[i] = strtok_r(i ? NULL : line, "|", &rest);
        if (!fields[i])
            fail_msg("%s: five fields are wanted", f->where);
    }
    sscanf(fields[0], "%63s", f->name);
    sscanf(fields[1], "%31s", f->cases);
    sscanf(fields[2], "%7s", direction);
    f->direction = strcmp(direction, "out") == 0 ? DIRECTION_OUT : DIRECTION_IN;
    read_expected(f, fields[3]);
    corpus_build(&f->frame, fields[4]);
}

static unsigned visit_file(const char *path, void (*visit)(const struct corpus_frame *, void *),
                           void *context)
{
    FILE *file = fopen(path, "r");
    char line[LINE_MAX_BYTES];
    static struct corpus_frame f;
    unsigned n = 0;

    assert_non_null(file);
    for (unsigned number = 1; fgets(line, sizeof(line), file); number++) {
        line[strcspn(line, "#\n")] = 0;
        if (line[strspn(line, " \t")] == 0)
            continue;
        snprintf(f.where, sizeof(f.where), "%s:%u", strrchr(path, '/') + 1, number);
        read_line(&f, line);
        visit(&f, context);
        n++;
    }
    fclose(file);
    return n;
}

unsigned corpus_visit(const char *folder, void (*visit)(const struct corpus_frame *, void *),
                      void *context)
{
    char pattern[512];
    glob_t found;
    unsigned n = 0;

    snprintf(pattern, sizeof(pattern), "%s/*.txt", folder);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++)
        n += visit_file(found.gl_pathv[i], visit, context);
    globfree(&found);
    return n;
}
