/* SPDX-License-Identifier: MIT */
#ifndef FS_INIT_ANSWER_H
#define FS_INIT_ANSWER_H

struct fs_session;

/*
 * Has a mounted session answer INIT with FUSE_HANDLE_KILLPRIV_V2, for which libfuse before 3.17 has
 * no FUSE_CAP. Without it the kernel asks for the extended attribute security.capability before
 * each write: twice the requests. There is nothing to do for it: slices have no set-user-ID bit and
 * no capabilities. With the option direct, slices can be mapped all the same. And what
 * passthrough.h says. Kernels that do not know a flag ignore it. Returns 0, or a negative errno.
 */
int fs_init_answer_amend(struct fs_session *session);

#endif
