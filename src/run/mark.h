/* SPDX-License-Identifier: MIT */
#ifndef RUN_MARK_H
#define RUN_MARK_H

#include <stdbool.h>
#include <stdint.h>

struct run_open;

/*
 * Writes of a granted slice that was opened with O_TRUNC (src/DESIGN.md, "Truncation of slices").
 * The daemon does not see them, so the library keeps the slice's mark, up to which it is written.
 * The mount serves a write that would leave a gap, and all later ones, and fills the gap with
 * zeros. All functions keep errno, are thread-safe, and are as async-signal-safe as run_serve.
 */
#define RUN_MARK_NONE    INT64_MAX /* the slice was not truncated */
#define RUN_MARK_UNASKED (-1)      /* it was; ask the daemon for the mark before the first write */
#define RUN_MARK_TOLD    (-2)      /* the mark was reported to the daemon */

/*
 * Returns true if length bytes at offset may be written past the daemon, and counts them as
 * written.
 */
bool run_mark_passes(struct run_open *open, int fd, int64_t offset, int64_t length);

/*
 * Reports the mark to the daemon, before a call of fd that the mount is to serve. From then on the
 * mount serves all writes.
 */
void run_mark_tell(struct run_open *open, int fd);

/* The same for a descriptor that may be granted. */
void run_mark_tell_of(int fd);

/* The same for all descriptors, before a fork(2): a child writes through the mount. */
void run_mark_tell_all(void);

/* Resets the lock in a new process, in which no thread is in one of these functions. */
void run_mark_begin(void);

#endif
