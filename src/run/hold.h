/* SPDX-License-Identifier: MIT */
#ifndef RUN_HOLD_H
#define RUN_HOLD_H

#include <signal.h>

/*
 * Sections of the library in a thread of the program. Two events could end one half-way, with a
 * lock held or a reference not released: the cancellation of the thread, and a signal handler that
 * leaves by siglongjmp(3).
 *
 * - Sections disable cancellation. Calls that are cancellation points by POSIX test for it before
 *   they begin.
 * - A section that opens and closes files blocks signals (run_hold). Reads and writes cannot afford
 *   the two system calls: each records what it does, so that it can be abandoned (transfer.h).
 *
 * All functions keep errno and act on the calling thread (src/DESIGN.md, "A library inside a
 * program").
 */

/*
 * Above zero while this thread is in a section. Calls from libmpiio are then passed on instead of
 * served, and descriptors that it opens get a high number.
 */
extern _Thread_local int run_inside __attribute__((tls_model("initial-exec")));

struct run_held {
    sigset_t signals;
    int cancellation;
};

/* Blocks cancellation and all signals, except signals of faults, until run_unhold. Nests. */
void run_hold(struct run_held *held);
void run_unhold(const struct run_held *held);

#endif
