/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "control/config/units.h"
#include "control/serve/verb.h"

#define NS_PER_MS       1000000ull
#define SAMPLING_MIN_NS NS_PER_MS
#define SAMPLING_MAX_NS (60000 * NS_PER_MS)

static json_t *per_packet(uint64_t cycles, const struct worker_steps *s)
{
    return json_rounded(s->packets ? (double)cycles / (double)s->packets : 0, 1);
}

static json_t *steps_of(const struct worker_steps *s)
{
    json_t *object = json_object();

    for (unsigned i = 0; i < STEP_MAX; i++)
        object = json_with(object, step_name(i),
                           json_pack("{s:I, s:o}", "cycles", (json_int_t)s->cycles[i],
                                     "cycles_per_packet", per_packet(s->cycles[i], s)));
    return object;
}

json_t *json_with_steps(json_t *object, const struct dataplane *dp, uint32_t worker)
{
    struct worker_steps s;
    uint64_t cycles = 0;

    if (!dataplane_worker_steps(dp, worker, &s))
        return object;
    for (unsigned i = 0; i < STEP_MAX; i++)
        cycles += s.cycles[i];
    object = json_with(object, "sampled",
                       json_pack("{s:I, s:I, s:I, s:o}", "bursts", (json_int_t)s.bursts, "packets",
                                 (json_int_t)s.packets, "cycles", (json_int_t)cycles,
                                 "cycles_per_packet", per_packet(cycles, &s)));
    return json_with(object, "steps", steps_of(&s));
}

json_t *sample_steps(const struct request *request)
{
    uint64_t duration_ns;

    if (request->n_words != 3 || strcmp(request->words[1], "--steps") != 0)
        return json_error("usage", "usage: workers [--steps DURATION]", NULL, NULL);
    if (units_duration(request->words[2], &duration_ns) != UNITS_OK ||
        duration_ns < SAMPLING_MIN_NS || duration_ns > SAMPLING_MAX_NS)
        return json_error("range", "a duration as 500ms or 2s", "--steps", "1ms..60s");
    dataplane_sample_steps(request->plane->dataplane, duration_ns);
    return json_pack("{s:i, s:I}", "version", ANSWER_VERSION, "sampling_ms",
                     (json_int_t)((duration_ns + NS_PER_MS - 1) / NS_PER_MS));
}
