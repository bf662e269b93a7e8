/* SPDX-License-Identifier: MIT */
#ifndef FS_ANSWERS_H
#define FS_ANSWERS_H

#include <stdbool.h>

struct fs_session;

/* Parts of answers to the kernel that libfuse before 3.17 cannot express. */

/*
 * Has a mounted session answer INIT with FUSE_HANDLE_KILLPRIV_V2, for which libfuse before 3.17 has
 * no FUSE_CAP. Without it the kernel asks for the extended attribute security.capability before
 * each write: twice the requests. There is nothing to do for it: slices have no set-user-ID bit and
 * no capabilities. With the option direct, slices can be mapped all the same. And what
 * passthrough.h says. Kernels that do not know a flag ignore it. Returns 0, or a negative errno.
 */
int fs_init_answer_amend(struct fs_session *session);

/*
 * Sets what this thread's next answer to an OPEN says: backing is the number of the file that the
 * kernel uses itself, 0: none; stream: the file has no position, so that each call begins at offset
 * 0; parallel: writes past the page cache may come side by side (Linux 6.2), but for those with
 * O_APPEND, and those that go beyond the size that the kernel knows.
 */
void fs_open_answer_next(int backing, bool stream, bool parallel);

#endif
