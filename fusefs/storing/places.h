/* SPDX-License-Identifier: MIT */
#ifndef FS_PLACES_H
#define FS_PLACES_H

#include <stddef.h>

struct fs_session;

/*
 * Where the other nodes of the group find this one, beside the tree: two lines, its part of the
 * pool and its shared file pointers; either may be empty. New, the caller's to free(); NULL without
 * memory.
 */
char *fs_places_text(const struct fs_session *session);

/*
 * What all nodes of the group have said, by number, a zero byte behind each: size bytes. None: this
 * node's memory and pointers are for itself. 0 or a negative errno.
 */
int fs_places_meet(struct fs_session *session, const char *places, size_t size);

#endif
