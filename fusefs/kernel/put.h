/* SPDX-License-Identifier: MIT */
#ifndef FS_PUT_H
#define FS_PUT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct fs_session;
struct fs_slice;

/* Stores bytes in slices. All functions are thread-safe. */

/*
 * Writes bytes of a slice's data. Call it between fs_unwritten_begin_write and its end. Returns the
 * number of bytes or a negative errno.
 */
ssize_t fs_put(struct fs_session *session, struct fs_slice *slice, const char *buffer, size_t size,
               off_t offset);

/* Extends the slice's data to size bytes. Returns 0 or a negative errno, -EPERM if it is longer. */
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

#endif
