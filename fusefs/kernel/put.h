/* SPDX-License-Identifier: MIT */
#ifndef FS_PUT_H
#define FS_PUT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct fs_session;
struct fs_slice;

/* Storing bytes in slices, whoever has sent them. All functions are thread-safe. */

/*
 * Writes bytes of a slice's data, between fs_losses_begin_write and its end. How many, or a
 * negative errno.
 */
ssize_t fs_put(struct fs_session *session, struct fs_slice *slice, const char *buffer, size_t size,
               off_t offset);

/* Bytes of the slice's data are stored. */
void fs_put_note(struct fs_session *session, struct fs_slice *slice, int64_t offset,
                 int64_t length);

/* The kernel takes the slice, header and all, to reach end now. */
void fs_put_note_end(struct fs_slice *slice, int64_t end);

/*
 * Stores a page that was stored to through a mapping, or, where the kernel holds writes back,
 * written to. Returns size, also where it lies behind the end and there is nothing to store: the
 * kernel takes a short count for all. A negative errno: what is not stored is noted as lost
 * (losses.h), as the kernel has forgotten it.
 */
ssize_t fs_store_page(struct fs_session *session, struct fs_slice *slice, const char *buffer,
                      size_t size, int64_t offset);

/* Stores what was lost, as far as it is kept and can be stored now. */
void fs_store_lost(struct fs_session *session);

/*
 * Elements that were written in parts and are not complete (mpiio_slice_settle): fs_store_partial
 * stores those that have a value in the file, before the next flush, and returns 0 or the negative
 * errno of one that has none; fs_give_up is for when no one has the slice open for writing any
 * more, and logs what is lost; called where a handle is freed, it does not wait for the kernel.
 */
int fs_store_partial(struct fs_session *session, const struct fs_slice *slice);
void fs_give_up(struct fs_session *session, struct fs_slice *slice);

#endif
