/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/plane/sample.h"

static struct plane_sample difference(const struct worker_counters *now,
                                      const struct worker_counters *before, double span_s)
{
    double busy = (double)(now->busy_cycles - before->busy_cycles);
    double idle = (double)(now->idle_cycles - before->idle_cycles);
    double packets = (double)(now->received - before->received);

    return (struct plane_sample){
        .busy = busy + idle > 0 ? busy / (busy + idle) : 0,
        .cycles_per_packet = packets > 0 ? busy / packets : 0,
        .packets_per_s = packets / span_s,
    };
}

void sample_collect(struct sampler *sampler, struct plane *plane, uint64_t now_ns)
{
    uint64_t span_ns = now_ns - sampler->last_ns;

    if (sampler->last_ns && span_ns < SAMPLE_SPAN_NS)
        return;
    for (uint32_t i = 0; i < dataplane_worker_count(plane->dataplane); i++) {
        struct worker_view view;

        dataplane_worker_view(plane->dataplane, i, &view);
        if (sampler->last_ns)
            plane->samples[i] =
                difference(&view.counters, &sampler->last[i], (double)span_ns / 1e9);
        sampler->last[i] = view.counters;
    }
    sampler->last_ns = now_ns;
}
