/* SPDX-License-Identifier: MIT */
#ifndef FROM_HEAD_H
#define FROM_HEAD_H

#include <dirent.h>
#include <stdio.h>

#include "from.h"

/* Implements read of struct from_source. self points to a descriptor. */
int64_t from_read(void *self, void *buffer, size_t length, int64_t at);

/* Opens a regular file for reading. Fails with EINVAL, without blocking, for any other type.
   Returns NULL with errno set on failure. */
FILE *from_open_text(const char *path);

/* Opens the folder of a path, and sets *base to the length of the folder's part of it. Returns NULL
   with errno set if that fails. */
DIR *from_open_folder(const char *path, size_t *base);

/* Returns the path of the first file, by name, in the folder of name that is_one accepts; base is
   the end of name. A new string, or NULL. */
char *from_first(const char *name,
                 bool (*is_one)(const char *entry, const char *base, const char *path));

/*
 * Calls parse with the beginning of a file, and again with more of it as long as parse returns
 * -EAGAIN. head has the file's path and size; its bytes are valid only during the calls. Returns
 * the value of parse, or a negative errno with error filled if the file cannot be read or ends too
 * early. what is the name of the format for that message.
 */
int from_head(const struct from_source *source, struct from_bytes *head,
              int (*parse)(void *argument, const struct from_bytes *head, struct vs_error *error),
              void *argument, const char *const *what, struct vs_error *error);

#endif
