/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_PRELOAD_H
#define MPIIO_PRELOAD_H

/*
 * Preloads a library into the program that is executed next. `installed` and `built` are paths of
 * the library relative to the folder of this process's program, in the installation and in the
 * build. Libraries that are preloaded already come before it. Returns NULL, or an error text that
 * is valid until the next call.
 */
const char *mpiio_preload(const char *installed, const char *built);

#endif
