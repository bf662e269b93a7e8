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
 * Reports the mark to the daemon, before the mount is to serve a write or a truncation of fd. From
 * then on the mount serves all writes. A write by a call that is not caught (io_uring, a store to a
 * mapping) reaches the daemon unannounced: nothing is lost, but a gap before it may keep old bytes.
 */
void run_mark_tell(struct run_open *open, int fd);

/* The same for a descriptor that may be granted. */
void run_mark_tell_of(int fd);

/*
 * Records that another process may share all open descriptions from now on (run_share), and reports
 * their marks: that process writes through the mount. Called before fork(2), exec(3), and the
 * sending of descriptors, also by a child of vfork(2).
 */
void run_mark_share(void);

/* The same for a descriptor that may be granted, which a child of vfork(2) duplicates. */
void run_mark_share_of(int fd);

/* Resets the lock in a new process, in which no thread is in one of these functions. */
void run_mark_begin(void);

#endif
