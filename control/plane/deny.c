/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/plane/deny.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/policy/prefix.h"

static int compare(const struct policy_network *a, const struct policy_network *b)
{
    int order = memcmp(a->network.bytes, b->network.bytes, sizeof(a->network.bytes));

    return order ? order : a->bits - b->bits;
}

static struct policy_network masked(const struct policy_network *network)
{
    return (struct policy_network){prefix_mask(&network->network, network->bits), network->bits};
}

/* Where the network stands, or would. */
static uint32_t place_of(const struct deny_list *list, const struct policy_network *network,
                         bool *found)
{
    uint32_t low = 0, high = list->n;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (compare(&list->networks[middle], network) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *found = low < list->n && compare(&list->networks[low], network) == 0;
    return low;
}

/* Moves what stands from place `from` on to place `to`. */
static void move(struct deny_list *list, uint32_t from, uint32_t to)
{
    uint32_t n = list->n - from;

    memmove(&list->networks[to], &list->networks[from], n * sizeof(*list->networks));
    memmove(&list->ends_s[to], &list->ends_s[from], n * sizeof(*list->ends_s));
}

int deny_put(struct deny_list *list, const struct policy_network *network, uint64_t end_s)
{
    struct policy_network wanted = masked(network);
    bool found;
    uint32_t place = place_of(list, &wanted, &found);

    if (!found) {
        if (list->n == POLICY_DENIED_MAX)
            return -ENOSPC;
        move(list, place, place + 1);
        list->networks[place] = wanted;
        list->n++;
    }
    list->ends_s[place] = end_s;
    list->unsaved = true;
    return !found;
}

int deny_remove(struct deny_list *list, const struct policy_network *network)
{
    struct policy_network wanted = masked(network);
    bool found;
    uint32_t place = place_of(list, &wanted, &found);

    if (!found)
        return -ENOENT;
    move(list, place + 1, place);
    list->n--;
    list->unsaved = true;
    return 0;
}

bool deny_has(const struct deny_list *list, const struct policy_network *network)
{
    struct policy_network wanted = masked(network);
    bool found;

    place_of(list, &wanted, &found);
    return found;
}

uint32_t deny_expire(struct deny_list *list, uint64_t now_s)
{
    uint32_t left = 0, before = list->n;

    for (uint32_t i = 0; i < before; i++) {
        if (list->ends_s[i] != DENY_FOREVER && list->ends_s[i] <= now_s)
            continue;
        list->networks[left] = list->networks[i];
        list->ends_s[left++] = list->ends_s[i];
    }
    list->n = left;
    list->unsaved |= left < before;
    return before - left;
}

void deny_close(struct deny_list *list)
{
    if (!list)
        return;
    free(list->networks);
    free(list->ends_s);
    free(list->kept);
    free(list);
}
