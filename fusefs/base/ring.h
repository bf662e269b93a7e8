/* SPDX-License-Identifier: MIT */
#ifndef FS_RING_H
#define FS_RING_H

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

struct fs_ring;
struct fs_ring_queue;

/*
 * Requests that come by io_uring (Linux 6.14, where the administrator allows it), and their
 * answers: one system call gives an answer and takes the next request, on the processor of who
 * asks. libfuse before 3.18 knows nothing of it; it is handed such requests as any others.
 *
 * The kernel has a queue of requests for each processor. A ring serves one, with memory for a
 * request and its answer, and a thread on that processor. While each ring of a queue has a request
 * more of them wait in the queue until one is answered: where that takes long, or waits itself for
 * one in the queue, another ring must be added (fs_rings_look).
 *
 * What comes before INIT is answered, forgets, interrupts and all that the daemon tells the kernel
 * on its own account go by /dev/fuse as without.
 */
struct fs_rings {
    int fd;                 /* of the session, borrowed */
    const char *mountpoint; /* borrowed */
    size_t payload;
    unsigned queues; /* one for each processor that there may be */
    struct fs_ring_queue *queue;
    void (*on_full)(void *data); /* a queue has no ring left; from the thread that has the last */
    void *data;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum { FS_RINGS_UNDECIDED, FS_RINGS_ON, FS_RINGS_OFF } state; /* lock: lock */
    struct fs_ring *first;                                        /* lock: lock */
    bool stop; /* answers are not waited for any more; lock: lock */
};

/*
 * Sets up as many queues as the kernel has, for requests and answers of so many bytes each beside
 * their headers. Calls back on_full. 0, or a negative errno: nothing is to be freed then.
 */
int fs_rings_init(struct fs_rings *rings, int fd, const char *mountpoint, size_t payload,
                  void (*on_full)(void *data), void *data);

/* All rings were left. */
void fs_rings_free(struct fs_rings *rings);

/* Whether the kernel has agreed: rings that were opened before wait for it. */
void fs_rings_decide(struct fs_rings *rings, bool agreed);

/* Whether it has, and has not refused one since. Thread-safe, also before fs_rings_init of what is
   all zero, as are decide, stop and free. */
bool fs_rings_are_on(struct fs_rings *rings);

/* Has those who wait for requests to be answered by other threads go on without. */
void fs_rings_stop(struct fs_rings *rings);

/* The answer to a request of a ring goes back by that: whether it is one. Thread-safe. */
bool fs_rings_answer(struct fs_rings *rings, const struct iovec *parts, int count);

/* What a queue has for the next request: a ring, or none yet, or none and nothing was answered
   since it was looked at last. From one thread. */
enum fs_ring_room { FS_RING_FREE, FS_RING_FULL, FS_RING_STALLED };
enum fs_ring_room fs_rings_look(struct fs_rings *rings, unsigned queue);

/* How many rings of a queue there are that wait for no one (fs_ring_waits). */
unsigned fs_rings_busy(const struct fs_rings *rings, unsigned queue);

/* Opens a ring of a queue. 0 or a negative errno. */
int fs_ring_open(struct fs_ring **ring, struct fs_rings *rings, unsigned queue);

/*
 * Gives back the answer to the last request, for which it waits, and waits for the next one. Bytes
 * of the request, which is in buffer until the next call; 0: unmounted; -EINTR: a signal came;
 * -EOPNOTSUPP: the kernel does not want the ring; or another negative errno. From one thread,
 * always the same.
 */
int fs_ring_receive(struct fs_ring *ring, struct fuse_buf *buffer);

/* This thread takes no more: gives back the last answer, if there is one. */
void fs_ring_leave(struct fs_ring *ring);

/*
 * Memory for the answer to the request of a ring that this thread has, of as many bytes as a READ
 * may want; what is answered from there need not be copied. NULL: it has none.
 */
void *fs_ring_memory(void);

/* This thread waits for others with the request of a ring that it has, or no longer: false where it
   has none. */
bool fs_ring_waits(bool waits);

/* This thread's answer is on its way with its next request: has it go at once. */
void fs_ring_flush(void);

#endif
