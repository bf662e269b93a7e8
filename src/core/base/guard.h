/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_GUARD_H
#define MPIIO_GUARD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Access to a mapping of a file that may be truncated, or whose device may fail, at any moment:
 * the SIGBUS that a touched page then raises ends the access instead of the process.
 */

/*
 * Calls work(argument), which may touch memory in [base, base + size), a mapping of a file.
 * Returns true when work has come to its end, false when a page was not there: work is then
 * abandoned at that point, so it must hold nothing (no lock, no memory, no descriptor), and must
 * not call back into the guard.
 *
 * The first call installs a handler of SIGBUS for the process; faults that are not a guarded
 * access's are handed on to the handler that was there before. The calling thread must not block
 * SIGBUS. Costs some 20 ns. Local, thread-safe.
 */
bool mpiio_guard_call(void (*work)(void *argument), void *argument, const void *base, size_t size);

/*
 * What sigaction(2) of SIGBUS is for who does not know of the handler: sets and tells the one that
 * was there before it. False where the handler is not installed.
 */
bool mpiio_guard_action(const struct sigaction *action, struct sigaction *old);

#endif
