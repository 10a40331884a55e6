/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Verdicts and reasons: the one list from which names, numbers, kinds and counters are made.
 * A name cannot drift from its number, and every listing shows every reason, zeros included.
 * Compiles for BPF.
 */
#ifndef SLUICE_ADMISSION_VERDICT_H
#define SLUICE_ADMISSION_VERDICT_H

/* What a reason is about. A quota is the tenant's share; capacity is the service's. Never merged.
 */
enum reason_kind {
    REASON_KIND_NONE,
    REASON_KIND_QUOTA,    /* HTTP 429: the tenant asked for more than its share */
    REASON_KIND_CAPACITY, /* HTTP 503: the service has no room; unmet demand if still useful */
    REASON_KIND_GATEWAY,  /* HTTP 503: Sluice itself has no room */
    REASON_KIND_POLICY,   /* HTTP 403: not allowed at all */
    REASON_KIND_DROP,     /* never answered: there is nobody sane to answer */
};

/*
 * X(symbol, name, kind, http)
 * The reasons of attempts come first, so that per-tenant counters can stop at REASON_ATTEMPT_MAX.
 */
#define SLUICE_ATTEMPT_REASONS(X)                                                                  \
    X(RATE, "rate", QUOTA, 429)                                                                    \
    X(PACKETS, "packets", QUOTA, 429)                                                              \
    X(BITS, "bits", QUOTA, 429)                                                                    \
    X(SHARE, "share", QUOTA, 429)                                                                  \
    X(ERLANGS, "erlangs", QUOTA, 429)                                                              \
    X(RETRIES, "retries", QUOTA, 429)                                                              \
    X(CAPACITY, "capacity", CAPACITY, 503)                                                         \
    X(CONNECTIONS, "connections", CAPACITY, 503)                                                   \
    X(SHED, "shed", CAPACITY, 503)                                                                 \
    X(DEADLINE, "deadline", CAPACITY, 503)                                                         \
    X(BREAKER, "breaker", CAPACITY, 503)                                                           \
    X(GATEWAY, "gateway", GATEWAY, 503)                                                            \
    X(TABLE, "table", GATEWAY, 503)                                                                \
    X(DENIED, "denied", POLICY, 403)

/* Why bytes are no packet we may act on, and what else is dropped without an answer. */
#define SLUICE_DROP_REASONS(X)                                                                     \
    X(MALFORMED_ETHERNET, "malformed:ethernet", DROP, 0)     /* shorter than its L2 headers */     \
    X(MALFORMED_IP_HEADER, "malformed:ip_header", DROP, 0)   /* version, IHL < 5, cut header */    \
    X(MALFORMED_IP_LENGTH, "malformed:ip_length", DROP, 0)   /* total length > frame, < header */  \
    X(MALFORMED_IPV6_CHAIN, "malformed:ipv6_chain", DROP, 0) /* extension header cut */            \
    X(MALFORMED_FRAGMENT, "malformed:fragment", DROP, 0)     /* L4 header split, RFC 1858 */       \
    X(MALFORMED_TCP_HEADER, "malformed:tcp_header", DROP, 0) /* cut, data offset wrong */          \
    X(MALFORMED_TCP_FLAGS, "malformed:tcp_flags", DROP, 0)   /* SYN+FIN, null, xmas ... */         \
    X(MALFORMED_UDP_LENGTH, "malformed:udp_length", DROP, 0) /* cut, < 8, beyond the packet */     \
    X(MALFORMED_ICMP_HEADER, "malformed:icmp_header", DROP, 0) /* cut */                           \
    X(CONTROL, "control", DROP, 0)     /* control traffic beyond its own bucket */                 \
    X(DUPLICATE, "duplicate", DROP, 0) /* of a packet that waits for a slot */                     \
    X(CANCELLED, "cancelled", DROP, 0) /* it waited, and its client has left */                    \
    X(STALE, "stale", DROP, 0)         /* waited while its worker was paused: asked again */       \
    X(HANDOFF, "handoff", DROP, 0)     /* ring to the owning worker full */                        \
    X(TX, "tx", DROP, 0)               /* the outgoing port did not take it */

#define SLUICE_REASONS(X) SLUICE_ATTEMPT_REASONS(X) SLUICE_DROP_REASONS(X)

enum reason {
    REASON_NONE,
#define REASON_ENUM(symbol, name, kind, http) REASON_##symbol,
    SLUICE_REASONS(REASON_ENUM)
#undef REASON_ENUM
        REASON_MAX,
};

/* Reasons in [1, REASON_ATTEMPT_MAX) can refuse an attempt. */
#define REASON_ATTEMPT_MAX (REASON_DENIED + 1)

/* The answer to an attempt or a metered packet. Only attempts wait. */
enum verdict {
    VERDICT_ADMIT,
    VERDICT_WAIT,
    VERDICT_REFUSE,
};

#ifndef __bpf__
/* Name as in configuration, CLI and metrics; "none" for REASON_NONE and anything out of range. */
const char *reason_name(enum reason reason);
enum reason_kind reason_kind(enum reason reason);
/* HTTP status that says the same; 0 where there is none. */
int reason_http_status(enum reason reason);
#endif

#endif
