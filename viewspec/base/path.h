/* SPDX-License-Identifier: MIT */
#ifndef VS_PATH_H
#define VS_PATH_H

/* Private to viewspec/. */

/* Returns name, prefixed by folder if it is relative. A new string; NULL: out of memory. */
char *vs_path_from(const char *folder, const char *name);

#endif
