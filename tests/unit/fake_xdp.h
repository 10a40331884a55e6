/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * XDP programs as xdp_view.h shows them: one guards, one stands in, one is off.
 */
#ifndef SLUICE_TESTS_FAKE_XDP_H
#define SLUICE_TESTS_FAKE_XDP_H

#include "control/plane/xdp_view.h"

#define FAKE_INTERFACES 3

struct xdp {
    struct xdp_view views[FAKE_INTERFACES];
};

/* There is one. */
struct xdp *fake_xdp(void);

#endif
