/* SPDX-License-Identifier: MIT */
#ifndef FS_SYNC_H
#define FS_SYNC_H

#include "fusefs/session.h"

/* Having all that was written stored, in the file and on its device. */

/*
 * Samples the shared file's version. Where the filesystem is local, waits for writers as
 * fs_settling_sample does (fusefs/storing/settling.h); otherwise returns at once. Returns 0 or a
 * negative errno. Thread-safe.
 */
int fs_version_now(struct fs_session *session, struct fs_version *version);

/*
 * Has all that was written through this node stored, with sync also on the device, and the waiter,
 * which is copied, told of it: later, or, where nothing is left to be flushed, before this returns.
 * With a handle, what is kept of its slice is stored first; torn tells, also the caller, what came
 * of it. 0 or a negative errno, and then the waiter is not told. Thread-safe.
 */
int fs_flush_first(struct fs_session *session, struct fs_waiter *waiter);

/* The error, if any, of what write-back could not store of the handle's slice. */
int fs_flush_error(struct fs_session *session, const struct fs_handle *handle);

/* What an fsync of a handle tells, that of the file being over with error. Thread-safe. */
int fs_sync_told(struct fs_session *session, struct fs_handle *handle, int error);

/*
 * Stores all: what the kernel holds back of slices, and the file on its device. 0 or a negative
 * errno, also where something is lost (losses.h). Waits for requests that other threads must
 * answer: not for a handler. Thread-safe.
 */
int fs_sync_all(struct fs_session *session);

/*
 * How many bytes the daemon holds that are not stored: of write-back, what is kept or lost of
 * what the kernel held back (losses.h), and what waits for its turn in "ordered" or was lost then.
 * Thread-safe.
 */
int64_t fs_unsaved(struct fs_session *session);

/*
 * fs_sync_all for who does not wait for ever: as long as something is stored, here or by this
 * node's engine. Where nothing is for peer_timeout and three seconds, the nodes do not go on
 * together, so that this one stores by itself what it holds; where that does not go on either for
 * twice peer_timeout and three seconds, -ETIMEDOUT: what was begun goes on, but nobody waits for
 * it. Not for the thread of the flusher or of the peers.
 */
int fs_forced_sync(struct fs_session *session);

/* In ms: how long it takes at most where nothing goes on. */
int fs_forced_limit(const struct fs_session *session);

#endif
