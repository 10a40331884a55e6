/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/serve/bind.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define BACKLOG 16

/*
 * Opens the socket's directory, making it if it is missing, and locks it, so that of two daemons
 * that start at once only one probes, removes and binds. The lock goes with the descriptor.
 */
static int lock_directory(const char *path, char *why, size_t why_bytes)
{
    char copy[sizeof(((struct sockaddr_un *)0)->sun_path)];
    const char *directory;
    int fd, err;

    snprintf(copy, sizeof(copy), "%s", path);
    directory = dirname(copy);
    if (mkdir(directory, 0755) < 0 && errno != EEXIST) {
        err = -errno;
        snprintf(why, why_bytes, "cannot create %s: %s", directory, strerror(-err));
        return err;
    }
    fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        err = -errno;
        snprintf(why, why_bytes, "cannot open %s: %s", directory, strerror(-err));
        return err;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        close(fd);
        snprintf(why, why_bytes, "%s is locked: another daemon is starting", directory);
        return -EADDRINUSE;
    }
    return fd;
}

/* Is there a listener behind the socket at `address`? 1, 0 or -errno. */
static int probe(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int answer;

    if (fd < 0)
        return -errno;
    if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 || errno == EAGAIN)
        answer = 1; /* EAGAIN: it listens, its backlog is full */
    else if (errno == ECONNREFUSED)
        answer = 0;
    else
        answer = errno == EPROTOTYPE ? 1 : -errno; /* a socket of another type: not ours to take */
    close(fd);
    return answer;
}

/* Makes the path free, if that takes no more than removing a dead socket. */
static int clear_path(const struct sockaddr_un *address, char *why, size_t why_bytes)
{
    const char *path = address->sun_path;
    struct stat status;
    int live;

    if (lstat(path, &status) < 0) {
        if (errno == ENOENT)
            return 0;
        live = -errno;
        snprintf(why, why_bytes, "%s: %s", path, strerror(-live));
        return live;
    }
    if (!S_ISSOCK(status.st_mode)) {
        snprintf(why, why_bytes, "%s is there and is not a socket", path);
        return -ENOTSOCK;
    }
    live = probe(address);
    if (live == 1) {
        snprintf(why, why_bytes, "%s is held by a live daemon", path);
        return -EADDRINUSE;
    }
    if (live == 0 && unlink(path) < 0)
        live = -errno;
    if (live < 0)
        snprintf(why, why_bytes, "%s is in the way: %s", path, strerror(-live));
    return live;
}

/* The mode is set before anyone can connect, for that takes listen(). */
static int bind_and_listen(struct control_binding *binding)
{
    const char *path = binding->address.sun_path;
    struct stat status;
    int err;

    if (bind(binding->fd, (const struct sockaddr *)&binding->address, sizeof(binding->address)) < 0)
        return -errno;
    if (chmod(path, 0660) < 0 || lstat(path, &status) < 0 || listen(binding->fd, BACKLOG) < 0) {
        err = -errno;
        unlink(path);
        return err;
    }
    binding->device = status.st_dev;
    binding->inode = status.st_ino;
    return 0;
}

int control_bind(struct control_binding *binding, const char *path, char *why, size_t why_bytes)
{
    int lock, err;

    memset(binding, 0, sizeof(*binding));
    binding->address.sun_family = AF_UNIX;
    if (path[0] == '\0' || strlen(path) >= sizeof(binding->address.sun_path)) {
        snprintf(why, why_bytes, "a socket's path has 1 to %zu bytes",
                 sizeof(binding->address.sun_path) - 1);
        return path[0] ? -ENAMETOOLONG : -EINVAL;
    }
    memcpy(binding->address.sun_path, path, strlen(path) + 1);

    lock = lock_directory(path, why, why_bytes);
    if (lock < 0)
        return lock;
    err = clear_path(&binding->address, why, why_bytes);
    if (err < 0)
        goto unlock;
    binding->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    err = binding->fd < 0 ? -errno : bind_and_listen(binding);
    if (err < 0) {
        snprintf(why, why_bytes, "cannot listen on %s: %s", path, strerror(-err));
        if (binding->fd >= 0)
            close(binding->fd);
    }
unlock:
    close(lock);
    return err;
}

/* The open socket keeps its inode, so nobody else's can have the same number. */
void control_unbind(struct control_binding *binding)
{
    const char *path = binding->address.sun_path;
    struct stat status;

    if (lstat(path, &status) == 0 && status.st_dev == binding->device &&
        status.st_ino == binding->inode)
        unlink(path);
    close(binding->fd);
}
