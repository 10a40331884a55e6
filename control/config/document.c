/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/config/document.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int read_all(int fd, char *text, size_t *length)
{
    size_t used = 0;

    while (used <= CONFIG_FILE_MAX_BYTES) {
        ssize_t n = read(fd, text + used, CONFIG_FILE_MAX_BYTES + 1 - used);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        used += (size_t)n;
    }
    *length = used;
    return used > CONFIG_FILE_MAX_BYTES ? -EFBIG : 0;
}

/* A file may grow while it is read, so the buffer is made for the largest one. */
static int slurp(const char *path, char **text, size_t *length)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    int error = 0;

    *text = NULL;
    if (fd < 0)
        return -errno;
    if (fstat(fd, &status) < 0)
        error = -errno;
    else if (S_ISDIR(status.st_mode))
        error = -EISDIR;
    else if (!S_ISREG(status.st_mode))
        error = -EINVAL;
    else if (status.st_size > CONFIG_FILE_MAX_BYTES)
        error = -EFBIG;
    if (!error) {
        *text = malloc(CONFIG_FILE_MAX_BYTES + 1);
        error = *text ? read_all(fd, *text, length) : -ENOMEM;
    }
    close(fd);
    return error;
}

static void tell_unreadable(FILE *out, const char *path, int error)
{
    if (error == -EFBIG)
        fprintf(out, "%s: larger than %u bytes\n", path, CONFIG_FILE_MAX_BYTES);
    else if (error == -EINVAL)
        fprintf(out, "%s: not a regular file\n", path);
    else if (error == -ENOMEM)
        fprintf(out, "%s: not enough memory\n", path);
    else
        fprintf(out, "%s: cannot be read: %s\n", path, strerror(-error));
}

int document_open(struct document *document, const char *path, FILE *out)
{
    int error;

    *document = (struct document){.path = path};
    config_init(&document->config);
    error = slurp(path, &document->text, &document->length);
    if (error)
        tell_unreadable(out, path, error);
    return error;
}

static bool is_scalar(int type)
{
    return type == CONFIG_TYPE_INT || type == CONFIG_TYPE_INT64;
}

static bool agrees(const config_setting_t *setting, const struct scan *scan,
                   const struct scan_node *node)
{
    const char *name = config_setting_name(setting);
    int type = config_setting_type(setting);

    if (node->parent != SCAN_NO_PARENT && node->name_length != (name ? strlen(name) : 0))
        return false;
    if (node->name_length && memcmp(name, scan->text + node->name_at, node->name_length))
        return false;
    switch (node->kind) {
    case SCAN_GROUP:
        return type == CONFIG_TYPE_GROUP;
    case SCAN_LIST:
        return type == CONFIG_TYPE_LIST;
    case SCAN_ARRAY:
        return type == CONFIG_TYPE_ARRAY;
    case SCAN_STRING:
        return type == CONFIG_TYPE_STRING && config_setting_get_string(setting);
    default:
        return is_scalar(type);
    }
}

/* Hangs each scanned node on the setting it belongs to: both are in document order. Depth is
 * bounded by the scan. */
static bool pair(config_setting_t *setting, const struct scan *scan, uint32_t *next)
{
    struct scan_node *node;

    if (*next >= scan->n_nodes)
        return false;
    node = &scan->nodes[(*next)++];
    if (!agrees(setting, scan, node))
        return false;
    config_setting_set_hook(setting, node);
    if (!config_setting_is_aggregate(setting))
        return true;
    for (int i = 0; i < config_setting_length(setting); i++)
        if (!pair(config_setting_get_elem(setting, (unsigned)i), scan, next))
            return false;
    return true;
}

static bool parse(struct document *document)
{
    const struct scan *scan = &document->scan;
    config_t *config = &document->config;
    uint32_t next = 0;

    if (!config_read_string(config, scan->for_libconfig)) {
        report_error(&document->report, (uint32_t)config_error_line(config), "", "%s",
                     config_error_text(config));
        return false;
    }
    if (pair(config_root_setting(config), scan, &next) && next == scan->n_nodes)
        return true;
    report_error(&document->report, next ? scan->nodes[next - 1].line : 1, "",
                 "libconfig reads this differently from what it seems to say");
    return false;
}

int document_parse(struct document *document)
{
    int error = scan_text(&document->scan, document->text, document->length, &document->report);

    if (!error && !parse(document))
        error = -EINVAL;
    return document->report.out_of_memory ? -ENOMEM : error;
}

void document_tell(struct document *document, FILE *out)
{
    report_print(&document->report, document->path, out);
    report_clear(&document->report);
}

void document_close(struct document *document)
{
    config_destroy(&document->config);
    report_clear(&document->report);
    scan_clear(&document->scan);
    free(document->text);
}
