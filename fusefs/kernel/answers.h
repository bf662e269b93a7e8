/* SPDX-License-Identifier: MIT */
#ifndef FS_ANSWERS_H
#define FS_ANSWERS_H

#include <stdbool.h>

struct fs_session;

/* Parts of answers that libfuse before 3.17 cannot express. */

/*
 * Makes a mounted session answer INIT with FUSE_HANDLE_KILLPRIV_V2, for which libfuse before 3.17
 * has no FUSE_CAP. Without this flag the kernel requests the extended attribute security.capability
 * before each write, which doubles the number of requests. The daemon need not implement it: slices
 * have no set-user-ID bit and no capabilities. With the option direct, also allows slices to be
 * mapped. Also adds the fields of passthrough.h. Kernels ignore flags that they do not know.
 * Returns 0 or a negative errno.
 */
int fs_init_answer_amend(struct fs_session *session);

/*
 * Sets fields of this thread's next answer to an OPEN. backing is the ID of the file that the
 * kernel accesses directly, 0 for none. stream means that the file has no position, so that each
 * call begins at offset 0. parallel allows concurrent writes past the page cache (Linux 6.2),
 * except those with O_APPEND, and those beyond the size that the kernel knows.
 */
void fs_open_answer_next(int backing, bool stream, bool parallel);

#endif
