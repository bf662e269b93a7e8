/* SPDX-License-Identifier: MIT */
#ifndef FS_PUT_H
#define FS_PUT_H

#include "fusefs/session.h"

/* Bytes on their way into slices, whoever has sent them. All functions are thread-safe. */

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

#endif
