/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_GUARD_H
#define MPIIO_GUARD_H

#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Access to a mapping of a file that may be truncated, or whose device may fail, at any time. The
 * SIGBUS of a missing page then ends the access instead of the process.
 */

/*
 * Calls work(argument), which may access memory in [base, base + size), a mapping of a file.
 * Returns true when work has returned, false if a page was missing. In that case work is abandoned
 * at that point. So it must own nothing (no lock, memory or descriptor). It must not call the
 * guard.
 *
 * The first call installs a handler of SIGBUS for the process. All other faults are forwarded to
 * the previous handler. The calling thread must not block SIGBUS. A call costs about 20 ns. Local,
 * thread-safe.
 */
bool mpiio_guard_call(void (*work)(void *argument), void *argument, const void *base, size_t size);

/*
 * Implements sigaction(2) of SIGBUS for callers that must not see the guard's handler: sets and
 * returns the action behind it. The flags and mask of that action take effect as if it were the
 * only one. Returns false if the handler is not installed. Thread-safe, async-signal-safe.
 */
bool mpiio_guard_action(const struct sigaction *action, struct sigaction *old);

#endif
