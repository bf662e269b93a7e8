/* SPDX-License-Identifier: MIT */
#ifndef FS_SEQUENTIAL_H
#define FS_SEQUENTIAL_H

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>
#include <stddef.h>

struct fs_session;

/*
 * The mount option sequential (MPI_MODE_SEQUENTIAL, MPI 3.1, 13.2.1). The file is a FIFO or a
 * character device (pointers/stream.h), and the mount has only "shared" and "ordered". The store is
 * an empty file in memory.
 */

/*
 * Checks that the options and the file are suitable, and creates the store. Returns an exit status:
 * 0, or not 0 after a line on stderr.
 */
int fs_sequential_prepare(struct fs_session *session);

/*
 * Checks the views, which are known by now, and opens the file. Does nothing without the option.
 * Returns an exit status like fs_sequential_prepare.
 */
int fs_sequential_open(struct fs_session *session);

/* Ends all waits, because the workers are to end. Thread-safe. */
void fs_sequential_stop(struct fs_session *session);

/*
 * Writes all of the buffer, which holds whole etypes. Until something is written, request may be
 * interrupted; NULL: no interruption. Returns 0 or a negative errno. Thread-safe.
 */
int fs_sequential_place(struct fs_session *session, fuse_req_t request, const char *buffer,
                        size_t size);

#endif
