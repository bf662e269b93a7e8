/* SPDX-License-Identifier: MIT */
#ifndef FS_SEQUENTIAL_H
#define FS_SEQUENTIAL_H

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>
#include <stddef.h>

struct fs_session;

/*
 * The mount option sequential (MPI_MODE_SEQUENTIAL, MPI 3.1, 13.2.1): the file is a FIFO or a
 * character device (pointers/stream.h), and a mount has "shared" and "ordered" alone. In the
 * store's place is an empty file in memory.
 */

/*
 * Looks whether the options and the file go together, and makes the store. An exit status, after a
 * line on stderr where it is not 0.
 */
int fs_sequential_prepare(struct fs_session *session);

/* The same of the views, which are known now, and opens the file. Does nothing without the option.
 */
int fs_sequential_open(struct fs_session *session);

/* Nobody waits any more: the workers are to end. Thread-safe. */
void fs_sequential_stop(struct fs_session *session);

/* Writes all of it, whole etypes. request: who may be interrupted, until something is written;
   NULL: nobody. 0 or a negative errno. Thread-safe. */
int fs_sequential_place(struct fs_session *session, fuse_req_t request, const char *buffer,
                        size_t size);

#endif
