/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_PRELOAD_H
#define MPIIO_PRELOAD_H

/*
 * Has the program that is executed next load a library before its own. installed and built are the
 * library's places as seen from the folder of this process's program: where it is installed, and in
 * the folder of the build. What is preloaded already comes before it. Returns NULL, or what is
 * wrong, which is valid until the next call.
 */
const char *mpiio_preload(const char *installed, const char *built);

#endif
