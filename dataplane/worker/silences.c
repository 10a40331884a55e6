/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/worker/silences.h"

#include "dataplane/flow/silence.h"
#include "dataplane/worker/steps.h"

#define POPS_MAX 256 /* in one loop; the rest is due in the next */

static uint32_t silence_ms(const struct worker *w, const struct flow *flow)
{
    return w->facts[flow->service].silence_ms;
}

void silences_watch(struct worker *w, struct flow *flow)
{
    if (silence_push(w->silence, flow_index(w->flows, flow), flow->heard_ms + silence_ms(w, flow)))
        flow->marks |= FLOW_IS_TIMED;
}

/* It may have spoken meanwhile, have ended, or be another one by now. */
static void look_at(struct worker *w, struct flow *flow)
{
    flow->marks &= (uint8_t)~FLOW_IS_TIMED;
    if (flow->state == FLOW_FREE || flow->service == FLOW_NO_SERVICE ||
        !(flow->flags & FLOW_REPLIES))
        return;
    if (!flow_silent(flow, silence_ms(w, flow), w->burst.moment.age_ms)) {
        silences_watch(w, flow);
        return;
    }
    work_free_slot(w, flow, OUTCOME_FINISHED);
    flow_end_exchange(flow);
}

void silences_tend(struct worker *w)
{
    for (unsigned i = 0; i < POPS_MAX; i++) {
        uint32_t index = silence_pop_due(w->silence, w->burst.moment.age_ms);

        if (!index)
            return;
        look_at(w, flow_at(w->flows, index));
    }
}
