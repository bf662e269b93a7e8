/* SPDX-License-Identifier: MIT */
#include "uring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENTRY_SIZE (2 * sizeof(struct io_uring_sqe)) /* IORING_SETUP_SQE128 */

static void *map(const struct fs_uring *uring, size_t size, off_t what)
{
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, uring->fd, what);
}

/* Maps what the kernel has made: its two rings, which are one memory since Linux 5.4, and the
 * entry. */
static int map_all(struct fs_uring *uring, const struct io_uring_params *params)
{
    size_t given = params->sq_off.array + params->sq_entries * sizeof(unsigned);
    size_t done = params->cq_off.cqes + params->cq_entries * sizeof(struct io_uring_cqe);
    char *memory;

    uring->size = given > done ? given : done;
    memory = map(uring, uring->size, IORING_OFF_SQ_RING);
    if (memory == MAP_FAILED)
        return -errno;
    uring->entry = map(uring, ENTRY_SIZE, IORING_OFF_SQES);
    if (uring->entry == MAP_FAILED) {
        munmap(memory, uring->size);
        return -errno;
    }
    uring->memory = memory;
    uring->head = (unsigned *)(memory + params->sq_off.head);
    uring->tail = (unsigned *)(memory + params->sq_off.tail);
    *(unsigned *)(memory + params->sq_off.array) = 0; /* there is one entry */
    uring->done_head = (unsigned *)(memory + params->cq_off.head);
    uring->done_tail = (unsigned *)(memory + params->cq_off.tail);
    uring->done_mask = *(unsigned *)(memory + params->cq_off.ring_mask);
    uring->done = (struct io_uring_cqe *)(memory + params->cq_off.cqes);
    return 0;
}

int fs_uring_open(struct fs_uring *uring)
{
    struct io_uring_params params = {.flags = IORING_SETUP_SQE128 | IORING_SETUP_R_DISABLED |
                                              IORING_SETUP_SINGLE_ISSUER |
                                              IORING_SETUP_DEFER_TASKRUN};
    int error;

    *uring = (struct fs_uring){.fd = (int)syscall(SYS_io_uring_setup, 1, &params)};
    if (uring->fd < 0)
        return -errno;
    error = map_all(uring, &params);
    if (error != 0)
        close(uring->fd);
    return error;
}

int fs_uring_take(struct fs_uring *uring)
{
    return syscall(SYS_io_uring_register, uring->fd, IORING_REGISTER_ENABLE_RINGS, NULL, 0) == 0
               ? 0
               : -errno;
}

struct io_uring_sqe *fs_uring_entry(struct fs_uring *uring)
{
    memset(uring->entry, 0, ENTRY_SIZE);
    __atomic_store_n(uring->tail, *uring->tail + 1, __ATOMIC_RELEASE);
    return uring->entry;
}

static int enter(const struct fs_uring *uring, unsigned wanted)
{
    unsigned given = *uring->tail - __atomic_load_n(uring->head, __ATOMIC_ACQUIRE);

    return syscall(SYS_io_uring_enter, uring->fd, given, wanted, IORING_ENTER_GETEVENTS, NULL, 0) <
                   0
               ? -errno
               : 0;
}

int fs_uring_submit(struct fs_uring *uring)
{
    return enter(uring, 0);
}

int fs_uring_wait(struct fs_uring *uring, int *result)
{
    unsigned head = *uring->done_head;
    int error = enter(uring, 1);

    if (error == -EAGAIN || error == -EBUSY)
        return -EINTR;
    if (error != 0)
        return error;
    if (head == __atomic_load_n(uring->done_tail, __ATOMIC_ACQUIRE))
        return -EINTR;
    *result = uring->done[head & uring->done_mask].res;
    __atomic_store_n(uring->done_head, head + 1, __ATOMIC_RELEASE);
    return 0;
}

void fs_uring_close(struct fs_uring *uring)
{
    munmap(uring->entry, ENTRY_SIZE);
    munmap(uring->memory, uring->size);
    close(uring->fd);
}
