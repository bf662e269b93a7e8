/* SPDX-License-Identifier: MIT */
#ifndef FS_REMOVAL_H
#define FS_REMOVAL_H

struct fs_session;

/*
 * The mount option delete_on_close (MPI_MODE_DELETE_ON_CLOSE, MPI 3.1, 13.2.1): the shared file is
 * removed when the last node is unmounted. Without the option both functions do nothing.
 */

/*
 * Looks whether the file, which is open, could be removed. An exit status: 0, or 1 after a line on
 * stderr.
 */
int fs_removal_check(const struct fs_session *session);

/*
 * This node is unmounted, all that it held is stored, and error is what serving the mount ended
 * with: 0, or a negative errno. Removes the file, or leaves that to another node; a line in the log
 * says so where it stays. Of all nodes one removes it, once all are unmounted.
 */
void fs_removal_end(struct fs_session *session, int error);

#endif
