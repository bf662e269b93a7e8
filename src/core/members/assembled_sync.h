/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_ASSEMBLED_SYNC_H
#define MPIIO_ASSEMBLED_SYNC_H

#include "assembled_private.h"

/* Operations on one member after the other. Thread-safe, but for the last two functions: these
   are called before the file is used. */

/* A member was written, well or not: comes after the write, and before that is acknowledged. A sync
   of one that is being written would not be of what comes then. */
void mpiio_assembled_mark_written(struct mpiio_assembled *self, size_t member);

/*
 * As mpiio_store_sync (store.h), of those that are marked, several at a time. One that could not be
 * synced is tried again by the next call. Waits for another call that is at work: what that has
 * taken up is this one's to wait for, too.
 */
int mpiio_assembled_sync(struct mpiio_file *file, bool data_only);

/* Like await_writers and refresh of files (file/file.h), for all members. Includes members that are
   not open yet, because a later read may open them. */
int mpiio_assembled_await_writers(struct mpiio_file *file);
int mpiio_assembled_refresh(struct mpiio_file *file);

/* Called for each member when the file is opened: notes the filesystem of fd, of which the least
   coherent one is the file's. */
void mpiio_assembled_note_filesystem(struct mpiio_assembled *self, int fd, int64_t member);

/* Like set_coherence of files, for all members. */
void mpiio_assembled_set_coherence(struct mpiio_file *file, enum mpiio_coherence coherence);

#endif
