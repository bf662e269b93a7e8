/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_RECORD_H
#define MPIIO_RECORD_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/file/freshness.h"
#include "state.h"

/*
 * The record of a mount's shared file pointers: a small file that all of its nodes share, beside
 * the shared file. It is a log: nodes append entries (state.h) while they hold the record's lock,
 * and each node applies all entries in order. Whoever holds the lock and has read to the end knows
 * the state; so there is no leader and no vote, and the filesystem's lock manager arbitrates.
 *
 *   0, 512     headers: the mount's identity, and where the log of a generation begins. The newer
 *              one that is whole counts.
 *   4096       a heartbeat counter for each node
 *   then       the log. Each entry carries its generation, and a checksum over itself and the entry
 *              before it: an entry that was torn by a crash ends the log, and is overwritten.
 *
 * A long log is replaced: a snapshot of the state is written elsewhere in the file as a new
 * generation, then a header.
 *
 * Locks are those of open file descriptions (F_OFD_SETLK), on bytes far behind the data: one for
 * the record, and one for each node, which it holds until it exits. The kernel, or the filesystem's
 * server, releases the locks of a process or a client that dies.
 *
 * One thread at a time may use a record. Functions return 0 or a negative errno.
 */
#define MPIIO_RECORD_IDENTITY 16

struct mpiio_record {
    /* Set by the caller. */
    int folder;                              /* where it is: an open directory, borrowed */
    char name[NAME_MAX + 1];                 /* there */
    uint8_t identity[MPIIO_RECORD_IDENTITY]; /* the mount's; a random number */
    int node, nodes;
    enum mpiio_coherence coherence; /* of the filesystem */
    struct stat shared;             /* the shared file: the record gets its mode and owner */
    int timeout;                    /* ms for which another node may hold the lock */

    /* Zeros before mpiio_record_init. */
    int fd;        /* -1: not open */
    bool joined;   /* the file is this mount's, and this node has its lock in it */
    bool synced;   /* what is written must reach the server at once */
    int64_t since; /* when the lock was acquired, mpiio_lease_clock(); 0: it is not held */
    struct mpiio_freshness freshness;
    uint64_t generation; /* that is being read; 0: the state is to be read from its beginning */
    int64_t base;        /* where its log begins */
    int64_t at;          /* the next entry is read from here, or written here */
    uint64_t chain;      /* the checksum of the entry before it; of the header if there is none */
    uint64_t beats;      /* this node's heartbeat counter */
};

void mpiio_record_init(struct mpiio_record *record);

/* Closes the file, and thereby releases all locks. Nothing is written. */
void mpiio_record_close(struct mpiio_record *record);

/*
 * Opens the record if it is not open, joins its nodes, and locks it. If there is no record of this
 * mount, creates it if create is true, else returns -ENOENT. A record that a mount has left behind
 * is replaced. -ETIMEDOUT: another process has held the lock for the timeout. -EBUSY: another mount
 * uses the record. -ESTALE: the record was removed, or is another mount's now.
 */
int mpiio_record_lock(struct mpiio_record *record, bool create);
void mpiio_record_unlock(struct mpiio_record *record);

/*
 * Joins the record that node 0 has created, and proves thereby that this node sees the same folder,
 * and node 0's locks. -ENOENT: the record is not here. -ENOLCK: the lock is not seen, so the
 * filesystem keeps locks within a node. From then on until it exits, the node holds the lock of its
 * byte, so no other mount takes the record for one that was left behind.
 */
int mpiio_record_prove(struct mpiio_record *record);

/*
 * Applies the entries that this node has not read yet. The record is open; without the lock,
 * entries that are being written may be missing. If that fails, the state must not be used; the
 * next call begins again.
 */
int mpiio_record_read(struct mpiio_record *record, struct mpiio_state *state);

/*
 * Appends entries, which the caller applies to the state, too. The record is locked and read to its
 * end. When this returns 0, every node that reads sees them, also if this process or its
 * machine dies. If it fails, some may have been written: the state must not be used until
 * mpiio_record_read has returned 0. -ECANCELED: the lock was held for so long that the filesystem
 * may have taken it away; nothing was written.
 */
int mpiio_record_append(struct mpiio_record *record, const struct mpiio_entry *entries,
                        size_t count);

/* Replaces a long log by a snapshot of the state. If that fails, the log stays as it is, and the
   state must not be used until mpiio_record_read has returned 0. */
int mpiio_record_shorten(struct mpiio_record *record, const struct mpiio_state *state);

/*
 * Removes the record, which is locked, if no other node holds the lock of its byte: all of them
 * have exited. A node that lost its lock to the filesystem's server gets -ESTALE from then on.
 */
void mpiio_record_remove_last(const struct mpiio_record *record);

/* Removes the record that node 0 has created for a mount that then failed. */
void mpiio_record_abandon(struct mpiio_record *record);

/* Advances this node's heartbeat counter. Needs no lock. */
int mpiio_record_beat(struct mpiio_record *record);

/* Returns the heartbeat counter of a node; 0: it never had one, or it cannot be read. */
uint64_t mpiio_record_beats(struct mpiio_record *record, int node);

/* Returns false if the node's process has exited, or has lost its locks. */
bool mpiio_record_has_node(const struct mpiio_record *record, int node);

#endif
