/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/admission/gateway_control.h"
#include "dataplane/admission/shed_control.h"

#define HALF     0.5
#define DT_MAX_S 0.1 /* one late step is no long overload */

static double clamp(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

static void move(struct gateway_control *g, const struct gateway_sample *sample, double dt_s)
{
    double fill = sample->missed > 0 ? 1 : clamp(sample->fill, 0, 1);
    double excess = clamp((fill - HALF) / HALF, 0, 1), lack = clamp((HALF - fill) / HALF, 0, 1);
    double both = excess < g->excess ? excess : g->excess;

    dt_s = dt_s < DT_MAX_S ? dt_s : DT_MAX_S;
    g->level += both * dt_s / GATEWAY_RISE_S - lack * dt_s / GATEWAY_FALL_S;
    g->level = clamp(g->level, 0, CLASS_MAX);
    g->excess = excess;
}

void gateway_control_step(struct gateway_control *g, const struct gateway_sample *sample,
                          uint64_t now_ns, uint32_t p[CLASS_MAX])
{
    if (g->started && now_ns > g->last_ns)
        move(g, sample, (double)(now_ns - g->last_ns) / 1e9);
    if (!g->started || now_ns > g->last_ns)
        g->last_ns = now_ns;
    g->started = true;
    for (int c = 0; c < CLASS_MAX; c++) {
        double most = c == CLASS_CRITICAL ? GATEWAY_CRITICAL_MAX : GATEWAY_CEILING;

        p[c] = shed_probability(clamp(g->level - c, 0, 1) * most);
    }
}
