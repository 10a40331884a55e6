/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/fake_xdp.h"

static struct xdp_counts counts_from(uint64_t base)
{
    struct xdp_counts counts = {
        base + 1, base + 2, base + 3, base + 4, base + 5, {0},
    };

    for (unsigned r = 0; r < REASON_MAX; r++)
        counts.dropped[r] = base + 10 + r;
    return counts;
}

struct xdp *fake_xdp(void)
{
    static const struct gate_xdp front = {.use = XDP_REQUIRED,
                                          .mode = XDP_NATIVE,
                                          .redirect = true,
                                          .standby_after_ns = 200000000,
                                          .stays = true};
    static const struct gate_xdp back = {.standby_after_ns = 50000000};
    static struct xdp xdp;

    xdp.views[0] = (struct xdp_view){.gate = "front",
                                     .side = "outside",
                                     .device = "net_af_xdp0,iface=g0",
                                     .interface = "g0",
                                     .wanted = &front,
                                     .state = XDP_STATE_GUARD,
                                     .mode = "native",
                                     .program = 41,
                                     .pins = "/sys/fs/bpf/sluice/v1",
                                     .alive = true,
                                     .heartbeat_age_ns = 1250000,
                                     .counts = counts_from(1000)};
    xdp.views[1] = (struct xdp_view){.gate = "front",
                                     .side = "inside",
                                     .device = "net_af_xdp1,iface=g1",
                                     .interface = "g1",
                                     .wanted = &front,
                                     .state = XDP_STATE_STANDBY,
                                     .mode = "generic",
                                     .program = 42,
                                     .pins = "/sys/fs/bpf/sluice/v1",
                                     .counts = counts_from(2000)};
    xdp.views[2] = (struct xdp_view){.gate = "back",
                                     .side = "outside",
                                     .device = "0000:03:00.0",
                                     .wanted = &back,
                                     .why = "no interface in the kernel"};
    return &xdp;
}

uint32_t xdp_count(const struct xdp *xdp)
{
    return xdp ? FAKE_INTERFACES : 0;
}

void xdp_view(const struct xdp *xdp, uint32_t index, uint64_t now_ns, struct xdp_view *view)
{
    (void)now_ns;
    *view = xdp->views[index];
}
