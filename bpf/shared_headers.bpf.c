/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Holds the headers that user space and BPF share to the limits of BPF: no libc, no floats, no
 * 128-bit arithmetic, no unbounded loops. Compiled in every build and loaded nowhere; the functions
 * have no section of a program type, they only make clang generate code for what they call.
 */
#include "dataplane/admission/bucket.h"
#include "dataplane/admission/shed.h"
#include "dataplane/admission/verdict.h"
#include "dataplane/packet/parse.h"

enum packet_kind shared_parse(const uint8_t *frame, uint32_t length, struct packet *packet);
enum verdict shared_take(struct bucket *bucket, const struct bucket_rate *rate, uint64_t now_ns);
bool shared_rate(struct bucket_rate *events, struct bucket_rate *bytes, uint64_t amount,
                 uint64_t burst);
void shared_rebase(struct bucket *bucket, const struct bucket_rate *from,
                   const struct bucket_rate *to, uint64_t now_ns);
uint64_t shared_look(const struct bucket *bucket, const struct bucket_rate *rate, uint64_t now_ns);
bool shared_shed(uint64_t client_hash, uint32_t tenant, uint32_t p, uint64_t age_ns,
                 uint32_t epoch);

enum packet_kind shared_parse(const uint8_t *frame, uint32_t length, struct packet *packet)
{
    return parse_frame(frame, length, length, packet);
}

enum verdict shared_take(struct bucket *bucket, const struct bucket_rate *rate, uint64_t now_ns)
{
    return bucket_take(bucket, rate, 1, now_ns) ? VERDICT_ADMIT : VERDICT_REFUSE;
}

bool shared_rate(struct bucket_rate *events, struct bucket_rate *bytes, uint64_t amount,
                 uint64_t burst)
{
    return bucket_rate_events(events, amount, 1, burst) && bucket_rate_bytes(bytes, amount, burst);
}

void shared_rebase(struct bucket *bucket, const struct bucket_rate *from,
                   const struct bucket_rate *to, uint64_t now_ns)
{
    if (bucket_rate_is_unlimited(from))
        bucket_init(bucket, to, now_ns);
    else
        bucket_rebase(bucket, from, to, now_ns);
}

uint64_t shared_look(const struct bucket *bucket, const struct bucket_rate *rate, uint64_t now_ns)
{
    return bucket_tokens(bucket, rate, now_ns) + bucket_wait_ns(bucket, rate, 1, now_ns);
}

bool shared_shed(uint64_t client_hash, uint32_t tenant, uint32_t p, uint64_t age_ns, uint32_t epoch)
{
    return shed_hits(shed_hash(client_hash, tenant, epoch), shed_decay(p, age_ns));
}
