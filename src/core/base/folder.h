/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_FOLDER_H
#define MPIIO_FOLDER_H

/*
 * Stores the names in a folder on its device, by fsync(2) of the folder: a new file survives a loss
 * of power only with its name. Returns 0 or a negative errno; 0 also if the filesystem does not
 * support it, or if the user may not read the folder, as then nobody could store the name.
 */
int mpiio_folder_sync(const char *path);

#endif
