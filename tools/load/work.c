/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/load/work.h"

#include <errno.h>
#include <event2/event_struct.h>
#include <stdlib.h>

#include "tools/scenario/draw.h"

const struct load_kind *work_kind(const struct work *work)
{
    return &work->client->options->kinds[work->arrival.kind];
}

uint64_t work_age_ns(const struct work *work, uint64_t now_ns)
{
    return now_ns > work->arrival.at_ns ? now_ns - work->arrival.at_ns : 0;
}

uint64_t work_give_up_ns(const struct work *work)
{
    return work->arrival.at_ns + work_kind(work)->timeout_ns;
}

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
    const struct scenario_clients *clients = &client->options->clients;
    struct timeval left;
    uint64_t wait_ns;

    if (work->attempts >= clients->tries)
        return false;
    wait_ns = (uint64_t)(draw_backoff_s(&client->draws, clients, work->attempts - 1) * 1e9);
    if (clients->retry_after && wait_ns < retry_after_ns)
        wait_ns = retry_after_ns;
    work->due_ns = now_ns + wait_ns;
    if (work_age_ns(work, work->due_ns) >= work_kind(work)->deadline_ns)
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
