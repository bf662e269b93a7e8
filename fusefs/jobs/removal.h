/* SPDX-License-Identifier: MIT */
#ifndef FS_REMOVAL_H
#define FS_REMOVAL_H

struct fs_session;

/* The folder and the name of the file to be removed, held since the mount began. */
struct fs_removal {
    char *name; /* name in the folder; owned; NULL: nothing is held */
    int folder; /* an O_PATH descriptor */
};

/*
 * The mount option delete_on_close (MPI_MODE_DELETE_ON_CLOSE, MPI 3.1, 13.2.1) removes the shared
 * file when the last node is unmounted. Without the option these functions do nothing.
 */

/*
 * Checks that the open file can be removed later, and opens its folder. The removal does not look
 * up the path again, because it may lead elsewhere by then. Returns an exit status: 0, or 1 after a
 * line on stderr.
 */
int fs_removal_prepare(struct fs_session *session);

/* Releases what fs_removal_prepare holds. The struct may be all zeros. */
void fs_removal_free(struct fs_removal *removal);

/*
 * Removes the file if this node unmounts last, and otherwise leaves that to the last node. Logs the
 * reason if the file stays. Call it once this node is unmounted and has stored its data. error is
 * the result of serving the mount: 0 or a negative errno.
 */
void fs_removal_end(struct fs_session *session, int error);

#endif
