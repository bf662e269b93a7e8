/* SPDX-License-Identifier: MIT */
#ifndef FS_UNWRITTEN_H
#define FS_UNWRITTEN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Unwritten dirty pages: ranges of slices that the kernel held back and that could not be stored
 * when it sent them. The kernel reports the error to the writers and discards the pages. Here their
 * bytes are kept, up to a limit, to be read and to be stored later. Beyond the limit only the
 * ranges are recorded. All functions are thread-safe. Offsets are slice offsets, errors are
 * negative errnos.
 */
struct fs_unwritten {
    pthread_rwlock_t storing; /* held for writing during fs_unwritten_retry; acquired before lock */
    pthread_mutex_t lock;
    struct fs_unwritten_range *first; /* no two ranges overlap; lock: lock */
    size_t kept;                      /* number of bytes kept; lock: lock */
    uint64_t made;                    /* number of ranges made so far; lock: lock */
    uint64_t forgotten;               /* bytes whose range could not be recorded; lock: lock */
    int error;                        /* the most recent error; lock: lock */
    atomic_int count;                 /* length of the list; read without the lock */
    atomic_uint changes;              /* number of changes of the list */
};

void fs_unwritten_init(struct fs_unwritten *unwritten);
void fs_unwritten_free(struct fs_unwritten *unwritten);

/*
 * Bracket each write to slices, except those by fs_unwritten_retry. They prevent older kept bytes
 * from being stored over the new ones. begun is the result of begin. Do not call fs_unwritten_retry
 * in between.
 */
bool fs_unwritten_begin_write(struct fs_unwritten *unwritten);
void fs_unwritten_end_write(struct fs_unwritten *unwritten, bool begun);

/* Records that length bytes at offset of the slice with that inode number cannot be stored. */
void fs_unwritten_add(struct fs_unwritten *unwritten, uint64_t inode, const char *bytes,
                      size_t length, int64_t offset, int error);

/* Records that bytes [start, end) are stored now. Costs nothing if there are none. */
void fs_unwritten_remove(struct fs_unwritten *unwritten, uint64_t inode, int64_t start,
                         int64_t end);

/*
 * Copies the kept bytes of [offset, offset + size) over buffer, which holds the first got bytes of
 * that range. With grow, also adds kept bytes beyond these, with zeros in between. Returns the
 * number of valid bytes. The caller must read the file again if unwritten->changes has changed
 * since before its read.
 */
size_t fs_unwritten_overlay(struct fs_unwritten *unwritten, uint64_t inode, char *buffer,
                            size_t got, size_t size, int64_t offset, bool grow);

/*
 * Stores bytes of the slice with that inode number. Returns the number of leading bytes that were
 * stored; if not all, sets *error. Called without the lock: it may wait for threads that call any
 * of these functions but begin and retry.
 */
typedef size_t fs_unwritten_store(void *data, uint64_t inode, const char *bytes, size_t length,
                                  int64_t offset, int *error);

/* Tries to store all kept bytes. Costs nothing if there are none. */
void fs_unwritten_retry(struct fs_unwritten *unwritten, fs_unwritten_store *store, void *data);

/* Returns the last error if bytes of the slice with that inode number are lost, or 0. */
int fs_unwritten_error(struct fs_unwritten *unwritten, uint64_t inode);

/* Returns the number of bytes that are lost now. Sets *error to the most recent error. */
uint64_t fs_unwritten_bytes(struct fs_unwritten *unwritten, int *error);

#endif
