/* SPDX-License-Identifier: MIT */
#ifndef FS_REMOVAL_H
#define FS_REMOVAL_H

struct fs_session;

/* The name of the file that is to be removed, held from mounting on. */
struct fs_removal {
    char *name; /* in the folder; owned; NULL: nothing is held */
    int folder; /* an O_PATH descriptor */
};

/*
 * The mount option delete_on_close (MPI_MODE_DELETE_ON_CLOSE, MPI 3.1, 13.2.1): the shared file is
 * removed when the last node is unmounted. Without the option both functions do nothing.
 */

/*
 * Checks that the open file can be removed later, and holds the folder that it is in: the removal
 * does not look up the path again, because others may have led it elsewhere by then. Returns an
 * exit status: 0, or 1 after a line on stderr.
 */
int fs_removal_prepare(struct fs_session *session);

/* Releases what fs_removal_prepare holds. The struct may be all zeros. */
void fs_removal_free(struct fs_removal *removal);

/*
 * This node is unmounted, all that it held is stored, and error is what serving the mount ended
 * with: 0, or a negative errno. Removes the file, or leaves that to another node; a line in the log
 * says so where it stays. Of all nodes one removes it, once all are unmounted.
 */
void fs_removal_end(struct fs_session *session, int error);

#endif
