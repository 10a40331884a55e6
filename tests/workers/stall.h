/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A worker that stands still in the middle of its loop, in what it takes for the device's driver,
 * and what to wait for meanwhile. Main thread.
 */
#ifndef SLUICE_TESTS_WORKERS_STALL_H
#define SLUICE_TESTS_WORKERS_STALL_H

#include "tests/workers/gate.h"

/* Which one it will be. Of an open gate, before the workers run. */
void stall_prepare(uint32_t worker);

/* It stops as soon as it finds `due` true; NULL: the next time it comes by. */
void stall_begin(bool (*due)(void));
void stall_end(void);

bool stall_is_on(void);
bool stall_is_dead(void); /* so long that what it holds is taken back */

/* Those who do not stand still have the newest policy. */
bool stall_others_adopted(void);

/* Nothing is under way, and every packet that came has a place. */
bool stall_all_is_still(void);

/* Throws away what the gate sends until `done`, and says how many frames those were; fails the test
 * after 20 s. */
unsigned stall_wait_for(bool (*done)(void));

#endif
