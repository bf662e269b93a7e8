/* SPDX-License-Identifier: MIT */
#ifndef FS_LOSSES_H
#define FS_LOSSES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

/*
 * Parts of slices that the kernel held back and that could not be stored. The kernel tells those
 * who wrote them and forgets them; here they are kept in mind until they are written again. All
 * functions are thread-safe; offsets are slice offsets.
 */
struct fs_losses {
    pthread_mutex_t lock;
    struct fs_loss *first; /* lock: lock */
    uint64_t forgotten;    /* bytes that there was no room to keep in mind; lock: lock */
    int error;             /* why, the last time; lock: lock */
    atomic_int count;      /* of the list, to look at without the lock */
};

void fs_losses_init(struct fs_losses *losses);
void fs_losses_free(struct fs_losses *losses);

/* Bytes [start, end) of the slice with that inode number cannot be stored: error, negative. */
void fs_losses_add(struct fs_losses *losses, uint64_t inode, int64_t start, int64_t end, int error);

/* They are stored now. Costs nothing where nothing is lost. */
void fs_losses_remove(struct fs_losses *losses, uint64_t inode, int64_t start, int64_t end);

/* How many bytes are lost now; error is why, the last time, where there are any. */
uint64_t fs_losses_bytes(struct fs_losses *losses, int *error);

#endif
