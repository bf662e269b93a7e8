/* SPDX-License-Identifier: MIT */
#ifndef FS_STALE_H
#define FS_STALE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Stale pages of a slice. The kernel copies the bytes of a write into its pages, unlocks
 * the pages that are up to date, and then sends the write. If these pages are invalidated meanwhile
 * and read again before the bytes are stored, they lack the bytes. They would stay stale until
 * something else invalidates them. This module finds such pages, and they are invalidated once more
 * before the write is answered (fusefs/kernel/drop.h).
 *
 * The kernel sends one write of an inode at a time. It copies the bytes of the next write after it
 * has received the answer to the previous one. Between two answers, a page is suspect from a read
 * that follows a drop until the end of a later drop. While nothing is invalidated, no reads are
 * recorded, and the cost is one atomic load.
 *
 * If a drop removes a page before the copy, the page is not up to date. It then stays locked until
 * the write is answered. Invalidating such a page before the answer would be a deadlock. So a
 * suspect page may be waited for only if no drop came after it.
 *
 * Offsets count from the inode's beginning. `now` is a time of mpiio_clock. All functions but init
 * and free are thread-safe. Only find waits.
 */

/* The number of ranges that are kept separately. Further ones extend the last. */
#define FS_STALE_MAX 32

/* A range of bytes [start, end), in whole pages. */
struct fs_stale_range {
    int64_t start, end;
    uint64_t drops; /* the number of drops begun when it was read; for a drop, its own number */
    bool unsure;    /* a drop that ran at that time may have removed the pages */
};

/* A read in progress. The thread that answers it provides the memory. */
struct fs_stale_read {
    struct fs_stale_read *next;
    struct fs_stale_range range;
    bool noted;   /* it is in the list of reads in progress */
    bool suspect; /* it may lack the bytes of the current write; lock: the slice's stale pages' */
};

struct fs_stale {
    _Atomic bool notes; /* Reads are recorded, because a drop began since the last answer to a
                           write, or was still running then. Changed with the lock held */

    pthread_mutex_t lock;
    pthread_cond_t changed; /* signals that a drop has finished */
    unsigned writers; /* number of handles open for writing through the kernel's pages; lock */
    unsigned running; /* drops in progress; lock */
    uint64_t drops;   /* drops begun so far; lock */
    int64_t expected; /* time until which the kernel may invalidate pages by itself; lock */
    bool stored;      /* the bytes of the current write are stored, so later reads see them; lock */
    struct fs_stale_read *reading;            /* recorded reads in progress; lock */
    struct fs_stale_range done[FS_STALE_MAX]; /* answered reads that are suspect; lock */
    size_t count;                             /* length of done; lock */
};

void fs_stale_init(struct fs_stale *stale);
void fs_stale_free(struct fs_stale *stale);

/*
 * Each handle that writes through pages calls join when it opens the slice, and leave at its end.
 */
void fs_stale_join(struct fs_stale *stale, int64_t now);
void fs_stale_leave(struct fs_stale *stale);

/*
 * Announces an open of the slice at which the kernel is to invalidate its pages. own is 1 if the
 * opener has joined, else 0. Returns true if others have joined: the caller then invalidates the
 * pages before it answers. Otherwise the kernel invalidates them soon after the answer, and reads
 * are recorded if a writer joins in between. The opener itself writes only after that drop.
 */
bool fs_stale_opened(struct fs_stale *stale, unsigned own, int64_t now);

/*
 * Bracket a drop of pages, whose start and end are set. End returns true if the drop must be
 * repeated, because it is unknown whether it removed pages that were read meanwhile. It sets *drop
 * to their range; the caller repeats the drop and calls end again. last prevents the repetition.
 */
void fs_stale_drop_begin(struct fs_stale *stale, struct fs_stale_range *drop);
bool fs_stale_drop_end(struct fs_stale *stale, struct fs_stale_range *drop, bool last);

/*
 * Announces an answer that may make the kernel invalidate the slice's pages, soon and without
 * notice.
 */
void fs_stale_drop_expected(struct fs_stale *stale, int64_t now);

/*
 * Bracket a read for the kernel's pages. Call begin before the file is read, and end before the
 * answer.
 */
void fs_stale_read_begin(struct fs_stale *stale, struct fs_stale_read *read, int64_t offset,
                         size_t length);
void fs_stale_read_end(struct fs_stale *stale, struct fs_stale_read *read);

/*
 * Records that the bytes of a write through pages are stored. Returns true if its pages may be
 * suspect (fs_stale_find).
 */
bool fs_stale_stored(struct fs_stale *stale);

/*
 * Finds the pages of a write that must be invalidated before it is answered. Writes their ranges
 * into list (FS_STALE_MAX entries), and returns their number. Waits for drops in progress, which
 * may reduce the number, but only until limit, a time of mpiio_clock. Sets *sure if none of the
 * pages can be locked by the kernel for this write.
 */
size_t fs_stale_find(struct fs_stale *stale, int64_t offset, size_t length, int64_t now,
                     int64_t limit, struct fs_stale_range *list, bool *sure);

/* Announces that a write through pages is about to be answered, with or without success. */
void fs_stale_answered(struct fs_stale *stale, int64_t now);

#endif
