/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EAL makes a directory for each process, named by its file prefix, and never removes it. Ours have
 * the prefix sluicePID. Control thread.
 */
#ifndef SLUICE_WORKER_LEFTOVERS_H
#define SLUICE_WORKER_LEFTOVERS_H

#define LEFTOVERS_PREFIX "sluice"

/*
 * `own` is the directory of this process. The first removes it; with all that is in it if it is
 * named after this process, else only if it is empty. The second removes its empty neighbours that
 * are named after processes which have ended: a killed one could not do it. Processes may only look
 * ended from here, so nothing is taken out of a directory.
 */
void leftovers_remove_own(const char *own);
void leftovers_remove_dead(const char *own);

#endif
