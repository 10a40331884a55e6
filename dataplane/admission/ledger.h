/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What became of admitted work, and what it cost: pieces, and slot-microseconds held. Useful is a
 * reply completed within its deadline; late and unfinished work are broken promises, and the slots
 * they held were wasted. One writer (the worker that owned the slot), relaxed stores; anyone reads.
 * Slot time is rounded to microseconds each time; 64 bits last for five years of 100 000 busy
 * slots.
 */
#ifndef SLUICE_ADMISSION_LEDGER_H
#define SLUICE_ADMISSION_LEDGER_H

#include <stdint.h>

enum ledger_end {
    LEDGER_USEFUL,     /* completed in time */
    LEDGER_LATE,       /* completed after the deadline */
    LEDGER_UNFINISHED, /* reset, aborted or given up */
    LEDGER_MAX,
};

struct ledger {
    uint64_t pieces[LEDGER_MAX];
    uint64_t held_us[LEDGER_MAX];
};

static inline void ledger_bump(uint64_t *word, uint64_t more)
{
    __atomic_store_n(word, __atomic_load_n(word, __ATOMIC_RELAXED) + more, __ATOMIC_RELAXED);
}

/* Books one piece of work that held a slot for `held_ns`. The division is by a constant, that is, a
 * multiplication. */
static inline void ledger_book(struct ledger *ledger, enum ledger_end end, uint64_t held_ns)
{
    ledger_bump(&ledger->pieces[end], 1);
    ledger_bump(&ledger->held_us[end], (held_ns + 500) / 1000);
}

/* sum += ledger; `ledger` may be a worker's that goes on booking. */
static inline void ledger_sum(struct ledger *sum, const struct ledger *ledger)
{
    for (unsigned end = 0; end < LEDGER_MAX; end++) {
        sum->pieces[end] += __atomic_load_n(&ledger->pieces[end], __ATOMIC_RELAXED);
        sum->held_us[end] += __atomic_load_n(&ledger->held_us[end], __ATOMIC_RELAXED);
    }
}

#endif
