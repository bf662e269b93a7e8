/* SPDX-License-Identifier: MIT */
#ifndef FROM_HEAD_H
#define FROM_HEAD_H

#include "from.h"

/*
 * Calls parse with the beginning of an open file, and again with more of it as long as that returns
 * -EAGAIN. head has the file's path and size; its bytes are valid in the calls alone. Returns what
 * parse returned, or a negative errno with error filled: the file cannot be read, or ends before
 * parse has enough. what names the format for that message.
 */
int from_head(int fd, struct from_bytes *head,
              int (*parse)(void *argument, const struct from_bytes *head, struct vs_error *error),
              void *argument, const char *const *what, struct vs_error *error);

#endif
