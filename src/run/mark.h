/* SPDX-License-Identifier: MIT */
#ifndef RUN_MARK_H
#define RUN_MARK_H

#include <stdbool.h>
#include <stdint.h>

struct run_open;

/*
 * Writes of a granted slice that was opened with O_TRUNC (src/DESIGN.md, "Truncation of slices").
 * The daemon does not see them, so the library keeps the slice's mark, up to which it is written.
 * A write that would leave a gap, and all that follow, are the mount's, which fills it with zeros.
 * All functions keep errno, are thread-safe, and are as async-signal-safe as run_serve.
 */
#define RUN_MARK_NONE    INT64_MAX /* the slice was not truncated */
#define RUN_MARK_UNASKED (-1)      /* it was: the daemon tells the mark before the first write */
#define RUN_MARK_TOLD    (-2)      /* the daemon has been told the mark */

/* Returns true where length bytes at offset may be written past the daemon, and counts them as
   written. */
bool run_mark_passes(struct run_open *open, int fd, int64_t offset, int64_t length);

/* Tells the daemon the mark, before a call of fd that the mount is to serve. From then on all
   writes are the mount's. */
void run_mark_tell(struct run_open *open, int fd);

/* The same for a descriptor that may be granted. */
void run_mark_tell_of(int fd);

/* The same for all descriptors, before a fork(2): a child writes through the mount. */
void run_mark_tell_all(void);

/* A new process: no thread is in one of these. */
void run_mark_begin(void);

#endif
