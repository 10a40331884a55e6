/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/load/sender.h"

#include <errno.h>

#include "tools/load/closed.h"
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
        work_start(&sender->client, arrival, NULL);
        sender->next++;
    }
    if (sender->next < schedule->n)
        wait_for_next(sender);
    else
        client_producer_ends(&sender->client);
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

/* Runs until nothing is due and nothing under way; every attempt is bounded by its timeout. */
static int run(struct sender *sender, struct event_base *base)
{
    struct closed closed;
    int error = closed_start(&closed, &sender->client);

    if (error)
        goto out;
    sender->timer = evtimer_new(base, on_due, sender);
    if (!sender->timer) {
        error = -ENOMEM;
        goto out;
    }
    if (sender->schedule->n) {
        sender->client.n_producers++;
        wait_for_next(sender);
    }
    event_base_dispatch(base);
    event_free(sender->timer);
out:
    closed_free(&closed);
    return error;
}

int sender_run(const struct load_options *options, const struct schedule *schedule,
               struct results *results, int *not_sent_errno)
{
    struct sender sender = {.schedule = schedule};
    struct event_base *base = new_base();
    int error;

    if (!base)
        return -ENOMEM;
    error = client_init(&sender.client, options, results, base);
    if (error)
        goto out_base;
    sender.client.start_ns = client_clock_ns() + LEAD_IN_NS;
    error = run(&sender, base);
    *not_sent_errno = sender.client.not_sent_errno;
    client_free(&sender.client);
out_base:
    event_base_free(base);
    return error;
}
