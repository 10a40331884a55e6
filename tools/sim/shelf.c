/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/sim/shelf.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/scenario/scenario.h"

#define SUFFIX ".conf"

static const char *folder(void)
{
    const char *named = getenv("SLUICE_SCENARIOS");

    if (named && *named)
        return named;
    return access(SCENARIOS_INSTALLED, R_OK) == 0 ? SCENARIOS_INSTALLED : SCENARIOS_SOURCE;
}

char *shelf_find(const char *name_or_file)
{
    char *path = NULL;

    if (!strchr(name_or_file, '/')) {
        if (asprintf(&path, "%s/%s" SUFFIX, folder(), name_or_file) < 0)
            return NULL;
        if (access(path, F_OK) == 0)
            return path;
        free(path);
    }
    if (access(name_or_file, F_OK) == 0)
        return strdup(name_or_file);
    fprintf(stderr, "sluice-sim: %s: no such scenario, neither a file nor a name in %s\n",
            name_or_file, folder());
    return NULL;
}

static int is_scenario(const struct dirent *entry)
{
    size_t n = strlen(entry->d_name), suffix = strlen(SUFFIX);

    return n > suffix && strcmp(entry->d_name + n - suffix, SUFFIX) == 0;
}

static int print_one(const char *file)
{
    int stem = (int)(strlen(file) - strlen(SUFFIX)), error;
    struct scenario *scenario;
    char *path;

    if (asprintf(&path, "%s/%s", folder(), file) < 0)
        return -ENOMEM;
    error = scenario_read(path, NULL, 0, stderr, &scenario);
    if (!error) {
        printf("%-20.*s %.*s\n", stem, file, (int)strcspn(scenario->about, "\n"), scenario->about);
        scenario_free(scenario);
    }
    free(path);
    return error ? -EINVAL : 0;
}

int shelf_list(void)
{
    struct dirent **files;
    int error = 0, n = scandir(folder(), &files, is_scenario, alphasort);

    if (n < 0) {
        fprintf(stderr, "sluice-sim: %s: %s\n", folder(), strerror(errno));
        return -ENOENT;
    }
    for (int i = 0; i < n; i++) {
        if (print_one(files[i]->d_name))
            error = -EINVAL;
        free(files[i]);
    }
    free(files);
    return error;
}
