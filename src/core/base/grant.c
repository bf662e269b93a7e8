/* SPDX-License-Identifier: MIT */
#include "grant.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process.h"

/* Only the existing mapping of the page can write to it. */
#define PAGE_SEALS      (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)
#define POSITIONS_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/*
 * The kernel clears page->daemon when this thread ends (set_robust_list(2)). A thread has only one
 * robust list, and this one replaces glibc's. So from now on this thread must not lock a robust
 * mutex (PTHREAD_MUTEX_ROBUST): if it ended while it held the mutex, no other thread would notice.
 * This program has no robust mutex.
 */
static struct robust_list entry;
static struct robust_list_head robust = {.list = {.next = &entry}};

static void name_thread(struct mpiio_grant_page *page)
{
    entry.next = &robust.list;
    robust.futex_offset = (char *)&page->daemon - (char *)&entry;
    atomic_store(&page->daemon, (uint32_t)syscall(SYS_gettid));
    if (syscall(SYS_set_robust_list, &robust, sizeof(robust)) != 0)
        atomic_store(&page->daemon, 0);
}

struct mpiio_grant_page *mpiio_grant_page_new(const struct mpiio_grant_mount *mount,
                                              const char *text, size_t length, int *memory)
{
    struct mpiio_grant_page *page;
    uint64_t token;

    if (getrandom(&token, sizeof(token), 0) != sizeof(token))
        return NULL;
    page = mpiio_sealed_memory(MPIIO_GRANT_MEMORY, sizeof(*page) + length, PAGE_SEALS, memory);
    if (page == NULL)
        return NULL;
    page->token = token;
    page->mount = *mount;
    page->text_length = length;
    memcpy(page + 1, text, length);
    name_thread(page);
    return page;
}

#define NAME_BYTES 64 /* enough for the name of any memory */

/* Opens the memory if it has the name, to which the kernel appends " (deleted)". The path may lead
   to any file of another user's process, so no file of another name is opened, and open(2) does not
   block. */
static int open_named(int process, int memory, const char *name, int flags)
{
    char path[64], wanted[NAME_BYTES], target[NAME_BYTES];
    int length = snprintf(wanted, sizeof(wanted), "/memfd:%s ", name);

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", process, memory);
    if (readlink(path, target, sizeof(target)) < length ||
        memcmp(target, wanted, (size_t)length) != 0)
        return -1;
    return open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/*
 * Opens the memory of that name which a process has open as descriptor memory. Sets *st. Returns -1
 * unless the effective user created it, and it has all those seals. A FUSE filesystem can forge the
 * name and the owner of a file, but the kernel reports seals of memory from memfd_create(2) alone,
 * whose owner only root can change.
 */
static int open_sealed(int process, int memory, const char *name, int flags, int seals,
                       struct stat *st)
{
    int fd = open_named(process, memory, name, flags);
    int found = fd >= 0 ? fcntl(fd, F_GET_SEALS) : -1;

    if (found >= 0 && (found & seals) == seals && fstat(fd, st) == 0 && st->st_uid == geteuid())
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Opens and maps the memory: for reading with O_RDONLY, for reading and writing with O_RDWR.
   Returns NULL on failure. */
static void *map_sealed(int process, int memory, const char *name, int flags, int seals,
                        struct stat *st)
{
    int fd = open_sealed(process, memory, name, flags, seals, st);
    void *base = MAP_FAILED;

    if (fd >= 0) {
        base = mmap(NULL, (size_t)st->st_size, flags == O_RDWR ? PROT_READ | PROT_WRITE : PROT_READ,
                    MAP_SHARED, fd, 0);
        close(fd);
    }
    return base != MAP_FAILED ? base : NULL;
}

static bool is_complete(const struct mpiio_grant_page *page, size_t size, uint64_t token)
{
    return size >= sizeof(*page) && page->token == token &&
           page->text_length == size - sizeof(*page) &&
           memchr(page->mount.file, '\0', sizeof(page->mount.file)) != NULL;
}

const struct mpiio_grant_page *mpiio_grant_page_map(int process, int memory, uint64_t token)
{
    struct stat st;
    struct mpiio_grant_page *page =
        map_sealed(process, memory, MPIIO_GRANT_MEMORY, O_RDONLY, PAGE_SEALS, &st);

    if (page == NULL || is_complete(page, (size_t)st.st_size, token))
        return page;
    munmap(page, (size_t)st.st_size);
    return NULL;
}

void mpiio_grant_page_unmap(const struct mpiio_grant_page *page)
{
    munmap((void *)page, sizeof(*page) + page->text_length);
}

void mpiio_grant_put(struct mpiio_grant_page *page, uint32_t slot, uint64_t nonce,
                     const struct mpiio_grant *grant)
{
    struct mpiio_grant_slot *to = &page->slots[slot];

    atomic_store(&to->nonce, 0);
    atomic_thread_fence(memory_order_seq_cst);
    to->grant = *grant;
    atomic_store(&to->nonce, nonce);
}

bool mpiio_grant_take(const struct mpiio_grant_page *page, uint32_t slot, uint64_t nonce,
                      struct mpiio_grant *grant)
{
    const struct mpiio_grant_slot *from;

    if (slot >= MPIIO_GRANT_SLOTS || nonce == 0)
        return false;
    from = &page->slots[slot];
    if (atomic_load(&from->nonce) != nonce)
        return false;
    *grant = from->grant;
    atomic_thread_fence(memory_order_seq_cst);
    return atomic_load(&from->nonce) == nonce && grant->word < MPIIO_GRANT_WORDS &&
           (grant->rights & ~MPIIO_GRANT_BOTH) == 0;
}

/* Positions. */

_Atomic int64_t *mpiio_positions_new(size_t count, int *memory)
{
    return mpiio_sealed_memory(MPIIO_POSITIONS_MEMORY, count * sizeof(int64_t), POSITIONS_SEALS,
                               memory);
}

_Atomic int64_t *mpiio_positions_map(int process, int memory, uint64_t inode, size_t count)
{
    struct stat st;
    _Atomic int64_t *base =
        map_sealed(process, memory, MPIIO_POSITIONS_MEMORY, O_RDWR, POSITIONS_SEALS, &st);

    if (base == NULL || (st.st_ino == inode && (uint64_t)st.st_size / sizeof(int64_t) >= count))
        return base;
    munmap((void *)base, (size_t)st.st_size);
    return NULL;
}
