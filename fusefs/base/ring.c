/* SPDX-License-Identifier: MIT */
#include "ring.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/thread.h"
#include "uring.h"

/* Of the kernel's protocol, what a linux/fuse.h before 6.14 does not have. */
#define COMMAND_REGISTER         1
#define COMMAND_COMMIT_AND_FETCH 2
#define OPERATION_MAX            128

struct ring_header {
    char in_out[128];              /* a struct fuse_in_header, then a struct fuse_out_header */
    char operation[OPERATION_MAX]; /* what the request's first argument is */
    uint64_t flags;
    uint64_t commit_id;
    uint32_t payload; /* bytes of the other arguments; of the answer */
    uint32_t padding;
    uint64_t reserved;
};

struct ring_command {
    uint64_t flags;
    uint64_t commit_id;
    uint16_t queue;
    uint8_t padding[6];
};

/* Each costs a thread and a descriptor. */
#define QUEUES_MAX 256

/* The header's; its end is room for what libfuse wants in front of the payload. */
#define PAGE 4096

struct fs_ring_queue {
    atomic_uint rings;
    atomic_uint held;     /* of them, those that have a request */
    atomic_uint waiting;  /* of those, the ones that wait for others than the kernel */
    atomic_uint answered; /* requests so far */
    unsigned seen;        /* of answered, when it was last looked at */
};

enum ring_state { RING_NEW, RING_REGISTERS, RING_WAITS, RING_HOLDS };

struct fs_ring {
    struct fs_ring *next; /* lock: the rings' */
    struct fs_rings *rings;
    unsigned number; /* of the queue */
    struct fs_ring_queue *queue;
    enum ring_state state;
    bool late;               /* it was added to others of its queue */
    _Atomic uint64_t unique; /* of the request that is to be answered, or 0 */
    struct ring_header *header;
    char *payload;
    struct iovec memory[2]; /* both, as the kernel is told */
    struct fs_uring uring;
};

/* The one that this thread takes from. */
static _Thread_local struct fs_ring *own;

/* How many processors there may ever be: as many queues the kernel has. 0 where it does not say. */
static unsigned count_possible(void)
{
    FILE *file = fopen("/sys/devices/system/cpu/possible", "re");
    unsigned first, last, count = 0;
    int got;

    if (file == NULL)
        return 0;
    while ((got = fscanf(file, "%u-%u,", &first, &last)) > 0) {
        count += got == 2 ? last - first + 1 : 1;
        if (got == 1 && fgetc(file) != ',')
            break;
    }
    fclose(file);
    return count;
}

/* Whether this process may run wherever requests can be made. */
static bool may_run_anywhere(void)
{
    cpu_set_t allowed;

    return sched_getaffinity(0, sizeof(allowed), &allowed) == 0 &&
           CPU_COUNT(&allowed) >= sysconf(_SC_NPROCESSORS_ONLN);
}

int fs_rings_init(struct fs_rings *rings, int fd, const char *mountpoint, size_t payload,
                  void (*on_full)(void *data), void *data)
{
    *rings = (struct fs_rings){.fd = fd,
                               .mountpoint = mountpoint,
                               .payload = payload,
                               .queues = count_possible(),
                               .on_full = on_full,
                               .data = data};
    if (rings->queues == 0 || rings->queues > QUEUES_MAX || !may_run_anywhere())
        return -EOPNOTSUPP;
    rings->queue = calloc(rings->queues, sizeof(*rings->queue));
    if (rings->queue == NULL)
        return -ENOMEM;
    pthread_mutex_init(&rings->lock, NULL);
    pthread_cond_init(&rings->changed, NULL);
    return 0;
}

void fs_rings_free(struct fs_rings *rings)
{
    if (rings->queue == NULL)
        return;
    pthread_cond_destroy(&rings->changed);
    pthread_mutex_destroy(&rings->lock);
    free(rings->queue);
}

void fs_rings_decide(struct fs_rings *rings, bool agreed)
{
    if (rings->queue == NULL)
        return;
    pthread_mutex_lock(&rings->lock);
    if (rings->state == FS_RINGS_UNDECIDED || !agreed)
        rings->state = agreed ? FS_RINGS_ON : FS_RINGS_OFF;
    pthread_cond_broadcast(&rings->changed);
    pthread_mutex_unlock(&rings->lock);
}

bool fs_rings_are_on(struct fs_rings *rings)
{
    bool on;

    if (rings->queue == NULL)
        return false;
    pthread_mutex_lock(&rings->lock);
    on = rings->state == FS_RINGS_ON;
    pthread_mutex_unlock(&rings->lock);
    return on;
}

void fs_rings_stop(struct fs_rings *rings)
{
    if (rings->queue == NULL)
        return;
    pthread_mutex_lock(&rings->lock);
    rings->stop = true;
    pthread_cond_broadcast(&rings->changed);
    pthread_mutex_unlock(&rings->lock);
}

enum fs_ring_room fs_rings_look(struct fs_rings *rings, unsigned number)
{
    struct fs_ring_queue *queue = &rings->queue[number];
    unsigned answered = atomic_load(&queue->answered);
    bool same = answered == queue->seen;

    queue->seen = answered;
    if (atomic_load(&queue->held) < atomic_load(&queue->rings))
        return FS_RING_FREE;
    return same ? FS_RING_STALLED : FS_RING_FULL;
}

unsigned fs_rings_busy(const struct fs_rings *rings, unsigned number)
{
    const struct fs_ring_queue *queue = &rings->queue[number];

    return atomic_load(&queue->rings) - atomic_load(&queue->waiting);
}

static int set_up(struct fs_ring *ring)
{
    void *memory;
    int error = posix_memalign(&memory, PAGE, PAGE + ring->rings->payload);

    if (error != 0)
        return -error;
    ring->header = memory;
    ring->payload = (char *)memory + PAGE;
    ring->memory[0] = (struct iovec){ring->header, sizeof(*ring->header)};
    ring->memory[1] = (struct iovec){ring->payload, ring->rings->payload};
    error = fs_uring_open(&ring->uring);
    if (error != 0)
        free(memory);
    return error;
}

int fs_ring_open(struct fs_ring **opened, struct fs_rings *rings, unsigned queue)
{
    struct fs_ring *ring = calloc(1, sizeof(*ring));
    int error;

    if (ring == NULL)
        return -ENOMEM;
    *ring = (struct fs_ring){.rings = rings, .number = queue, .queue = &rings->queue[queue]};
    error = set_up(ring);
    if (error != 0) {
        free(ring);
        return error;
    }
    atomic_fetch_add(&ring->queue->rings, 1);
    pthread_mutex_lock(&rings->lock);
    ring->late = rings->state == FS_RINGS_ON;
    ring->next = rings->first;
    rings->first = ring;
    pthread_mutex_unlock(&rings->lock);
    *opened = ring;
    return 0;
}

/* Leaves a command for the kernel to be taken with the next call. */
static void command(struct fs_ring *ring, unsigned operation)
{
    struct ring_command command = {.queue = (uint16_t)ring->number};
    struct io_uring_sqe *entry = fs_uring_entry(&ring->uring);

    if (operation == COMMAND_COMMIT_AND_FETCH)
        command.commit_id = ring->header->commit_id;
    entry->opcode = IORING_OP_URING_CMD;
    entry->fd = ring->rings->fd;
    entry->cmd_op = operation;
    entry->addr = (uintptr_t)ring->memory;
    entry->len = sizeof(ring->memory) / sizeof(*ring->memory);
    memcpy((char *)entry + offsetof(struct io_uring_sqe, cmd), &command, sizeof(command));
}

static void *make_request(void *data)
{
    char *mountpoint = data;
    struct statx st;

    statx(AT_FDCWD, mountpoint, AT_STATX_FORCE_SYNC, STATX_SIZE, &st);
    free(mountpoint);
    return NULL;
}

/*
 * A ring was added to the queue of this thread's processor, where requests may wait. The kernel
 * gives it the next one that is made, not those that are there; these it gives when that one is
 * answered. So one is made, by a thread on the same processor that nobody waits for: it has its
 * answer, or an error when the mount is gone.
 */
static void prod(const char *mountpoint)
{
    char *copy = strdup(mountpoint);
    pthread_t thread;

    if (copy == NULL)
        return;
    if (pthread_create(&thread, NULL, make_request, copy) == 0)
        pthread_detach(thread);
    else
        free(copy);
}

/* The thread's first: whether the kernel wants rings, and then this one. */
static int begin(struct fs_ring *ring)
{
    struct fs_rings *rings = ring->rings;
    bool agreed, there;
    int error;

    pthread_mutex_lock(&rings->lock);
    while (rings->state == FS_RINGS_UNDECIDED)
        pthread_cond_wait(&rings->changed, &rings->lock);
    agreed = rings->state == FS_RINGS_ON;
    pthread_mutex_unlock(&rings->lock);
    if (!agreed)
        return -EOPNOTSUPP;
    error = fs_uring_take(&ring->uring);
    if (error != 0)
        return error;
    there = mpiio_thread_bind(ring->number);
    command(ring, COMMAND_REGISTER);
    ring->state = RING_REGISTERS;
    if (ring->late && fs_uring_submit(&ring->uring) == 0 && there)
        prod(rings->mountpoint);
    return 0;
}

/* Waits until the request is answered by whichever thread: false where that is waited for no more.
 */
static bool is_answered(struct fs_ring *ring)
{
    struct fs_rings *rings = ring->rings;

    if (atomic_load_explicit(&ring->unique, memory_order_acquire) == 0)
        return true;
    atomic_fetch_add(&ring->queue->waiting, 1);
    pthread_mutex_lock(&rings->lock);
    while (ring->unique != 0 && !rings->stop)
        pthread_cond_wait(&rings->changed, &rings->lock);
    pthread_mutex_unlock(&rings->lock);
    atomic_fetch_sub(&ring->queue->waiting, 1);
    return ring->unique == 0;
}

/* Leaves the answer for the kernel to be taken. */
static void give_back(struct fs_ring *ring)
{
    command(ring, COMMAND_COMMIT_AND_FETCH);
    ring->state = RING_WAITS;
    own = NULL;
    atomic_fetch_sub(&ring->queue->held, 1);
    atomic_fetch_add(&ring->queue->answered, 1);
}

static void put_answer(struct fs_ring *ring, const struct iovec *parts, int count)
{
    char *end = ring->payload;

    memcpy(ring->header->in_out, parts[0].iov_base, sizeof(struct fuse_out_header));
    for (int i = 1; i < count; i++) {
        if (parts[i].iov_base != end && parts[i].iov_len > 0)
            memmove(end, parts[i].iov_base, parts[i].iov_len);
        end += parts[i].iov_len;
    }
    ring->header->payload = (uint32_t)(end - ring->payload);
    atomic_store_explicit(&ring->unique, 0, memory_order_release);
}

/* Puts the parts of a request side by side, as they come by /dev/fuse. */
static int take(struct fs_ring *ring, struct fuse_buf *buffer)
{
    struct fuse_in_header header;
    size_t operation;
    char *start;

    memcpy(&header, ring->header->in_out, sizeof(header));
    operation = header.len - sizeof(header) - ring->header->payload;
    if (operation > OPERATION_MAX)
        return -EIO;
    start = ring->payload - operation - sizeof(header);
    memcpy(start, &header, sizeof(header));
    memcpy(start + sizeof(header), ring->header->operation, operation);
    ring->state = RING_HOLDS;
    atomic_store(&ring->unique, header.unique);
    own = ring;
    if (atomic_fetch_add(&ring->queue->held, 1) + 1 >= atomic_load(&ring->queue->rings))
        ring->rings->on_full(ring->rings->data);
    *buffer = (struct fuse_buf){.size = header.len, .mem = start};
    return (int)header.len;
}

/* Of what became of a command: 1: there is a request; else as fs_ring_receive. */
static int meaning_of(const struct fs_ring *ring, int error)
{
    if (ring->state == RING_REGISTERS && error != 0)
        return -EOPNOTSUPP;
    if (error == -ENOTCONN || error == -ECONNABORTED)
        return 0;
    return error != 0 ? error : 1;
}

int fs_ring_receive(struct fs_ring *ring, struct fuse_buf *buffer)
{
    int done;
    int got = ring->state == RING_NEW ? begin(ring) : 0;

    if (got != 0)
        return got;
    if (ring->state == RING_HOLDS && !is_answered(ring))
        return -EINTR;
    if (ring->state == RING_HOLDS)
        give_back(ring);
    got = fs_uring_wait(&ring->uring, &done);
    if (got != 0)
        return got;
    got = meaning_of(ring, done);
    /* Without one of the first the kernel does without all. */
    if (got == -EOPNOTSUPP && !ring->late)
        fs_rings_decide(ring->rings, false);
    return got > 0 ? take(ring, buffer) : got;
}

void fs_ring_flush(void)
{
    struct fs_ring *ring = own;

    if (ring == NULL || ring->unique != 0)
        return;
    give_back(ring);
    fs_uring_submit(&ring->uring);
}

void fs_ring_leave(struct fs_ring *ring)
{
    struct fs_rings *rings = ring->rings;
    struct fs_ring **link = &rings->first;

    pthread_mutex_lock(&rings->lock);
    while (*link != ring)
        link = &(*link)->next;
    *link = ring->next;
    pthread_mutex_unlock(&rings->lock);
    if (ring->state == RING_HOLDS && ring->unique == 0) {
        give_back(ring);
        fs_uring_submit(&ring->uring);
    }
    own = NULL;
    atomic_fetch_sub(&ring->queue->rings, 1);
    fs_uring_close(&ring->uring);
    free(ring->header);
    free(ring);
}

bool fs_rings_answer(struct fs_rings *rings, const struct iovec *parts, int count)
{
    struct fuse_out_header header;
    struct fs_ring *ring;

    memcpy(&header, parts[0].iov_base, sizeof(header));
    if (header.unique == 0)
        return false;
    if (own != NULL && own->unique == header.unique) {
        put_answer(own, parts, count);
        return true;
    }
    if (rings->queue == NULL)
        return false;
    pthread_mutex_lock(&rings->lock);
    for (ring = rings->first; ring != NULL && ring->unique != header.unique; ring = ring->next)
        continue;
    if (ring != NULL) {
        put_answer(ring, parts, count);
        pthread_cond_broadcast(&rings->changed);
    }
    pthread_mutex_unlock(&rings->lock);
    return ring != NULL;
}

void *fs_ring_memory(void)
{
    return own != NULL ? own->payload : NULL;
}

bool fs_ring_waits(bool waits)
{
    if (own != NULL && waits)
        atomic_fetch_add(&own->queue->waiting, 1);
    else if (own != NULL)
        atomic_fetch_sub(&own->queue->waiting, 1);
    return own != NULL;
}
