/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What libbpf and libxdp say on their own. DPDK's driver has them load its program where there is
 * none of ours, and they tell of each way they try, also if the last one works. Nobody needs that,
 * unless none does.
 */
#include <bpf/libbpf.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <xdp/libxdp.h>

#include "control/plane/xdp_parts.h"

static struct {
    char lines[4096]; /* those that there was room for */
    size_t bytes;
} kept;

static int keep(const char *format, va_list arguments)
{
    const size_t room = sizeof(kept.lines) - kept.bytes;
    const int n = vsnprintf(kept.lines + kept.bytes, room, format, arguments);

    if (n >= 0 && (size_t)n < room)
        kept.bytes += (size_t)n;
    else
        kept.lines[kept.bytes] = '\0'; /* whole lines */
    return n;
}

static int keep_bpf(enum libbpf_print_level level, const char *format, va_list arguments)
{
    return level == LIBBPF_DEBUG ? 0 : keep(format, arguments);
}

static int keep_xdp(enum libxdp_print_level level, const char *format, va_list arguments)
{
    return level == LIBXDP_DEBUG ? 0 : keep(format, arguments);
}

static int say_bpf(enum libbpf_print_level level, const char *format, va_list arguments)
{
    return level == LIBBPF_DEBUG ? 0 : vfprintf(stderr, format, arguments);
}

static int say_xdp(enum libxdp_print_level level, const char *format, va_list arguments)
{
    return level == LIBXDP_DEBUG ? 0 : vfprintf(stderr, format, arguments);
}

bool xdp_says_all(void)
{
    const char *wish = getenv(XDP_LOG_WISH);

    return wish && !strcmp(wish, "1");
}

void xdp_keep_said(void)
{
    const bool all = xdp_says_all();

    kept.bytes = 0;
    libbpf_set_print(all ? say_bpf : keep_bpf);
    libxdp_set_print(all ? say_xdp : keep_xdp);
}

void xdp_forget_said(void)
{
    kept.bytes = 0;
}

void xdp_tell_said(void)
{
    fwrite(kept.lines, 1, kept.bytes, stderr);
    kept.bytes = 0;
}
