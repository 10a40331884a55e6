/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/worker/leftovers.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* With what is in it; EAL makes no folders there. Only what is ours, and no way through a link. */
static void remove_directory(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;
    struct dirent *entry;
    DIR *directory;

    if (fd < 0)
        return;
    if (fstat(fd, &status) != 0 || status.st_uid != geteuid() || !(directory = fdopendir(fd))) {
        close(fd);
        return;
    }
    while ((entry = readdir(directory)) != NULL)
        unlinkat(fd, entry->d_name, 0);
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

        if (!pid || strcmp(entry->d_name, base_of(own)) == 0 || kill(pid, 0) == 0 || errno != ESRCH)
            continue;
        unlinkat(dirfd(parent), entry->d_name, AT_REMOVEDIR);
    }
    if (parent)
        closedir(parent);
}
