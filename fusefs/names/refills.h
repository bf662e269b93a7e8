/* SPDX-License-Identifier: MIT */
#ifndef FS_REFILLS_H
#define FS_REFILLS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Pages of a slice that were filled too early. The kernel copies what a program writes into its
 * pages, unlocks those that are up to date, and sends the write then. If these pages are dropped
 * meanwhile and read again before the bytes are stored, they lack the bytes, and would until
 * something else drops them. So they are known here, and dropped once more before the write is
 * answered (fusefs/kernel/drop.h).
 *
 * The kernel sends one write of an inode at a time, and copies the next one's bytes when it has the
 * answer to the last. Between two answers a page is suspect if it was read after a drop; not any
 * more, once a later drop is over. While nothing is dropped nothing is noted, and all this costs a
 * look at one word.
 *
 * A page that was not up to date, because a drop took it before the copy, stays locked until the
 * write is answered: a drop of it before that would wait for what waits for it. So it must be known
 * of a suspect page that no drop came after it.
 *
 * Offsets are those of the inode; now is mpiio_clock's. All functions but init and free are
 * thread-safe; none but find waits.
 */

/* So many ranges are told apart; more are taken together. */
#define FS_REFILLS_MAX 32

/* Bytes [start, end), whole pages. */
struct fs_refilled {
    int64_t start, end;
    uint64_t drops; /* as many had begun: when they were read; or, with it, when they are dropped */
    bool unsure;    /* whether a drop that was under way then took them */
};

/* A read that is under way; the memory of who answers it. */
struct fs_refill {
    struct fs_refill *next;
    struct fs_refilled range;
    bool noted;   /* it is among those under way */
    bool suspect; /* no write was answered since; lock: the refills' */
};

struct fs_refills {
    _Atomic bool notes; /* reads are noted: a drop came since the last answer to a write, or was not
                           over then. Changed with the lock */

    pthread_mutex_t lock;
    pthread_cond_t changed; /* a drop is over */
    unsigned writers;       /* who has the slice open to write through the kernel's pages; lock */
    unsigned running;       /* drops that are not over; lock */
    uint64_t drops;         /* that were begun, ever; lock */
    int64_t expected;       /* until then the kernel may drop by itself; lock */
    bool stored;            /* the bytes of the write are: what is read now has them; lock */
    struct fs_refill *reading;               /* noted, and not answered; lock */
    struct fs_refilled done[FS_REFILLS_MAX]; /* answered, and suspect; lock */
    size_t count;                            /* of those; lock */
};

void fs_refills_init(struct fs_refills *refills);
void fs_refills_free(struct fs_refills *refills);

/* Around the time that the slice is open to write through pages, by each who has it so. */
void fs_refills_join(struct fs_refills *refills, int64_t now);
void fs_refills_leave(struct fs_refills *refills);

/*
 * The slice is opened, and the kernel is to drop its pages. own: 1 where the opener has joined
 * himself, else 0. True where others have joined: the caller drops the pages before the answer.
 * Else the kernel drops them by itself behind the answer; reads are noted if a writer joins in
 * between. The opener himself writes after that drop.
 */
bool fs_refills_opened(struct fs_refills *refills, unsigned own, int64_t now);

/*
 * Around a drop of pages, of which start and end are set. The end is true where it is to be
 * repeated, with what drop is then, and ended again: pages were read meanwhile of which nobody
 * knows whether they are gone. last: it is not going to be repeated.
 */
void fs_refills_drop_begin(struct fs_refills *refills, struct fs_refilled *drop);
bool fs_refills_drop_end(struct fs_refills *refills, struct fs_refilled *drop, bool last);

/* What the kernel is to be told now may have it drop the slice's pages: soon, and we are not told
   when. */
void fs_refills_drop_expected(struct fs_refills *refills, int64_t now);

/* Around a read of bytes for the kernel's pages: before the file is read, and before the answer. */
void fs_refills_read_begin(struct fs_refills *refills, struct fs_refill *read, int64_t offset,
                           size_t length);
void fs_refills_read_end(struct fs_refills *refills, struct fs_refill *read);

/* Whether pages of a write through pages, whose bytes are stored, may be suspect (fs_refills_find).
 */
bool fs_refills_stored(struct fs_refills *refills);

/*
 * How many ranges of its pages must be dropped before it is answered, which are put into list
 * (FS_REFILLS_MAX entries). Waits for drops under way, which may make that fewer, but not beyond
 * limit, of mpiio_clock. sure: none of them can be one that the kernel keeps locked for this write.
 */
size_t fs_refills_find(struct fs_refills *refills, int64_t offset, size_t length, int64_t now,
                       int64_t limit, struct fs_refilled *list, bool *sure);

/* A write through pages is about to be answered, well or not. */
void fs_refills_answered(struct fs_refills *refills, int64_t now);

#endif
