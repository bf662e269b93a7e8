/* SPDX-License-Identifier: MIT */
#ifndef FROM_FORMATS_H
#define FROM_FORMATS_H

/* The formats that are known. */

#include "from.h"

/* The format that a file with such a beginning is of, or NULL. Borrowed. */
const struct from_format *from_format_of(const struct from_bytes *head);

/* The path of a file that describes what goes by that name, a new string, or NULL. */
char *from_format_find(const char *name);

/* Their names, "a, b, c". Borrowed. */
const char *from_format_names(void);

#endif
