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
 * The record of a mount's shared file pointers: a small file beside the shared file, which all
 * nodes of the mount share. It is a log. A node appends entries (state.h) while it holds the
 * record's lock, and each node applies all entries in order. A node that holds the lock and has
 * read to the end has the current state. So there is no leader and no vote: the filesystem's lock
 * manager arbitrates.
 *
 *   0, 512     headers: the mount's identity, and where the log of a generation begins. The newer
 *              of the valid headers is in force.
 *   4096       a heartbeat counter for each node
 *   then       the log. Each entry carries its generation, and a checksum over itself and the entry
 *              before it. An entry torn by a crash therefore ends the log, and is overwritten.
 *
 * A long log is replaced: a node writes a snapshot of the state elsewhere in the file, as a new
 * generation, and then a header that points to it.
 *
 * The locks are open file description locks (F_OFD_SETLK) on bytes far behind the data: one byte
 * for the record, one for the node that gets the record's lock next, and one for each node, which
 * that node holds until it exits. If a process or a client dies, the kernel or the filesystem's
 * server releases its locks.
 *
 * One thread at a time may use a record. Functions return 0 or a negative errno.
 */
#define MPIIO_RECORD_IDENTITY 16

struct mpiio_record {
    /* Set by the caller. */
    int folder;                              /* the open directory of the record, borrowed */
    char name[NAME_MAX + 1];                 /* in that directory */
    uint8_t identity[MPIIO_RECORD_IDENTITY]; /* the mount's; a random number */
    int node, nodes;
    enum mpiio_coherence coherence; /* of the filesystem */
    struct stat shared;             /* the shared file: the record gets its mode and owner */
    int timeout;                    /* ms to wait for the lock */

    /* Zeros before mpiio_record_init. */
    int fd;        /* -1: not open */
    bool joined;   /* the file is this mount's, and this node holds the lock of its byte */
    bool synced;   /* each write must reach the server or the disk at once */
    int64_t since; /* when the lock was acquired, mpiio_lease_clock(); 0: it is not held */
    bool yields;   /* nodes that wait for the lock get it first */
    struct mpiio_freshness freshness;
    uint64_t generation; /* being read; 0: the next read starts from the beginning of the log */
    int64_t base;        /* where the log of the generation begins */
    int64_t at;          /* where the next entry is read or written */
    uint64_t chain;      /* the checksum of the entry before at, or of the header if none */
    uint64_t beats;      /* this node's heartbeat counter */
};

void mpiio_record_init(struct mpiio_record *record);

/* Closes the file, which releases all locks. Writes nothing. */
void mpiio_record_close(struct mpiio_record *record);

/*
 * Opens the record if it is not open, joins its nodes, and locks it. If this mount has no record,
 * creates one if create is true, else returns -ENOENT. A record that an earlier mount has left
 * behind is replaced if create is true. -ETIMEDOUT: another process has held the lock for the
 * timeout. -EBUSY: another mount uses the record.
 */
int mpiio_record_lock(struct mpiio_record *record, bool create);
void mpiio_record_unlock(struct mpiio_record *record);

/*
 * Returns true if a node that has more to do may keep the lock, instead of releasing it and
 * acquiring it again: where that takes calls to a server, and for 20 ms at most. Then other nodes
 * are first. Returns false if the lock is not held.
 */
bool mpiio_record_keeps(struct mpiio_record *record);

/* Returns true if the record is locked and the state that was read is still the current one. */
bool mpiio_record_is_kept(const struct mpiio_record *record);

/*
 * Joins the record that node 0 has created. This proves that the node sees the same directory and
 * node 0's locks. -ENOENT: the record is not here. -ENOLCK: node 0's lock is not visible, so the
 * filesystem keeps locks local to a node. From then on the node holds the lock of its byte until it
 * exits, so that no other mount mistakes the record for one that was left behind.
 */
int mpiio_record_prove(struct mpiio_record *record);

/*
 * Applies the entries that this node has not read yet. The record must be open. Without the lock,
 * entries that are being written may be missing. If this fails, the state must not be used, and the
 * next call reads the log from its beginning.
 */
int mpiio_record_read(struct mpiio_record *record, struct mpiio_state *state);

/*
 * Appends entries. The record must be locked and read to its end. When this returns 0, every node
 * that reads the record sees the entries, even if this process or its machine dies. The caller
 * applies them to the state. If it fails, some entries may have been written, so the state must not
 * be used until mpiio_record_read has returned 0. -ECANCELED: the lock was held for so long that
 * the filesystem may have taken it away; nothing was written.
 */
int mpiio_record_append(struct mpiio_record *record, const struct mpiio_entry *entries,
                        size_t count);

/* Replaces a long log by a snapshot of the state. The record must be locked and read to its end. If
   this fails, the state is still valid: the old log or the snapshot is in force, with the same
   content. */
int mpiio_record_shorten(struct mpiio_record *record, const struct mpiio_state *state);

/*
 * Removes the record, which is locked, if no other node holds the lock of its byte: all of them
 * have exited.
 */
void mpiio_record_remove_last(const struct mpiio_record *record);

/* Removes the record that node 0 has created for a mount that then failed. */
void mpiio_record_abandon(struct mpiio_record *record);

/* Advances this node's heartbeat counter. Needs no lock. */
int mpiio_record_beat(struct mpiio_record *record);

/* Returns a node's heartbeat counter, or 0 if the node never advanced it or it cannot be read. */
uint64_t mpiio_record_beats(struct mpiio_record *record, int node);

/* Returns false if another node's process has exited, or has lost its locks. */
bool mpiio_record_has_node(const struct mpiio_record *record, int node);

#endif
