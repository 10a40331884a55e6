/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/load/sender.h"

#include <errno.h>

#include "tools/load/work.h"

/* Requests started per turn of the loop, so that replies are read in between when behind. */
#define SENDS_PER_TURN 64u
/* Between set-up and the first request. */
#define LEAD_IN_NS UINT64_C(10000000)

struct sender {
    struct client client;
    const struct schedule *schedule;
    uint64_t next;
    struct event *timer;
};

static void wait_for_next(struct sender *sender)
{
    uint64_t due_ns = sender->client.start_ns + sender->schedule->arrivals[sender->next].at_ns;
    struct timeval left = client_time_left(client_clock_ns(), due_ns);

    evtimer_add(sender->timer, &left);
}

static void on_due(int fd, short what, void *arg)
{
    struct sender *sender = arg;
    const struct schedule *schedule = sender->schedule;
    uint64_t run_ns = client_run_ns(&sender->client);

    (void)fd;
    (void)what;
    for (unsigned int i = 0; i < SENDS_PER_TURN && sender->next < schedule->n; i++) {
        const struct arrival *arrival = &schedule->arrivals[sender->next];

        if (arrival->at_ns > run_ns)
            break;
        work_start(&sender->client, arrival);
        sender->next++;
    }
    if (sender->next < schedule->n)
        wait_for_next(sender);
    else
        client_drain(&sender->client);
}

static struct event_base *new_base(void)
{
    struct event_config *config = event_config_new();
    struct event_base *base = NULL;

    /* Microsecond timers; and no cached time, which would make every timeout start early. */
    if (config && event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER |
                                                    EVENT_BASE_FLAG_NO_CACHE_TIME) == 0)
        base = event_base_new_with_config(config);
    if (config)
        event_config_free(config);
    return base;
}

int sender_run(const struct load_options *options, const struct schedule *schedule,
               struct results *results, int *not_sent_errno)
{
    struct sender sender = {.schedule = schedule};
    struct event_base *base = new_base();
    int error = -ENOMEM;

    if (!base)
        return -ENOMEM;
    if (client_init(&sender.client, options, results, base))
        goto out_base;
    sender.timer = evtimer_new(base, on_due, &sender);
    if (!sender.timer)
        goto out_client;
    sender.client.start_ns = client_clock_ns() + LEAD_IN_NS;
    if (schedule->n)
        wait_for_next(&sender);
    /* Returns when nothing is due and nothing in flight; every request is bounded by its timeout.
     */
    event_base_dispatch(base);
    *not_sent_errno = sender.client.not_sent_errno;
    event_free(sender.timer);
    error = 0;
out_client:
    client_free(&sender.client);
out_base:
    event_base_free(base);
    return error;
}
