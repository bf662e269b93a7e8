/* SPDX-License-Identifier: MIT */
#ifndef FS_LOSSES_H
#define FS_LOSSES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Parts of slices that the kernel held back and that could not be stored. The kernel tells those
 * who wrote them and forgets them; here their bytes are kept, up to a limit, to be read and to be
 * stored later, and where there is no room for them the parts are kept in mind. All functions are
 * thread-safe; offsets are slice offsets, errors are negative.
 */
struct fs_losses {
    pthread_rwlock_t storing; /* held for writing while kept bytes are stored; before lock */
    pthread_mutex_t lock;
    struct fs_loss *first; /* no two overlap; lock: lock */
    size_t kept;           /* bytes that are kept; lock: lock */
    uint64_t made;         /* parts, so far; lock: lock */
    uint64_t forgotten;    /* bytes that there was no room to keep in mind; lock: lock */
    int error;             /* why, the last time; lock: lock */
    atomic_int count;      /* of the list, to look at without the lock */
    atomic_uint changes;   /* of the list, so far */
};

void fs_losses_init(struct fs_losses *losses);
void fs_losses_free(struct fs_losses *losses);

/*
 * Around each write of slices that is not fs_losses_retry's, with what begin returned: the older
 * bytes that are kept are not stored over what it writes. It must not retry in between.
 */
bool fs_losses_begin_write(struct fs_losses *losses);
void fs_losses_end_write(struct fs_losses *losses, bool begun);

/* length bytes at offset of the slice with that inode number cannot be stored: error says why. */
void fs_losses_add(struct fs_losses *losses, uint64_t inode, const char *bytes, size_t length,
                   int64_t offset, int error);

/* Bytes [start, end) are stored now. Costs nothing where nothing is lost. */
void fs_losses_remove(struct fs_losses *losses, uint64_t inode, int64_t start, int64_t end);

/*
 * Puts what is kept of bytes [offset, offset + size) over the first got of them, which buffer
 * holds; with grow also what lies behind those, and zeros before it. Returns how many there are
 * then. The caller reads again if losses->changes is not what it was before it read the file.
 */
size_t fs_losses_overlay(struct fs_losses *losses, uint64_t inode, char *buffer, size_t got,
                         size_t size, int64_t offset, bool grow);

/*
 * Stores bytes of the slice with that inode number: how many, from the first on; why not all is
 * put into error. Without the lock: it may wait for others who call anything here but begin and
 * retry.
 */
typedef size_t fs_losses_store(void *data, uint64_t inode, const char *bytes, size_t length,
                               int64_t offset, int *error);

/* Has all that is kept stored, as far as that is possible now. Costs nothing without. */
void fs_losses_retry(struct fs_losses *losses, fs_losses_store *store, void *data);

/* The error of what is lost now of the slice with that inode number, or 0. */
int fs_losses_error(struct fs_losses *losses, uint64_t inode);

/* How many bytes are lost now; error is why, the last time, where there are any. */
uint64_t fs_losses_bytes(struct fs_losses *losses, int *error);

#endif
