/* SPDX-License-Identifier: MIT */
#ifndef VS_PATH_H
#define VS_PATH_H

/* Private to viewspec/. */

/* name, with folder before it where it is relative. A new string; NULL without memory. */
char *vs_path_from(const char *folder, const char *name);

#endif
