/* SPDX-License-Identifier: MIT */
#ifndef FS_OPEN_ANSWER_H
#define FS_OPEN_ANSWER_H

#include <stdbool.h>
#include <sys/uio.h>

/*
 * Of the answer to an OPEN, what libfuse has no word for. To be said by the thread that answers,
 * before it does: backing is the number of the file that the kernel uses itself, 0: none; stream:
 * the file has no position, so that each call begins at offset 0; parallel: writes past the page
 * cache may come side by side (Linux 6.2), but for those with O_APPEND, and those that go beyond
 * the size that the kernel knows.
 */
void fs_open_answer_next(int backing, bool stream, bool parallel);

/* An answer of this thread's on its way: that one is completed. */
void fs_open_answer_complete(const struct iovec *parts, int count);

#endif
