/* SPDX-License-Identifier: BSD-3-Clause */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "control/plane/xdp_parts.h"

#include <gate.skel.h>

#define LOG_BYTES (16u << 20) /* touched only as far as the verifier writes */

/* -- why it was refused -- */

/* linux/capability.h has them as numbers, and libcap is no package of ours. */
enum { CAP_NET_ADMIN = 12, CAP_SYS_ADMIN = 21, CAP_BPF = 39 };

static uint64_t capabilities(void)
{
    FILE *status = fopen("/proc/self/status", "re");
    unsigned long long set = 0;
    char line[256];

    while (status && fgets(line, sizeof(line), status))
        if (sscanf(line, "CapEff: %llx", &set) == 1)
            break;
    if (status)
        fclose(status);
    return set;
}

/* What a program of this kind and its successor's look at it take. */
static const char *missing_capability(void)
{
    static const struct {
        unsigned bit;
        const char *name;
    } needed[] = {
        {CAP_BPF, "CAP_BPF"}, {CAP_NET_ADMIN, "CAP_NET_ADMIN"}, {CAP_SYS_ADMIN, "CAP_SYS_ADMIN"}};
    uint64_t set = capabilities();

    for (unsigned i = 0; i < 3; i++)
        if (!(set >> needed[i].bit & 1))
            return needed[i].name;
    return NULL;
}

/* The last line of the verifier's that is no statistics. */
static void last_line(const char *log, char *line, size_t bytes)
{
    const char *end = log + strlen(log), *start;

    line[0] = '\0';
    while (end > log) {
        while (end > log && end[-1] == '\n')
            end--;
        for (start = end; start > log && start[-1] != '\n';)
            start--;
        snprintf(line, bytes, "%.*s", (int)(end - start), start);
        if (strncmp(line, "processed ", 10) != 0)
            return;
        end = start;
    }
}

static void explain(int err, const char *log, char *why, size_t why_bytes)
{
    const char *missing = missing_capability();
    struct rlimit memlock = {0};
    char line[160];

    last_line(log, line, sizeof(line));
    getrlimit(RLIMIT_MEMLOCK, &memlock);
    if (err == -EPERM && missing)
        snprintf(why, why_bytes, "the kernel lets nobody load XDP programs without %s", missing);
    else if (err == -EPERM && memlock.rlim_cur != RLIM_INFINITY)
        snprintf(why, why_bytes,
                 "the kernel refuses the XDP program's maps: locked memory is limited to %llu KiB "
                 "(ulimit -l)",
                 (unsigned long long)memlock.rlim_cur / 1024);
    else if (line[0])
        snprintf(why, why_bytes,
                 "the kernel's verifier refuses the XDP program: %s (" XDP_LOG_WISH "=1 shows all)",
                 line);
    else if (access("/sys/kernel/btf/vmlinux", R_OK) != 0)
        snprintf(why, why_bytes,
                 "the kernel refuses the XDP program: %s, perhaps because it has no BTF "
                 "(CONFIG_DEBUG_INFO_BTF)",
                 strerror(-err));
    else
        snprintf(why, why_bytes, "the kernel refuses the XDP program: %s", strerror(-err));
}

/* -- loading -- */

/* The maps of an object: those of all programs, and the sockets of the driver. */
static int prepare(struct xdp_maps *maps, struct gate *program, int xsks)
{
    int err = xdp_maps_prepare(maps, program->obj);

    if (!err && xsks >= 0)
        err = bpf_map__reuse_fd(program->maps.xsks_map, xsks);
    return err;
}

/* So that whoever finds the program finds what was seen of it. */
static int load(struct xdp_maps *maps, struct gate *program, char *why, size_t why_bytes)
{
    int err = gate__load(program);

    if (err)
        return err;
    err = xdp_maps_keep(maps, program->obj, why, why_bytes);
    return err ? err : bpf_prog_bind_map(xdp_program_fd(program), maps->seen_fd, NULL);
}

static int open_and_load(struct xdp_maps *maps, const struct xdp_interface *interface, int xsks,
                         char *log, struct gate **out, char *why, size_t why_bytes)
{
    LIBBPF_OPTS(bpf_object_open_opts, options, .kernel_log_buf = log, .kernel_log_size = LOG_BYTES);
    struct gate *program = gate__open_opts(&options);
    int err;

    if (!program)
        return -errno;
    program->rodata->options = (struct xdp_options){.port = interface->port,
                                                    .n_tenants = maps->arrays.sizes.tenants,
                                                    .n_services = maps->arrays.sizes.services};
    err = prepare(maps, program, xsks);
    if (!err)
        err = load(maps, program, why, why_bytes);
    if (err)
        gate__destroy(program);
    else
        *out = program;
    return err;
}

int xdp_load(struct xdp_maps *maps, const struct xdp_interface *interface, int xsks,
             struct gate **out, char *why, size_t why_bytes)
{
    char *log = calloc(1, LOG_BYTES);
    int err = log ? 0 : -ENOMEM;

    why[0] = '\0';
    if (!err)
        err = open_and_load(maps, interface, xsks, log, out, why, why_bytes);
    if (err && !why[0])
        explain(err, log ? log : "", why, why_bytes);
    if (err && log && xdp_says_all())
        fputs(log, stderr);
    free(log);
    xdp_forget_said(); /* `why` has it */
    return err;
}

void xdp_unload(struct gate **program)
{
    gate__destroy(*program);
    *program = NULL;
}

int xdp_program_fd(const struct gate *program)
{
    return bpf_program__fd(program->progs.sluice_gate);
}
