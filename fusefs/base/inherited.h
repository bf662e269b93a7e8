/* SPDX-License-Identifier: MIT */
#ifndef FS_INHERITED_H
#define FS_INHERITED_H

#include <stddef.h>

/*
 * The descriptors that the caller had open. A daemon that kept them would hold the caller's locks,
 * and have whoever reads from the caller's pipes wait, for as long as the mount is there. Until
 * the mount is about to be made they stay: the spec may be one of them (/dev/fd/5).
 */
struct fs_inherited {
    int *fds; /* but for 0, 1 and 2; owned */
    size_t count;
};

/*
 * Notes them, before anything else is opened; no program that this one runs has them. Opens
 * /dev/null in the place of 0, 1 and 2 where they are closed. Returns 0 or a negative errno.
 */
int fs_inherited_note(struct fs_inherited *inherited);

/* Closes them but for kept (-1: none), and forgets them. */
void fs_inherited_close(struct fs_inherited *inherited, int kept);

#endif
