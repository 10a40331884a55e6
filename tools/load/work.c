/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/load/work.h"

#include <errno.h>
#include <event2/event_struct.h>
#include <stdlib.h>

#include "tools/scenario/draw.h"

#define WAITS_FOR_EVER_NS (UINT64_MAX / 2)

const struct load_kind *work_kind(const struct work *work)
{
    return &work->client->options->kinds[work->arrival.kind];
}

static uint64_t counts_from_ns(const struct work *work)
{
    return work->client->options->scenario ? work->due_ns : work->arrival.at_ns;
}

uint64_t work_age_ns(const struct work *work, uint64_t now_ns)
{
    uint64_t from_ns = counts_from_ns(work);

    return now_ns > from_ns ? now_ns - from_ns : 0;
}

uint64_t work_give_up_ns(const struct work *work)
{
    return counts_from_ns(work) + work_kind(work)->timeout_ns;
}

static void on_again(int fd, short what, void *arg)
{
    struct work *work = arg;

    (void)fd;
    (void)what;
    work->attempts++;
    client_try(work->client, work);
}

/* No attempt begins so long after the first. */
static uint64_t last_try_ns(const struct work *work)
{
    const struct load_options *options = work->client->options;
    double give_up_s = options->clients.give_up_s;

    if (!options->scenario)
        return work_kind(work)->deadline_ns;
    return give_up_s > 0 ? (uint64_t)(give_up_s * 1e9) : WAITS_FOR_EVER_NS;
}

static bool may_be_tried_again(const struct work *work, enum outcome outcome)
{
    return outcome_is_refusal(outcome) ||
           (outcome == OUTCOME_UNFINISHED && work->client->options->scenario);
}

/* False: it has been tried often enough, or would be too late. */
static bool try_again(struct work *work, uint64_t now_ns, uint64_t retry_after_ns)
{
    struct client *client = work->client;
    const struct scenario_clients *clients = &client->options->clients;
    struct timeval left;
    uint64_t wait_ns, due_ns;

    if (work->attempts >= clients->tries)
        return false;
    wait_ns = (uint64_t)(draw_backoff_s(&client->draws, clients, work->attempts - 1) * 1e9);
    if (clients->retry_after && wait_ns < retry_after_ns)
        wait_ns = retry_after_ns;
    due_ns = now_ns + wait_ns;
    if (due_ns >= work->arrival.at_ns + last_try_ns(work))
        return false;
    work->due_ns = due_ns;
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
        results_add(client->results, &(struct ending){.outcome = OUTCOME_NOT_SENT,
                                                      .kind = arrival->kind,
                                                      .intended_ns = arrival->at_ns});
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

    if (!outcome_is_refusal(outcome) && outcome != OUTCOME_NOT_SENT)
        results_admitted(client->results, work->arrival.at_ns);
    if (may_be_tried_again(work, outcome) && try_again(work, now_ns, retry_after_ns))
        return;
    results_add(client->results, &(struct ending){.outcome = outcome,
                                                  .kind = work->arrival.kind,
                                                  .intended_ns = work->arrival.at_ns,
                                                  .latency_ns = outcome_is_refusal(outcome)
                                                                    ? now_ns - work->arrival.at_ns
                                                                    : work_age_ns(work, now_ns),
                                                  .deadline_ns = work_kind(work)->deadline_ns});
    go_on(work->next, outcome);
    free(work);
    client->n_works--;
    client_rest(client);
}
