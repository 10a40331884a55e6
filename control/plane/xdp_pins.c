/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The maps as files, for whoever looks on while no daemon is there. The folder is locked by the
 * daemon whose maps they are; the lock ends with it.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "control/plane/xdp_parts.h"

#define USUAL_BPFFS "/sys/fs/bpf"

/* Is the nearest folder that exists on a BPF file system? `path` becomes that folder. */
static bool is_on_bpffs(const char *folder, char path[PATH_MAX])
{
    struct statfs fs;
    char *end;

    snprintf(path, PATH_MAX, "%s", folder);
    while (statfs(path, &fs) != 0) {
        end = strrchr(path, '/');
        if (errno != ENOENT || !end || (end == path && !end[1]))
            return false;
        end[end == path] = '\0';
    }
    return (uint32_t)fs.f_type == BPF_FS_MAGIC;
}

/* It may well be mounted: `ip netns exec` gives its command a /sys of its own. */
static void explain_no_bpffs(const char *folder, const char *nearest, char *why, size_t why_bytes)
{
    char usual[PATH_MAX];

    snprintf(why, why_bytes, "control.pins is %s, and %s is on no BPF file system: %s", folder,
             nearest,
             is_on_bpffs(USUAL_BPFFS, usual) ? "name a folder below " USUAL_BPFFS ", which is one"
                                             : "mount one (mount -t bpf bpf " USUAL_BPFFS
                                               "); `ip netns exec` hides it, "
                                               "nsenter --net=/run/netns/NAME does not");
}

static int make_folders(const char *folder)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s", folder);
    for (char *end = path + 1; *end; end++) {
        if (*end != '/')
            continue;
        *end = '\0';
        if (mkdir(path, 0700) != 0 && errno != EEXIST)
            return -errno;
        *end = '/';
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST ? 0 : -errno;
}

static int lock_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;

    if (fd < 0)
        return -errno;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    err = -errno;
    close(fd);
    return err;
}

/* What is left there is of a daemon that has ended: nobody holds the lock. */
static void clear_folder(const char *folder)
{
    char path[PATH_MAX];
    const char *name;

    for (unsigned i = 0; (name = xdp_maps_name(i)); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, name);
        unlink(path);
    }
}

static int pin_all(const struct xdp_maps *maps, const char *folder)
{
    char path[PATH_MAX];
    const char *name;
    int err = 0;

    for (unsigned i = 0; (name = xdp_maps_name(i)) && !err; i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, name);
        err = bpf_obj_pin(xdp_maps_fd(maps, name), path);
    }
    return err;
}

int xdp_maps_pin(struct xdp_maps *maps, const char *folder, char *why, size_t why_bytes)
{
    char nearest[PATH_MAX];
    int err;

    if (!is_on_bpffs(folder, nearest)) {
        explain_no_bpffs(folder, nearest, why, why_bytes);
        return -ENOTSUP;
    }
    err = make_folders(folder);
    if (!err) {
        maps->pins_lock = lock_folder(folder);
        err = maps->pins_lock < 0 ? maps->pins_lock : 0;
    }
    if (err == -EWOULDBLOCK) {
        snprintf(why, why_bytes,
                 "control.pins is %s, where another live daemon keeps its maps: each needs its own",
                 folder);
        return -EBUSY;
    }
    if (!err) {
        clear_folder(folder);
        err = pin_all(maps, folder);
    }
    if (err)
        snprintf(why, why_bytes, "%s: the maps cannot be pinned: %s", folder, strerror(-err));
    maps->pinned = !err;
    return err;
}

/* And the folders, if nobody else has something there. */
void xdp_maps_unpin(struct xdp_maps *maps, const char *folder)
{
    char path[PATH_MAX], nearest[PATH_MAX];
    char *end;

    if (maps->pins_lock < 0)
        return;
    clear_folder(folder);
    maps->pinned = false;
    snprintf(path, sizeof(path), "%s", folder);
    if (rmdir(path) == 0 && (end = strrchr(path, '/'))) {
        *end = '\0';
        if (is_on_bpffs(path, nearest))
            rmdir(path);
    }
}
