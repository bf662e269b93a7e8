/* SPDX-License-Identifier: MIT */
#ifndef RUN_LOCKS_H
#define RUN_LOCKS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The program's own POSIX locks (fcntl(2), lockf(3)). The kernel drops a process's locks on a file
 * when the process closes any descriptor of it, including the library's. Each file that the program
 * locks is recorded for the life of the process, and the library neither opens nor closes a
 * descriptor of it. Locks of open file descriptions and of flock(2) are not affected.
 */

/* Records the file of fd, which the program is about to lock. Thread-safe; keeps errno. */
void run_locks_note(int fd);

/*
 * Excludes run_locks_note between the two calls, so that the answer of run_locks_has stays true.
 * The caller must be in a section of run_hold.
 */
void run_locks_freeze(void);
void run_locks_thaw(void);

/* Returns true if the program may have locks on the file. Call it frozen. */
bool run_locks_has(uint64_t device, uint64_t inode);

/* Returns true if it may have locks on any file. Call it frozen. */
bool run_locks_any(void);

/* Forgets all files: a child of fork(2) has no locks. */
void run_locks_forget(void);

#endif
