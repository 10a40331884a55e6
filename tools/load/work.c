/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/load/work.h"

#include <errno.h>
#include <event2/event_struct.h>
#include <stdlib.h>

#include "tools/load/backoff.h"
#include "tools/load/random.h"

static void on_again(int fd, short what, void *arg)
{
    struct work *work = arg;

    (void)fd;
    (void)what;
    work->attempts++;
    client_try(work->client, work);
}

/* False: it has been tried often enough, or would be too late. */
static bool try_again(struct work *work, uint64_t now_ns, uint64_t retry_after_ns)
{
    struct client *client = work->client;
    const struct load_options *options = client->options;
    struct timeval left;
    uint64_t wait_ns;

    if (work->attempts >= options->attempts)
        return false;
    wait_ns =
        backoff_wait_ns(&options->backoff, work->attempts - 1, random_uniform(&client->random));
    if (options->obey_retry_after && wait_ns < retry_after_ns)
        wait_ns = retry_after_ns;
    work->due_ns = now_ns + wait_ns;
    if (work->due_ns >= work->arrival.at_ns + options->deadline_ns)
        return false;
    left = client_time_left(now_ns, work->due_ns);
    evtimer_assign(&work->again, client->base, on_again, work);
    evtimer_add(&work->again, &left);
    return true;
}

static void go_on(struct event *next, enum outcome outcome)
{
    /* A shortage of the generator's own does not pass at once. */
    const struct timeval pause = {.tv_usec = outcome == OUTCOME_NOT_SENT ? 10000 : 0};

    if (next)
        evtimer_add(next, &pause);
}

void work_start(struct client *client, const struct arrival *arrival, struct event *next)
{
    struct work *work = malloc(sizeof(*work));

    if (!work) {
        client->not_sent_errno = ENOMEM;
        results_add(client->results, OUTCOME_NOT_SENT, arrival->at_ns, 0);
        go_on(next, OUTCOME_NOT_SENT);
        return;
    }
    *work = (struct work){.client = client,
                          .arrival = *arrival,
                          .due_ns = arrival->at_ns,
                          .attempts = 1,
                          .next = next};
    client->n_works++;
    client_try(client, work);
}

void work_tried(struct work *work, enum outcome outcome, uint64_t now_ns, uint64_t retry_after_ns)
{
    struct client *client = work->client;

    if (outcome_is_refusal(outcome) && try_again(work, now_ns, retry_after_ns))
        return;
    results_add(client->results, outcome, work->arrival.at_ns, now_ns - work->arrival.at_ns);
    go_on(work->next, outcome);
    free(work);
    client->n_works--;
    client_rest(client);
}
