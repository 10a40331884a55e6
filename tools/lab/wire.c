/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BATCH                64u
#define TAG_BYTES            4u
#define ADDRESSES_BYTES      12u
#define RECEIVE_BUFFER_BYTES (16 << 20)
#define NS_PER_S             UINT64_C(1000000000)

struct wire_frame {
    uint64_t due_ns;
    uint32_t start, bytes; /* bytes 0: there is nothing to send */
    uint8_t data[TAG_BYTES + WIRE_FRAME_MAX_BYTES];
};

/* Of one call for many frames. */
struct batch {
    struct mmsghdr messages[BATCH];
    struct iovec pieces[BATCH];
    _Alignas(size_t) char control[BATCH][CMSG_SPACE(sizeof(struct tpacket_auxdata))];
};

static volatile sig_atomic_t stopping;

static void on_signal(int number)
{
    (void)number;
    stopping = 1;
}

static uint64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static struct wire_frame *frame_at(const struct wire *wire, const struct wire_way *way,
                                   uint64_t number)
{
    return &way->ring[number % wire->frames];
}

/* The kernel has taken the outer tag out of the frame and put it beside it. */
static void put_tag_back(struct wire_frame *frame, struct msghdr *message)
{
    struct cmsghdr *control = CMSG_FIRSTHDR(message);
    struct tpacket_auxdata aux;
    uint16_t tag[2];

    if (!control || control->cmsg_level != SOL_PACKET || control->cmsg_type != PACKET_AUXDATA)
        return;
    memcpy(&aux, CMSG_DATA(control), sizeof(aux));
    if (!(aux.tp_status & TP_STATUS_VLAN_VALID))
        return;
    tag[0] = htons(aux.tp_status & TP_STATUS_VLAN_TPID_VALID ? aux.tp_vlan_tpid : ETH_P_8021Q);
    tag[1] = htons(aux.tp_vlan_tci);
    memmove(frame->data, frame->data + TAG_BYTES, ADDRESSES_BYTES);
    memcpy(frame->data + ADDRESSES_BYTES, tag, TAG_BYTES);
    frame->start = 0;
    frame->bytes += TAG_BYTES;
}

static void take(struct wire_way *way, struct wire_frame *frame, struct mmsghdr *message,
                 uint64_t due_ns)
{
    frame->due_ns = due_ns;
    frame->start = TAG_BYTES;
    frame->bytes = message->msg_len;
    if (message->msg_hdr.msg_flags & MSG_TRUNC) {
        frame->bytes = 0;
        way->too_long++;
        return;
    }
    put_tag_back(frame, &message->msg_hdr);
}

static void discard(struct wire_way *way)
{
    char byte;

    for (unsigned int i = 0; i < BATCH; i++) {
        if (recv(way->in_fd, &byte, sizeof(byte), MSG_DONTWAIT) < 0)
            return;
        way->received++;
        way->queue_full++;
    }
}

static void receive(const struct wire *wire, struct wire_way *way, uint64_t now_ns)
{
    static struct batch batch;
    uint64_t room = wire->frames - (way->end - way->first);
    unsigned int wanted = room < BATCH ? (unsigned int)room : BATCH;
    int n;

    if (!wanted) {
        discard(way);
        return;
    }
    for (unsigned int i = 0; i < wanted; i++) {
        batch.pieces[i] =
            (struct iovec){.iov_base = frame_at(wire, way, way->end + i)->data + TAG_BYTES,
                           .iov_len = WIRE_FRAME_MAX_BYTES};
        batch.messages[i].msg_hdr = (struct msghdr){.msg_iov = &batch.pieces[i],
                                                    .msg_iovlen = 1,
                                                    .msg_control = batch.control[i],
                                                    .msg_controllen = sizeof(batch.control[i])};
    }
    n = recvmmsg(way->in_fd, batch.messages, wanted, MSG_DONTWAIT, NULL);
    for (int i = 0; i < n; i++)
        take(way, frame_at(wire, way, way->end++), &batch.messages[i], now_ns + wire->delay_ns);
    way->received += n > 0 ? (uint64_t)n : 0;
    if (way->end - way->first > way->under_way_peak)
        way->under_way_peak = way->end - way->first;
}

static bool is_due(const struct wire *wire, const struct wire_way *way, uint64_t number,
                   uint64_t now_ns)
{
    return number < way->end && frame_at(wire, way, number)->due_ns <= now_ns;
}

/* Sends at least one of the frames that are due, or gives it up: a wire does not wait. */
static void send_some(const struct wire *wire, struct wire_way *way, uint64_t now_ns)
{
    static struct batch batch;
    unsigned int wanted = 0;
    int n;

    for (; wanted < BATCH && is_due(wire, way, way->first + wanted, now_ns); wanted++) {
        struct wire_frame *frame = frame_at(wire, way, way->first + wanted);

        if (!frame->bytes)
            break;
        batch.pieces[wanted] =
            (struct iovec){.iov_base = frame->data + frame->start, .iov_len = frame->bytes};
        batch.messages[wanted].msg_hdr =
            (struct msghdr){.msg_iov = &batch.pieces[wanted], .msg_iovlen = 1};
    }
    if (!wanted) {
        way->first++;
        return;
    }
    n = sendmmsg(way->out_fd, batch.messages, wanted, MSG_DONTWAIT);
    if (n > 0)
        way->sent += (uint64_t)n;
    else
        way->send_failed++;
    way->first += n > 0 ? (uint64_t)n : 1;
}

/* Until the next frame is due; NULL: until one comes. */
static const struct timespec *time_left(const struct wire *wire, uint64_t now_ns,
                                        struct timespec *left)
{
    uint64_t left_ns = UINT64_MAX;

    for (unsigned int i = 0; i < 2; i++) {
        const struct wire_way *way = &wire->ways[i];
        uint64_t due_ns;

        if (way->first == way->end)
            continue;
        due_ns = frame_at(wire, way, way->first)->due_ns;
        if (due_ns <= now_ns)
            left_ns = 0;
        else if (due_ns - now_ns < left_ns)
            left_ns = due_ns - now_ns;
    }
    left->tv_sec = (time_t)(left_ns / NS_PER_S);
    left->tv_nsec = (long)(left_ns % NS_PER_S);
    return left_ns == UINT64_MAX ? NULL : left;
}

int wire_run(struct wire *wire)
{
    struct pollfd fds[2] = {{.fd = wire->ways[0].in_fd, .events = POLLIN},
                            {.fd = wire->ways[1].in_fd, .events = POLLIN}};
    struct sigaction action = {.sa_handler = on_signal};
    sigset_t blocked, before;
    struct timespec left;

    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigaddset(&blocked, SIGINT);
    /* Signals come only inside ppoll(), so that none is missed just before it. */
    if (sigprocmask(SIG_BLOCK, &blocked, &before) || sigaction(SIGTERM, &action, NULL) ||
        sigaction(SIGINT, &action, NULL))
        return -errno;
    while (!stopping) {
        uint64_t now_ns = clock_ns();

        if (ppoll(fds, 2, time_left(wire, now_ns, &left), &before) < 0 && errno != EINTR)
            return -errno;
        now_ns = clock_ns();
        for (unsigned int i = 0; i < 2; i++) {
            struct wire_way *way = &wire->ways[i];

            while (is_due(wire, way, way->first, now_ns))
                send_some(wire, way, now_ns);
            if (fds[i].revents)
                receive(wire, way, now_ns);
        }
    }
    return 0;
}

static int set(int fd, int level, int option, int value)
{
    return setsockopt(fd, level, option, &value, sizeof(value)) ? -errno : 0;
}

static int open_interface(const char *name)
{
    struct sockaddr_ll address = {.sll_family = AF_PACKET,
                                  .sll_protocol = htons(ETH_P_ALL),
                                  .sll_ifindex = (int)if_nametoindex(name)};
    struct packet_mreq promiscuous = {.mr_ifindex = address.sll_ifindex,
                                      .mr_type = PACKET_MR_PROMISC};
    int fd, error;

    if (!address.sll_ifindex)
        return -ENODEV;
    /* Protocol 0: it takes nothing before it is bound. */
    fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    error = set(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1);
    if (!error)
        error = set(fd, SOL_PACKET, PACKET_AUXDATA, 1);
    if (!error)
        error = set(fd, SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER_BYTES);
    if (!error &&
        (setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promiscuous, sizeof(promiscuous)) ||
         bind(fd, (const void *)&address, sizeof(address))))
        error = -errno;
    if (!error)
        return fd;
    close(fd);
    return error;
}

int wire_open(struct wire *wire, const char *one, const char *other)
{
    struct wire_way *there = &wire->ways[0], *back = &wire->ways[1];

    *there = (struct wire_way){.from = one, .to = other, .in_fd = -1, .out_fd = -1};
    *back = (struct wire_way){.from = other, .to = one, .in_fd = -1, .out_fd = -1};
    there->ring = calloc(wire->frames, sizeof(*there->ring));
    back->ring = calloc(wire->frames, sizeof(*back->ring));
    if (!there->ring || !back->ring)
        return -ENOMEM;
    there->in_fd = back->out_fd = open_interface(one);
    if (there->in_fd < 0)
        return there->in_fd;
    back->in_fd = there->out_fd = open_interface(other);
    return back->in_fd < 0 ? back->in_fd : 0;
}

void wire_close(struct wire *wire)
{
    for (unsigned int i = 0; i < 2; i++) {
        free(wire->ways[i].ring);
        if (wire->ways[i].in_fd >= 0)
            close(wire->ways[i].in_fd);
    }
}

static uint64_t missed(const struct wire_way *way)
{
    struct tpacket_stats stats = {0};
    socklen_t length = sizeof(stats);

    getsockopt(way->in_fd, SOL_PACKET, PACKET_STATISTICS, &stats, &length);
    return stats.tp_drops;
}

void wire_report(const struct wire *wire, FILE *out)
{
    fprintf(out, "{\"delay_us\":%" PRIu64 ",\"frames\":%" PRIu32 ",\"ways\":[",
            wire->delay_ns / 1000, wire->frames);
    for (unsigned int i = 0; i < 2; i++) {
        const struct wire_way *way = &wire->ways[i];

        fprintf(out,
                "%s{\"from\":\"%s\",\"to\":\"%s\",\"received\":%" PRIu64 ",\"sent\":%" PRIu64
                ",\"queue_full\":%" PRIu64 ",\"too_long\":%" PRIu64 ",\"send_failed\":%" PRIu64
                ",\"missed\":%" PRIu64 ",\"under_way\":%" PRIu64 ",\"under_way_peak\":%" PRIu64 "}",
                i ? "," : "", way->from, way->to, way->received, way->sent, way->queue_full,
                way->too_long, way->send_failed, missed(way), way->end - way->first,
                way->under_way_peak);
    }
    fputs("]}\n", out);
}
