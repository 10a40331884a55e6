/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/load/client.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tools/load/work.h"

#define REPLY_CHUNK_BYTES 65536u
#define NS_PER_S          UINT64_C(1000000000)

static void on_ready(int fd, short what, void *arg);

uint64_t client_clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t client_run_ns(const struct client *client)
{
    uint64_t now_ns = client_clock_ns();

    return now_ns > client->start_ns ? now_ns - client->start_ns : 0;
}

struct timeval client_time_left(uint64_t now_ns, uint64_t then_ns)
{
    uint64_t left_us = then_ns > now_ns ? (then_ns - now_ns + 999) / 1000 : 0;

    return (struct timeval){.tv_sec = (time_t)(left_us / 1000000),
                            .tv_usec = (suseconds_t)(left_us % 1000000)};
}

/* 0: not even one is. */
static uint32_t connections_allowed(uint32_t wanted)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
        if (limit.rlim_cur <= CLIENT_DESCRIPTORS_KEPT)
            return 0;
        if (limit.rlim_cur < (rlim_t)wanted + CLIENT_DESCRIPTORS_KEPT)
            wanted = (uint32_t)limit.rlim_cur - CLIENT_DESCRIPTORS_KEPT;
    }
    return wanted;
}

int client_init(struct client *client, const struct load_options *options, struct results *results,
                struct event_base *base)
{
    *client = (struct client){.options = options, .results = results, .base = base};
    /* Not the numbers that a schedule of this seed is made of. */
    random_seed(&client->draws, options->schedule.seed + 1);
    for (uint32_t i = 0; i < options->n_kinds; i++)
        options->protocol->compose(options, options->kinds[i].name, &client->texts[i]);
    client->pool_size = connections_allowed(options->connections);
    if (client->pool_size == 0)
        return -EMFILE;
    client->pool = calloc(client->pool_size, sizeof(*client->pool));
    if (!client->pool)
        return -ENOMEM;
    TAILQ_INIT(&client->free);
    TAILQ_INIT(&client->idle);
    for (uint32_t i = 0; i < client->pool_size; i++)
        TAILQ_INSERT_TAIL(&client->free, &client->pool[i], place);
    return 0;
}

void client_free(struct client *client)
{
    free(client->pool);
    client->pool = NULL;
}

static void hang_up(struct attempt *attempt)
{
    event_del(&attempt->event);
    close(attempt->fd);
    TAILQ_INSERT_HEAD(&attempt->client->free, attempt, place);
}

static struct attempt *take_idle(struct client *client)
{
    struct attempt *attempt = TAILQ_FIRST(&client->idle);

    if (attempt) {
        TAILQ_REMOVE(&client->idle, attempt, place);
        event_del(&attempt->event);
    }
    return attempt;
}

/* Nothing is asked, so whatever comes is the service's end of the connection. */
static void on_idle_ready(int fd, short what, void *arg)
{
    struct attempt *attempt = arg;

    (void)fd;
    (void)what;
    TAILQ_REMOVE(&attempt->client->idle, attempt, place);
    hang_up(attempt);
}

static void keep_open(struct attempt *attempt)
{
    struct client *client = attempt->client;

    event_del(&attempt->event);
    event_assign(&attempt->event, client->base, attempt->fd, EV_READ, on_idle_ready, attempt);
    event_add(&attempt->event, NULL);
    TAILQ_INSERT_TAIL(&client->idle, attempt, place);
}

static void finish(struct attempt *attempt, enum outcome outcome, uint64_t now_ns)
{
    const struct client *client = attempt->client;
    struct work *work = attempt->work;
    uint64_t retry_after_ns = attempt->retry_after_s * NS_PER_S;

    if (attempt->lasts && client->options->keep_alive)
        keep_open(attempt);
    else
        hang_up(attempt);
    work_tried(work, outcome, now_ns, retry_after_ns);
}

static void finish_now(struct attempt *attempt, enum outcome outcome)
{
    finish(attempt, outcome, client_run_ns(attempt->client));
}

static void finish_complete(struct attempt *attempt)
{
    const struct client *client = attempt->client;
    uint64_t now_ns = client_run_ns(client);
    enum outcome outcome = attempt->verdict;

    if (outcome == OUTCOME_USEFUL &&
        work_age_ns(attempt->work, now_ns) > work_kind(attempt->work)->deadline_ns)
        outcome = OUTCOME_LATE;
    finish(attempt, outcome, now_ns);
}

static bool is_stream(const struct client *client)
{
    return client->options->protocol->socket_type == SOCK_STREAM;
}

/* What an ICMP error says on a connected datagram socket. */
static bool unreachable(int error)
{
    return error == ECONNREFUSED || error == EHOSTUNREACH || error == ENETUNREACH ||
           error == ENOPROTOOPT;
}

/* The connection failed or ended with `error` (0: closed by the other side) and no whole reply. */
static void finish_broken(struct attempt *attempt, int error)
{
    if (attempt->answered)
        finish_now(attempt, OUTCOME_UNFINISHED);
    else if (!is_stream(attempt->client))
        finish_now(attempt,
                   unreachable(error) ? OUTCOME_REFUSED_UNREACHABLE : OUTCOME_REFUSED_OTHER);
    else if (error == ECONNREFUSED || error == ECONNRESET || error == EPIPE)
        finish_now(attempt, OUTCOME_REFUSED_RST);
    else if (error == ETIMEDOUT)
        finish_now(attempt, OUTCOME_REFUSED_TIMEOUT);
    else
        finish_now(attempt, OUTCOME_REFUSED_OTHER);
}

static void wait_for(struct attempt *attempt, short what)
{
    struct client *client = attempt->client;
    struct timeval left = client_time_left(client_run_ns(client), work_give_up_ns(attempt->work));

    event_assign(&attempt->event, client->base, attempt->fd, what, on_ready, attempt);
    event_add(&attempt->event, &left);
}

static void write_request(struct attempt *attempt)
{
    const struct request_text *text = attempt->text;
    ssize_t n;

    /* The text is shared: an id that is written into it now is sent now. */
    if (attempt->written_bytes == 0)
        attempt->client->options->protocol->begin(attempt);
    n = send(attempt->fd, text->text + attempt->written_bytes, text->bytes - attempt->written_bytes,
             MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        finish_broken(attempt, errno);
        return;
    }
    if (n > 0)
        attempt->written_bytes += (size_t)n;
    wait_for(attempt, attempt->written_bytes < text->bytes ? EV_WRITE : EV_READ);
}

static void read_reply(struct attempt *attempt)
{
    static char chunk[REPLY_CHUNK_BYTES];
    ssize_t n = recv(attempt->fd, chunk, sizeof(chunk), 0);
    enum reading reading = READ_MORE;

    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        finish_broken(attempt, errno);
        return;
    }
    if (n >= 0)
        reading = attempt->client->options->protocol->read(attempt, chunk, (size_t)n);
    if (reading == READ_COMPLETE)
        finish_complete(attempt);
    else if (reading == READ_BROKEN)
        finish_broken(attempt, 0);
    else
        wait_for(attempt, EV_READ);
}

static void go_on_connected(struct attempt *attempt)
{
    attempt->connected = true;
    if (attempt->text->bytes) {
        write_request(attempt);
    } else {
        attempt->verdict = OUTCOME_USEFUL;
        finish_complete(attempt);
    }
}

static void on_connected(struct attempt *attempt)
{
    int error = 0;
    socklen_t length = sizeof(error);

    getsockopt(attempt->fd, SOL_SOCKET, SO_ERROR, &error, &length);
    if (error)
        finish_broken(attempt, error);
    else
        go_on_connected(attempt);
}

static void on_ready(int fd, short what, void *arg)
{
    struct attempt *attempt = arg;

    (void)fd;
    if (what & EV_READ)
        read_reply(attempt);
    else if (what & EV_WRITE && attempt->connected)
        write_request(attempt);
    else if (what & EV_WRITE)
        on_connected(attempt);
    else
        finish_now(attempt, attempt->connected ? OUTCOME_UNFINISHED : OUTCOME_REFUSED_TIMEOUT);
}

static int open_socket(const struct client *client, const struct source *source)
{
    int fd = socket(client->options->target.address.ss_family,
                    client->options->protocol->socket_type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int on = 1;

    if (fd < 0 || !source)
        return fd;
    /* The port is chosen when the target is known: each source has all ports to each target. */
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
    if (bind(fd, (const void *)&source->address, source->length)) {
        close(fd);
        return -1;
    }
    return fd;
}

static void not_sent(struct client *client, struct work *work, int error)
{
    client->not_sent_errno = error;
    work_tried(work, OUTCOME_NOT_SENT, client_run_ns(client), 0);
}

/* What connect() says about the generator rather than about the service. */
static bool own_shortage(int error)
{
    return error == EADDRNOTAVAIL || error == EAGAIN || error == ENOBUFS || error == ENOMEM;
}

static uint64_t draw_id(struct random_state *draws)
{
    uint64_t high = (uint64_t)(random_uniform(draws) * 0x1p32);

    return high << 32 | (uint64_t)(random_uniform(draws) * 0x1p32);
}

static void begin(struct attempt *attempt, struct client *client, struct work *work, int fd)
{
    *attempt = (struct attempt){.client = client,
                                .work = work,
                                .text = &client->texts[work->arrival.kind],
                                .id = draw_id(&client->draws),
                                .fd = fd};
    event_assign(&attempt->event, client->base, fd, EV_WRITE, on_ready, attempt);
}

static void try_on_fresh(struct attempt *attempt, struct client *client, struct work *work)
{
    const struct source_list *sources = &client->options->sources;
    const struct source *target = &client->options->target;
    int fd = open_socket(
        client, work->arrival.source < sources->n ? &sources->list[work->arrival.source] : NULL);
    int error = 0;

    if (fd < 0) {
        not_sent(client, work, errno);
        return;
    }
    if (connect(fd, (const void *)&target->address, target->length) && errno != EINPROGRESS)
        error = errno;
    if (own_shortage(error)) {
        close(fd);
        not_sent(client, work, error);
        return;
    }
    results_sent(client->results, work->arrival.at_ns, work->due_ns, client_run_ns(client));
    TAILQ_REMOVE(&client->free, attempt, place);
    begin(attempt, client, work, fd);
    if (error)
        finish_broken(attempt, error);
    else if (is_stream(client))
        wait_for(attempt, EV_WRITE);
    else
        go_on_connected(attempt);
}

void client_try(struct client *client, struct work *work)
{
    uint64_t now_ns = client_run_ns(client);
    struct attempt *attempt;

    /* Nobody would have waited for it any more. */
    if (now_ns >= work_give_up_ns(work)) {
        not_sent(client, work, ETIME);
        return;
    }
    attempt = take_idle(client);
    if (attempt) {
        results_sent(client->results, work->arrival.at_ns, work->due_ns, now_ns);
        begin(attempt, client, work, attempt->fd);
        go_on_connected(attempt);
        return;
    }
    attempt = TAILQ_FIRST(&client->free);
    if (attempt)
        try_on_fresh(attempt, client, work);
    else
        not_sent(client, work, EMFILE);
}

void client_rest(struct client *client)
{
    struct attempt *attempt;

    while (client->n_producers == 0 && client->n_works == 0 && (attempt = take_idle(client)))
        hang_up(attempt);
}

void client_producer_ends(struct client *client)
{
    client->n_producers--;
    client_rest(client);
}
