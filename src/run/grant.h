/* SPDX-License-Identifier: MIT */
#ifndef RUN_GRANT_H
#define RUN_GRANT_H

#include <stdbool.h>
#include <stdint.h>

struct run_open;

/*
 * Asks the daemon for a grant of the slice that was just opened as fd, and enters it in the table,
 * from which it removes an earlier file of this number.
 * Costs almost nothing if fd is not a slice. Keeps errno. Thread-safe.
 */
void run_grant_ask(int fd);

/* Returns true if a right of the grant, one bit, still holds. Async-signal-safe. */
bool run_grant_holds(const struct run_open *open, uint32_t right);

/*
 * Reports to the kernel that a write through the grant of fd has ended at end, a slice offset.
 * Otherwise, access to a mapping of the slice beyond the size that the kernel knows raises SIGBUS.
 * Call it before the write returns. Thread-safe.
 */
void run_grant_wrote(struct run_open *open, int fd, int64_t end);

/*
 * Has the kernel invalidate the pages that show the bytes of "shared" from offset on, after a write
 * of these bytes during which the grant was revoked. Returns false and sets errno if the daemon
 * does not answer. Async-signal-safe.
 */
bool run_grant_stored(int fd, int64_t offset, int64_t length);

/*
 * Forgets all grants in a new process, which requests new ones: another thread may have been
 * changing the old state during the fork. Also forgets the locked files: a child of fork(2) has no
 * locks.
 */
void run_grant_forget(void);

/*
 * Writes of a granted slice that was opened with O_TRUNC (src/DESIGN.md, "Truncation of slices").
 * The daemon does not see them, so the library keeps the slice's mark, up to which it is written.
 * The mount serves a write that would leave a gap, and all later ones, and fills the gap with
 * zeros. All functions are thread-safe. They keep errno, except run_mark_passes.
 */
#define RUN_MARK_NONE     INT64_MAX /* the slice was not truncated */
#define RUN_MARK_UNASKED  (-1)      /* it was; ask the daemon for the mark before the first write */
#define RUN_MARK_REPORTED (-2)      /* the daemon knows the mark; the mount serves all writes */

/*
 * Returns true if length bytes at offset may be written past the daemon, and counts them as
 * written. Called in a section (run_hold).
 */
bool run_mark_passes(struct run_open *open, int fd, int64_t offset, int64_t length);

/*
 * Reports the mark to the daemon, before the mount is to serve a write or a truncation of fd. From
 * then on the mount serves all writes. Before the slice's first write, a report is needed only if
 * others may write to it: another process shares the open description. A write by a call that is
 * not caught (io_uring, a store to a mapping) reaches the daemon unannounced: nothing is lost, but
 * a gap before it may keep old bytes.
 */
void run_mark_tell(struct run_open *open, int fd, bool others_write);

/* Does the same for a descriptor that may be granted. */
void run_mark_tell_of(int fd, bool others_write);

/*
 * Records that another process may share all open descriptions from now on (run_share), and reports
 * their marks: that process writes through the mount. Called before fork(2), exec(3), and the
 * sending of descriptors, also by a child of vfork(2).
 */
void run_mark_share(void);

/*
 * The program's own POSIX locks (fcntl(2), lockf(3)). The kernel drops a process's locks on a file
 * when the process closes any descriptor of it, including the library's. Each file that the program
 * locks is recorded for the life of the process, and the library neither opens nor closes a
 * descriptor of it. Locks of open file descriptions and of flock(2) are not affected.
 */

/* Records the file of fd, which the program is about to lock. Thread-safe; keeps errno. */
void run_locks_note(int fd);

#endif
