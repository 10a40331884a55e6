/* SPDX-License-Identifier: BSD-3-Clause */
/* The deny list's file. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control/config/address_text.h"
#include "control/plane/deny.h"
#include "dataplane/policy/prefix.h"

#define SHOWN_MAX      80 /* bytes of a line, in a message */
#define ENTRY_TEXT_MAX (ADDRESS_TEXT_MAX + 24)

static const char heading[] =
    "# Networks that sluiced lets nothing in from: PREFIX [END, in seconds of Unix time].\n"
    "# `sluicectl deny` writes this file anew.\n";

/* A line that is an entry. */
struct line {
    struct policy_network network;
    uint64_t end_s;
    unsigned number;
};

/* A reading under way. */
struct reading {
    struct deny_list *list;
    FILE *report, *kept;
    uint64_t now_s;
    struct line *lines;
    uint32_t n_lines, room;
    unsigned number; /* of the line in hand */
    bool out_of_memory;
};

static void tell(const struct reading *reading, unsigned line, const char *text, const char *why)
{
    char shown[SHOWN_MAX + 1];

    snprintf(shown, sizeof(shown), "%s", text);
    for (char *c = shown; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
    fprintf(reading->report, "sluiced: %s:%u: \"%s\" %s\n", reading->list->path, line, shown, why);
}

/* A number of seconds, which no sign, blank or point stands in. */
static bool parse_end(const char *text, uint64_t *end_s)
{
    char *rest;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *end_s = strtoull(text, &rest, 10);
    return !errno && !*rest && *end_s != DENY_FOREVER;
}

/* NULL, or why it is no entry. Takes the text apart. */
static const char *parse_entry(char *text, struct policy_network *network, uint64_t *end_s)
{
    char *rest, *prefix = strtok_r(text, " \t\r", &rest), *end = strtok_r(NULL, " \t\r", &rest);

    if (!prefix || !prefix_parse(prefix, &network->network, &network->bits))
        return "is no prefix, and is left as it is";
    *end_s = DENY_FOREVER;
    if (end && !parse_end(end, end_s))
        return "has an end that is no second, and is left as it is";
    return strtok_r(NULL, " \t\r", &rest) ? "has words behind it, and is left as it is" : NULL;
}

static void keep(struct reading *reading, const char *text, size_t length)
{
    fwrite(text, 1, length, reading->kept);
    fputc('\n', reading->kept);
}

static void add_line(struct reading *reading, const struct line *line)
{
    if (reading->n_lines == reading->room) {
        uint32_t room = reading->room ? 2 * reading->room : 64;
        struct line *grown = reallocarray(reading->lines, room, sizeof(*grown));

        if (!grown) {
            reading->out_of_memory = true;
            return;
        }
        reading->lines = grown;
        reading->room = room;
    }
    reading->lines[reading->n_lines++] = *line;
}

/* A line without its newline. */
static void read_line(struct reading *reading, const char *text, size_t length)
{
    struct line line = {.number = reading->number};
    const char *why;
    char *copy;

    if (*text == '#' || strspn(text, " \t\r") == length) {
        keep(reading, text, length);
        return;
    }
    copy = strdup(text);
    if (!copy) {
        reading->out_of_memory = true;
        return;
    }
    why = strlen(text) < length ? "holds what is no text, and is left as it is"
                                : parse_entry(copy, &line.network, &line.end_s);
    free(copy);
    if (!why) {
        add_line(reading, &line);
        return;
    }
    tell(reading, reading->number, text, why);
    keep(reading, text, length);
}

/* In the list's order, so that each is put at its end; of one network the last line last. */
static int by_network(const void *a, const void *b)
{
    const struct line *left = a, *right = b;
    int order = memcmp(&left->network.network, &right->network.network, sizeof(struct address));

    if (!order)
        order = left->network.bits - right->network.bits;
    return order ? order : left->number < right->number ? -1 : left->number > right->number;
}

static const char *entry_text(const struct policy_network *network, uint64_t end_s,
                              char text[ENTRY_TEXT_MAX])
{
    size_t used = strlen(prefix_format(&network->network, network->bits, text));

    if (end_s != DENY_FOREVER)
        snprintf(text + used, ENTRY_TEXT_MAX - used, " %" PRIu64, end_s);
    return text;
}

static void put_line(struct reading *reading, const struct line *line)
{
    char text[ENTRY_TEXT_MAX];
    int put;

    if (line->end_s != DENY_FOREVER && line->end_s <= reading->now_s)
        return;
    put = deny_put(reading->list, &line->network, line->end_s);
    if (put == 1)
        return;
    entry_text(&line->network, line->end_s, text);
    if (put == 0) {
        tell(reading, line->number, text, "is there twice: this line is what holds");
        return;
    }
    tell(reading, line->number, text, "is more than the list can hold, and is left as it is");
    keep(reading, text, strlen(text));
}

static void put_lines(struct reading *reading)
{
    for (uint32_t i = 0; i < reading->n_lines; i++)
        reading->lines[i].network.network =
            prefix_mask(&reading->lines[i].network.network, reading->lines[i].network.bits);
    if (reading->n_lines)
        qsort(reading->lines, reading->n_lines, sizeof(*reading->lines), by_network);
    for (uint32_t i = 0; i < reading->n_lines; i++)
        put_line(reading, &reading->lines[i]);
    reading->list->unsaved = reading->list->n < reading->n_lines;
}

static int read_lines(struct deny_list *list, FILE *file, uint64_t now_s, FILE *report)
{
    struct reading reading = {.list = list, .report = report, .now_s = now_s};
    char *text = NULL;
    size_t room = 0;
    ssize_t length;
    int err;

    reading.kept = open_memstream(&list->kept, &list->kept_bytes);
    if (!reading.kept)
        return -ENOMEM;
    while ((length = getline(&text, &room, file)) > 0) {
        reading.number++;
        if (text[length - 1] == '\n')
            text[--length] = '\0';
        read_line(&reading, text, (size_t)length);
    }
    err = ferror(file) ? -EIO : 0;
    put_lines(&reading);
    free(text);
    free(reading.lines);
    if (fclose(reading.kept) != 0 || reading.out_of_memory)
        err = -ENOMEM;
    return err;
}

/* No pipe or device, which would keep us waiting. */
static int open_file(const char *path, FILE **file)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err = fd < 0 ? -errno : 0;
    struct stat status;

    *file = NULL;
    if (!err && fstat(fd, &status) != 0)
        err = -errno;
    if (!err && !S_ISREG(status.st_mode))
        err = S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL;
    if (!err && status.st_size > DENY_FILE_MAX_BYTES)
        err = -EFBIG;
    if (!err && !(*file = fdopen(fd, "r")))
        err = -errno;
    if (err && fd >= 0)
        close(fd);
    return err;
}

static struct deny_list *create(const char *path)
{
    struct deny_list *list = calloc(1, sizeof(*list));

    if (!list)
        return NULL;
    list->path = path;
    list->networks = calloc(POLICY_DENIED_MAX, sizeof(*list->networks));
    list->ends_s = calloc(POLICY_DENIED_MAX, sizeof(*list->ends_s));
    if (list->networks && list->ends_s)
        return list;
    deny_close(list);
    return NULL;
}

struct deny_list *deny_open(const char *path, uint64_t now_s, FILE *report)
{
    struct deny_list *list = create(path);
    FILE *file;
    int err = list ? open_file(path, &file) : 0;

    if (!list || err == -ENOENT)
        return list;
    if (!err) {
        err = read_lines(list, file, now_s, report);
        fclose(file);
    }
    if (err == -ENOMEM) {
        deny_close(list);
        return NULL;
    }
    list->unread = err != 0;
    if (err)
        fprintf(report,
                "sluiced: %s: the deny list cannot be read: %s; it stays as it is, and what is "
                "denied from now on is not kept until it is moved away\n",
                path, strerror(-err));
    return list;
}

static int write_list(const struct deny_list *list, FILE *file)
{
    char text[ENTRY_TEXT_MAX];

    if (list->kept_bytes)
        fwrite(list->kept, 1, list->kept_bytes, file);
    else
        fputs(heading, file);
    for (uint32_t i = 0; i < list->n; i++)
        fprintf(file, "%s\n", entry_text(&list->networks[i], list->ends_s[i], text));
    if (fflush(file) != 0 || fsync(fileno(file)) != 0)
        return -errno;
    return 0;
}

/* What another daemon left half written is nobody's. */
static int write_file(const struct deny_list *list, const char *path)
{
    FILE *file;
    int fd, err;

    unlink(path);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    file = fdopen(fd, "w");
    if (!file) {
        err = -errno;
        close(fd);
        return err;
    }
    err = write_list(list, file);
    if (fclose(file) != 0 && !err)
        err = -errno;
    return err;
}

int deny_save(struct deny_list *list)
{
    char path[PATH_MAX];
    int err;

    if (list->unread && access(list->path, F_OK) == 0)
        return -EEXIST;
    if (snprintf(path, sizeof(path), "%s.new", list->path) >= (int)sizeof(path))
        return -ENAMETOOLONG;
    err = write_file(list, path);
    if (!err && rename(path, list->path) != 0)
        err = -errno;
    if (err) {
        unlink(path);
        return err;
    }
    list->unread = false;
    list->unsaved = false;
    return 0;
}
