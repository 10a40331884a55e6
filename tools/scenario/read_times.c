/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrivals at given times. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/limits.h"
#include "tools/scenario/fields.h"
#include "tools/scenario/reading.h"

#define TIMES_MAX 100000 /* in the scenario itself */

void read_times(struct reader *r, const config_setting_t *setting,
                struct scenario_arrivals *arrivals)
{
    int n = read_elements(r, setting, true, 1, TIMES_MAX);
    double *times_s = n > 0 ? reader_alloc(r, (size_t)n, sizeof(*times_s)) : NULL, before_s = 0.0;

    arrivals->shape = ARRIVE_TRACE;
    for (int i = 0; times_s && i < n; i++) {
        const config_setting_t *element = config_setting_get_elem(setting, (unsigned)i);

        if (!read_time(r, element, &any_time, &times_s[i]))
            continue;
        if (times_s[i] < before_s)
            refuse(r, element, "ascending", "comes before the one in front of it");
        before_s = times_s[i];
        times_s[i] += arrivals->start_s;
    }
    arrivals->n_trace = times_s ? (uint64_t)n : 0;
    arrivals->trace_s = times_s;
}

/* A growing list of times. */
struct times {
    double *s;
    uint64_t n, room;
};

static bool append(struct times *times, double time_s, uint64_t count)
{
    while (times->room < times->n + count) {
        uint64_t room = times->room ? 2 * times->room : 1024;
        double *grown = realloc(times->s, room * sizeof(*grown));

        if (!grown)
            return false;
        times->s = grown;
        times->room = room;
    }
    while (count--)
        times->s[times->n++] = time_s;
    return true;
}

/* "SECONDS [COUNT]"; NULL, or what is wrong with the line. */
static const char *parse_line(const char *line, double *time_s, uint64_t *count)
{
    char *end;

    /* strtod() would take hexadecimal. */
    if (!strchr("0123456789.", *line) || (line[0] == '0' && (line[1] | ' ') == 'x'))
        return "is no time in seconds";
    errno = 0;
    *time_s = strtod(line, &end);
    if (end == line || errno || !(*time_s <= any_time.max))
        return "is no time in seconds";
    *count = 1;
    line = end + strspn(end, " \t,");
    if (line > end && strchr("0123456789", *line) && *line) {
        *count = strtoull(line, &end, 10);
        line = end;
    }
    if (line[strspn(line, " \t\r\n")])
        return "has something behind its time and count";
    return *count > 0 && *count <= SCENARIO_TRACE_MAX ? NULL : "has a count out of range";
}

static const char *take_line(struct times *times, const char *line, double start_s)
{
    const char *wrong;
    double time_s;
    uint64_t count;

    line += strspn(line, " \t\r\n");
    if (!*line || *line == '#')
        return NULL;
    wrong = parse_line(line, &time_s, &count);
    if (wrong)
        return wrong;
    time_s += start_s;
    if (times->n && time_s < times->s[times->n - 1])
        return "comes before the one in front of it";
    if (times->n + count > SCENARIO_TRACE_MAX)
        return "is one of too many";
    return append(times, time_s, count) ? NULL : "does not fit into memory";
}

static void keep_times(struct reader *r, const struct times *times,
                       struct scenario_arrivals *arrivals)
{
    double *kept = times->n ? reader_alloc(r, times->n, sizeof(*kept)) : NULL;

    if (!kept)
        return;
    memcpy(kept, times->s, times->n * sizeof(*kept));
    arrivals->n_trace = times->n;
    arrivals->trace_s = kept;
}

/* `name`: of the file, quoted. */
static void take_lines(struct reader *r, const config_setting_t *setting, FILE *file,
                       const char *name, struct scenario_arrivals *arrivals)
{
    const char *wrong = NULL;
    struct times times = {0};
    uint64_t number = 0;
    char *line = NULL;
    size_t size = 0;
    ssize_t length;

    while (!wrong && (length = getline(&line, &size, file)) >= 0) {
        wrong = memchr(line, '\0', (size_t)length) ? "holds a NUL"
                                                   : take_line(&times, line, arrivals->start_s);
        number++;
    }
    if (wrong)
        refuse(r, setting, "SECONDS [COUNT], ascending", "line %" PRIu64 " of %s %s", number, name,
               wrong);
    else if (!feof(file))
        refuse(r, setting, "", "line %" PRIu64 " of %s cannot be read: %s", number + 1, name,
               strerror(errno));
    else if (!times.n)
        refuse(r, setting, "", "%s holds no times", name);
    keep_times(r, &times, arrivals);
    free(line);
    free(times.s);
}

void read_trace(struct reader *r, const config_setting_t *setting,
                struct scenario_arrivals *arrivals)
{
    const char *name = read_string(r, setting, "the name of a file"), *path;
    char quoted[LIMITS_QUOTED_MAX];
    FILE *file;

    arrivals->shape = ARRIVE_TRACE;
    path = name ? beside_scenario(r, name) : NULL;
    if (!path)
        return;
    limits_quote(path, quoted);
    file = fopen(path, "re");
    if (!file) {
        refuse(r, setting, "", "%s cannot be read: %s", quoted, strerror(errno));
        return;
    }
    take_lines(r, setting, file, quoted, arrivals);
    fclose(file);
}
