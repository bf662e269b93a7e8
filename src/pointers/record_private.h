/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_RECORD_PRIVATE_H
#define MPIIO_RECORD_PRIVATE_H

#include <sys/types.h>

#include "record.h"

/* The file of a record: its locks, its bytes, and the heartbeat counters (record_file.c). Functions
   return 0 or a negative errno unless stated otherwise. */

/* The position of the first counter. Each node has one of 8 bytes. */
#define MPIIO_RECORD_BEATS_AT 4096

/* Waits for the record's lock until end, mpiio_lease_clock(). Goes on beating meanwhile. */
int mpiio_record_await(struct mpiio_record *record, int64_t end);

/* Locks this node's byte. */
int mpiio_record_lock_node(const struct mpiio_record *record);

/* Returns true if a node of any mount that uses this file is alive, other than this one. */
bool mpiio_record_is_used(const struct mpiio_record *record);

/* Returns false if the filesystem may have taken the lock away, as servers do from a silent
   client. */
bool mpiio_record_is_in_time(const struct mpiio_record *record);

/* Writes all bytes, and syncs them if other machines may have the filesystem mounted. */
int mpiio_record_write(const struct mpiio_record *record, const uint8_t *bytes, size_t size,
                       int64_t at);

/* Returns the number of bytes read, which is less than size at the end of the file; or a negative
   errno. */
ssize_t mpiio_record_pread(const struct mpiio_record *record, uint8_t *bytes, size_t size,
                           int64_t at);

/* Brings this host up to date with what other hosts have written and synced. */
int mpiio_record_renew(struct mpiio_record *record);

#endif
