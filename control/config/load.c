/* SPDX-License-Identifier: BSD-3-Clause */
/* A configuration file from its bytes to settings. */
#include <errno.h>
#include <fcntl.h>
#include <libconfig.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control/config/arena.h"
#include "control/config/config.h"
#include "control/config/reader.h"
#include "control/config/report.h"
#include "control/config/scan.h"

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

static bool parse(config_t *config, const struct scan *scan, struct report *report)
{
    uint32_t next = 0;

    if (!config_read_string(config, scan->for_libconfig)) {
        report_error(report, (uint32_t)config_error_line(config), "", "%s",
                     config_error_text(config));
        return false;
    }
    if (pair(config_root_setting(config), scan, &next) && next == scan->n_nodes)
        return true;
    report_error(report, next ? scan->nodes[next - 1].line : 1, "",
                 "libconfig reads this differently from what it seems to say");
    return false;
}

static int build(const struct scan *scan, const struct config_host *host, struct report *report,
                 struct settings *settings)
{
    struct reader reader = {.scan = scan, .report = report, .settings = settings, .host = host};
    config_t config;

    config_init(&config);
    if (parse(&config, scan, report)) {
        read_root(&reader, config_root_setting(&config));
        check_all(&reader);
    }
    config_destroy(&config);
    if (reader.out_of_memory || report->out_of_memory)
        return -ENOMEM;
    if (report->errors > reader.n_missing)
        return -EINVAL;
    return reader.n_missing ? -ENODEV : 0;
}

static struct settings *create_settings(void)
{
    struct config_arena *arena = arena_create();
    struct settings *settings = arena ? arena_alloc(arena, 1, sizeof(*settings)) : NULL;

    if (settings)
        settings->arena = arena;
    else
        arena_destroy(arena);
    return settings;
}

void config_free(struct settings *settings)
{
    if (settings)
        arena_destroy(settings->arena);
}

/* A file as it was read. */
struct source {
    const char *path;
    char *text;
    size_t length;
};

static int load_text(const struct source *source, const struct config_host *host, FILE *out_report,
                     struct settings *settings)
{
    struct report report = {0};
    struct scan scan;
    int error = scan_text(&scan, source->text, source->length, &report);

    if (!error)
        error = build(&scan, host, &report, settings);
    report_print(&report, source->path, out_report);
    report_clear(&report);
    scan_clear(&scan);
    return error;
}

static void report_unreadable(FILE *report, const char *path, int error)
{
    if (error == -EFBIG)
        fprintf(report, "%s: larger than %u bytes\n", path, CONFIG_FILE_MAX_BYTES);
    else if (error == -EINVAL)
        fprintf(report, "%s: not a regular file\n", path);
    else
        fprintf(report, "%s: cannot be read: %s\n", path, strerror(-error));
}

int config_load(const char *path, const struct config_host *host, FILE *report,
                struct settings **out)
{
    struct source source = {.path = path};
    struct settings *settings = NULL;
    int error = slurp(path, &source.text, &source.length);

    *out = NULL;
    if (error) {
        report_unreadable(report, path, error);
        goto out;
    }
    settings = create_settings();
    error = settings ? load_text(&source, host, report, settings) : -ENOMEM;
    if (!error)
        *out = settings;
    else
        config_free(settings);
    if (error == -ENOMEM)
        fprintf(report, "%s: not enough memory\n", path);
out:
    free(source.text);
    return error;
}
