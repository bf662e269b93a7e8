/* SPDX-License-Identifier: MIT */
#ifndef FS_JSON_H
#define FS_JSON_H

#include <stdio.h>

/* Writes text as JSON does; its bytes count as Latin-1. */
void fs_json_string(FILE *out, const char *text);

#endif
