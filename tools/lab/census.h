/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections by client prefix: how many now, at most, in all. */
#ifndef SLUICE_LAB_CENSUS_H
#define SLUICE_LAB_CENSUS_H

#include <stdint.h>
#include <sys/socket.h>

#define CENSUS_PREFIXES_MAX 256u /* the last one is "other", for all that find no room */
#define CENSUS_NAME_BYTES   56u
#define CENSUS_BITS_OF_IPV4 16u
#define CENSUS_BITS_OF_IPV6 48u

struct headcount {
    uint64_t current, peak, total;
};

struct census_prefix {
    char name[CENSUS_NAME_BYTES];
    struct headcount count;
};

struct census {
    struct headcount all;
    uint32_t n;
    struct census_prefix prefixes[CENSUS_PREFIXES_MAX];
};

void headcount_enter(struct headcount *count);
void headcount_leave(struct headcount *count);
/* Peak and total start again from what is there now. */
void headcount_reset(struct headcount *count);

/* The prefix of an address, made when new; never NULL. */
struct census_prefix *census_find(struct census *census, const struct sockaddr *address);
/* The same for an address in text; NULL when it is none. */
struct census_prefix *census_find_text(struct census *census, const char *text);
void census_reset(struct census *census);

#endif
