/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/worker/leftovers.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The process that a directory is named after, 0 for none of ours. */
static pid_t owner_of(const char *name)
{
    size_t prefix = strlen(LEFTOVERS_PREFIX);
    long pid;
    char *end;

    if (strncmp(name, LEFTOVERS_PREFIX, prefix) || !isdigit((unsigned char)name[prefix]))
        return 0;
    pid = strtol(name + prefix, &end, 10);
    return !*end && pid <= INT_MAX ? (pid_t)pid : 0;
}

/* EAL makes no folders in its own. */
static void remove_directory(const char *path)
{
    DIR *directory = opendir(path);
    struct dirent *entry;

    while (directory && (entry = readdir(directory)) != NULL)
        unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory)
        closedir(directory);
    rmdir(path);
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

void leftovers_remove_own(const char *own)
{
    if (owner_of(base_of(own)) == getpid())
        remove_directory(own);
    else
        rmdir(own);
}

void leftovers_remove_dead(const char *own)
{
    char path[PATH_MAX];
    struct dirent *entry;
    DIR *parent;

    snprintf(path, sizeof(path), "%.*s", (int)(base_of(own) - own), own);
    parent = opendir(path);
    while (parent && (entry = readdir(parent)) != NULL) {
        pid_t pid = owner_of(entry->d_name);

        if (!pid || kill(pid, 0) == 0 || errno != ESRCH)
            continue;
        snprintf(path, sizeof(path), "%.*s%s", (int)(base_of(own) - own), own, entry->d_name);
        remove_directory(path);
    }
    if (parent)
        closedir(parent);
}
