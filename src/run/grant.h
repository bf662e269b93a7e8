/* SPDX-License-Identifier: MIT */
#ifndef RUN_GRANT_H
#define RUN_GRANT_H

#include <stdbool.h>
#include <stdint.h>

struct run_open;

/*
 * Asks the daemon for a grant of the slice that is newly open as fd, and enters it into the table
 * where there is one. Costs next to nothing where fd is no slice. True where it is granted. Keeps
 * errno. Thread-safe.
 */
bool run_grant_ask(int fd);

/* Whether a right of it, one bit, still holds. Async-signal-safe. */
bool run_grant_holds(const struct run_open *open, uint32_t right);

/*
 * Reports to the kernel that a write through the grant of fd has ended at end, a byte of the slice.
 * Otherwise, access to a mapping of the slice behind the size that the kernel knows raises SIGBUS.
 * To be called before the write returns. Thread-safe.
 */
void run_grant_wrote(struct run_open *open, int fd, int64_t end);

/* Ends all grants of the slice's shared file. Async-signal-safe. */
void run_grant_retire(struct run_open *open);

/* A new process asks anew: what the old one had may be in the middle of a change. */
void run_grant_forget(void);

#endif
