/* SPDX-License-Identifier: MIT */
#ifndef FS_SYNC_H
#define FS_SYNC_H

#include "fusefs/session.h"

/* put.c: stores bytes in slices. All functions are thread-safe. */

/*
 * Writes bytes of a slice's data. Call it between fs_unwritten_begin_write and its end. Returns the
 * number of bytes or a negative errno.
 */
ssize_t fs_put(struct fs_session *session, struct fs_slice *slice, const char *buffer, size_t size,
               off_t offset);

/*
 * Extends the slice to size bytes, including its header. Returns 0 or a negative errno, -EPERM if
 * it is longer.
 */
int fs_put_size(struct fs_session *session, struct fs_slice *slice, int64_t size);

/* Records that bytes of the slice's data have been stored. */
void fs_put_note(struct fs_session *session, struct fs_slice *slice, int64_t offset,
                 int64_t length);

/* Records that the kernel assumes the slice, including its header, to extend at least to end. */
void fs_put_note_end(struct fs_slice *slice, int64_t end);

/*
 * Stores a dirty page, modified through a mapping, or by a write if the kernel holds writes back.
 * Returns size, even if the page lies beyond the end and nothing is stored, because the kernel
 * takes a short count for success. On failure returns a negative errno, and records the unstored
 * bytes as lost (unwritten.h), because the kernel discards them.
 */
ssize_t fs_store_page(struct fs_session *session, struct fs_slice *slice, const char *buffer,
                      size_t size, int64_t offset);

/* Tries to store the lost bytes that are still kept. */
void fs_store_unwritten(struct fs_session *session);

/*
 * Handle elements that were written in part (mpiio_slice_settle). fs_store_partial, before a flush,
 * stores those that have a value in the file. It returns 0, or the negative errno of an element
 * without one. fs_give_up logs the elements that are lost. It is called when the last writer's
 * handle is freed, and does not wait for the kernel.
 */
int fs_store_partial(struct fs_session *session, const struct fs_slice *slice);
void fs_give_up(struct fs_session *session, struct fs_slice *slice);

/* sync.c: stores everything that was written, in the file and on its device. */

/*
 * Samples the shared file's version. On a local filesystem, waits for writers as fs_settling_sample
 * does (fusefs/storing/settling.h); otherwise returns at once. Returns 0 or a negative errno.
 * Thread-safe.
 */
int fs_version_now(struct fs_session *session, struct fs_version *version);

/*
 * Stores everything written through this node, with waiter->sync also on the device, and then
 * answers a copy of the waiter. If nothing needs to be flushed, answers before it returns. With a
 * handle, first stores the lost bytes and partial elements of its slice, and sets waiter->torn to
 * the result. Returns 1, or a negative errno without an answer. Implements fsync of handle_ops.h.
 * Thread-safe.
 */
int fs_flush_first(struct fs_session *session, struct fs_waiter *waiter);

/*
 * Returns the error for a flush or an fsync of the handle, or 0: a failed sync for another handle
 * that this handle has not reported yet, torn (struct fs_waiter), or bytes of its slice that are
 * lost or that write-back could not store. The kernel has sent the slice's dirty pages before, and
 * reports their errors itself. Implements flush of handle_ops.h. Thread-safe.
 */
int fs_handle_error(struct fs_session *session, struct fs_handle *handle, int torn);

/* Returns the result of an fsync of the waiter's handle, after the flush. Thread-safe. */
int fs_sync_reported(struct fs_session *session, const struct fs_waiter *waiter,
                     const struct fs_flushed *flushed);

/*
 * Stores everything: the kernel's dirty pages of slices, and the file on its device. Returns 0 or a
 * negative errno, including the error of lost bytes (unwritten.h). Waits for requests that other
 * threads must answer, so request handlers must not call it. Thread-safe.
 */
int fs_sync_all(struct fs_session *session);

/*
 * Returns the number of bytes that the daemon holds and that are not stored: dirty bytes of
 * write-back, unwritten dirty pages (unwritten.h), and bytes of "ordered" that wait for their turn
 * or were lost. Thread-safe.
 */
int64_t fs_unsaved(struct fs_session *session);

#endif
