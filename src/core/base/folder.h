/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_FOLDER_H
#define MPIIO_FOLDER_H

/*
 * Stores the names in a folder on its device, by fsync(2) of the folder. Without its name, a new
 * file does not survive a loss of power. Returns 0 or a negative errno. Also returns 0 if the
 * filesystem does not support this, or if the user may not read the folder and so cannot sync it.
 */
int mpiio_folder_sync(const char *path);

#endif
