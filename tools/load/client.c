/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/load/client.h"

#include <errno.h>
#include <event2/event_struct.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define REPLY_CHUNK_BYTES 65536u
/* Descriptors left to the event loop, the standard streams and the libraries. */
#define DESCRIPTORS_KEPT 32u

struct request {
    struct event event;
    struct http_parser reply;
    struct client *client;
    TAILQ_ENTRY(request) place;
    uint64_t intended_ns;
    const struct request_text *text;
    size_t written_bytes;
    int fd;
    bool connected, answered, complete; /* answered: at least one byte came back */
    bool lasts;                         /* the connection can take another request */
};

static void on_ready(int fd, short what, void *arg);

uint64_t client_clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t run_clock_ns(const struct client *client)
{
    return client_clock_ns() - client->start_ns;
}

static int on_reply_complete(struct http_parser *parser)
{
    struct request *request = parser->data;

    request->complete = true;
    request->lasts = request->client->options->keep_alive && http_should_keep_alive(parser);
    /* What follows is not of this reply. */
    http_parser_pause(parser, 1);
    return 0;
}

static uint32_t connections_allowed(uint32_t wanted)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
        if (limit.rlim_cur < (rlim_t)wanted + DESCRIPTORS_KEPT)
            wanted = (uint32_t)limit.rlim_cur - DESCRIPTORS_KEPT;
    }
    return wanted;
}

static void compose(const struct load_options *options, const char *path, struct request_text *out)
{
    out->bytes =
        (size_t)snprintf(out->text, sizeof(out->text),
                         "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: sluice-load\r\n"
                         "Connection: %s\r\n\r\n",
                         path, options->target_text, options->keep_alive ? "keep-alive" : "close");
}

int client_init(struct client *client, const struct load_options *options, struct results *results,
                struct event_base *base)
{
    *client = (struct client){.options = options, .results = results, .base = base};
    http_parser_settings_init(&client->reply);
    client->reply.on_message_complete = on_reply_complete;
    for (uint32_t i = 0; i < options->n_kinds; i++)
        compose(options, options->kinds[i], &client->texts[i]);
    client->pool_size = connections_allowed(options->connections);
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

static void hang_up(struct request *request)
{
    event_del(&request->event);
    close(request->fd);
    TAILQ_INSERT_HEAD(&request->client->free, request, place);
}

static struct request *take_idle(struct client *client)
{
    struct request *request = TAILQ_FIRST(&client->idle);

    if (request) {
        TAILQ_REMOVE(&client->idle, request, place);
        event_del(&request->event);
    }
    return request;
}

/* Nothing is asked, so whatever comes is the service's end of the connection. */
static void on_idle_ready(int fd, short what, void *arg)
{
    struct request *request = arg;

    (void)fd;
    (void)what;
    TAILQ_REMOVE(&request->client->idle, request, place);
    hang_up(request);
}

static void keep_open(struct request *request)
{
    struct client *client = request->client;

    event_del(&request->event);
    event_assign(&request->event, client->base, request->fd, EV_READ, on_idle_ready, request);
    event_add(&request->event, NULL);
    TAILQ_INSERT_TAIL(&client->idle, request, place);
}

static void finish(struct request *request, enum outcome outcome, uint64_t latency_ns)
{
    struct client *client = request->client;

    results_add(client->results, outcome, request->intended_ns, latency_ns);
    if (request->lasts && !client->draining)
        keep_open(request);
    else
        hang_up(request);
}

static void finish_now(struct request *request, enum outcome outcome)
{
    finish(request, outcome, run_clock_ns(request->client) - request->intended_ns);
}

static void finish_complete(struct request *request)
{
    uint64_t latency_ns = run_clock_ns(request->client) - request->intended_ns;
    enum outcome outcome = OUTCOME_REFUSED_OTHER;

    switch (request->reply.status_code) {
    case 200:
        outcome =
            latency_ns <= request->client->options->deadline_ns ? OUTCOME_USEFUL : OUTCOME_LATE;
        break;
    case 403:
        outcome = OUTCOME_REFUSED_403;
        break;
    case 429:
        outcome = OUTCOME_REFUSED_429;
        break;
    case 503:
        outcome = OUTCOME_REFUSED_503;
        break;
    default:
        break;
    }
    finish(request, outcome, latency_ns);
}

/* The connection failed or ended with `error` (0: closed by the other side) and no whole reply. */
static void finish_broken(struct request *request, int error)
{
    if (request->answered)
        finish_now(request, OUTCOME_UNFINISHED);
    else if (error == ECONNREFUSED || error == ECONNRESET || error == EPIPE)
        finish_now(request, OUTCOME_REFUSED_RST);
    else if (error == ETIMEDOUT)
        finish_now(request, OUTCOME_REFUSED_TIMEOUT);
    else
        finish_now(request, OUTCOME_REFUSED_OTHER);
}

static void wait_for(struct request *request, short what)
{
    struct client *client = request->client;
    uint64_t give_up_ns = request->intended_ns + client->options->timeout_ns;
    uint64_t now_ns = run_clock_ns(client);
    uint64_t left_us = give_up_ns > now_ns ? (give_up_ns - now_ns + 999) / 1000 : 0;
    struct timeval left = {.tv_sec = (time_t)(left_us / 1000000),
                           .tv_usec = (suseconds_t)(left_us % 1000000)};

    event_assign(&request->event, client->base, request->fd, what, on_ready, request);
    event_add(&request->event, &left);
}

static void write_request(struct request *request)
{
    const struct request_text *text = request->text;
    ssize_t n = send(request->fd, text->text + request->written_bytes,
                     text->bytes - request->written_bytes, MSG_NOSIGNAL);

    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        finish_broken(request, errno);
        return;
    }
    if (n > 0)
        request->written_bytes += (size_t)n;
    wait_for(request, request->written_bytes < text->bytes ? EV_WRITE : EV_READ);
}

static void read_reply(struct request *request)
{
    static char chunk[REPLY_CHUNK_BYTES];
    ssize_t n = recv(request->fd, chunk, sizeof(chunk), 0);
    size_t parsed;

    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        finish_broken(request, errno);
        return;
    }
    if (n >= 0) {
        request->answered |= n > 0;
        /* Zero bytes tell the parser of the end, which completes a reply without a length. */
        parsed = http_parser_execute(&request->reply, &request->client->reply, chunk, (size_t)n);
        if (request->complete) {
            request->lasts &= n > 0 && parsed == (size_t)n;
            finish_complete(request);
            return;
        }
        if (n == 0 || HTTP_PARSER_ERRNO(&request->reply) != HPE_OK) {
            finish_broken(request, 0);
            return;
        }
    }
    wait_for(request, EV_READ);
}

static void on_connected(struct request *request)
{
    int error = 0;
    socklen_t length = sizeof(error);

    getsockopt(request->fd, SOL_SOCKET, SO_ERROR, &error, &length);
    if (error) {
        finish_broken(request, error);
        return;
    }
    request->connected = true;
    write_request(request);
}

static void on_ready(int fd, short what, void *arg)
{
    struct request *request = arg;

    (void)fd;
    if (what & EV_READ)
        read_reply(request);
    else if (what & EV_WRITE && request->connected)
        write_request(request);
    else if (what & EV_WRITE)
        on_connected(request);
    else
        finish_now(request, request->connected ? OUTCOME_UNFINISHED : OUTCOME_REFUSED_TIMEOUT);
}

static int open_socket(const struct source *target, const struct source *source)
{
    int fd = socket(target->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
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

static void not_sent(struct client *client, uint64_t intended_ns, int error)
{
    client->not_sent_errno = error;
    results_add(client->results, OUTCOME_NOT_SENT, intended_ns, 0);
}

/* What connect() says about the generator rather than about the service. */
static bool own_shortage(int error)
{
    return error == EADDRNOTAVAIL || error == EAGAIN || error == ENOBUFS || error == ENOMEM;
}

static void begin(struct request *request, struct client *client, const struct arrival *arrival,
                  int fd)
{
    *request = (struct request){.client = client,
                                .intended_ns = arrival->at_ns,
                                .text = &client->texts[arrival->kind],
                                .fd = fd};
    http_parser_init(&request->reply, HTTP_RESPONSE);
    request->reply.data = request;
    event_assign(&request->event, client->base, fd, EV_WRITE, on_ready, request);
}

static void send_on_fresh(struct request *request, struct client *client,
                          const struct arrival *arrival)
{
    const struct source_list *sources = &client->options->sources;
    const struct source *target = &client->options->target;
    int fd = open_socket(target, sources->n ? &sources->list[arrival->source] : NULL), error = 0;

    if (fd < 0) {
        not_sent(client, arrival->at_ns, errno);
        return;
    }
    if (connect(fd, (const void *)&target->address, target->length) && errno != EINPROGRESS)
        error = errno;
    if (own_shortage(error)) {
        close(fd);
        not_sent(client, arrival->at_ns, error);
        return;
    }
    results_sent(client->results, arrival->at_ns, run_clock_ns(client));
    TAILQ_REMOVE(&client->free, request, place);
    begin(request, client, arrival, fd);
    wait_for(request, EV_WRITE);
    if (error)
        finish_broken(request, error);
}

void client_send(struct client *client, const struct arrival *arrival)
{
    uint64_t now_ns = run_clock_ns(client);
    struct request *request;

    /* Nobody would have waited for it any more. */
    if (now_ns >= arrival->at_ns + client->options->timeout_ns) {
        not_sent(client, arrival->at_ns, ETIME);
        return;
    }
    request = take_idle(client);
    if (request) {
        results_sent(client->results, arrival->at_ns, now_ns);
        begin(request, client, arrival, request->fd);
        request->connected = true;
        write_request(request);
        return;
    }
    request = TAILQ_FIRST(&client->free);
    if (request)
        send_on_fresh(request, client, arrival);
    else
        not_sent(client, arrival->at_ns, EMFILE);
}

void client_drain(struct client *client)
{
    struct request *request;

    client->draining = true;
    while ((request = take_idle(client)))
        hang_up(request);
}
