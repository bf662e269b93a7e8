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

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)

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

/* Seals the memory, so that only the existing mapping can write to it. */
static bool seal_memory(int memory)
{
    return fcntl(memory, F_ADD_SEALS, SEALS) == 0;
}

static struct mpiio_grant_page *make_page(int memory, const struct mpiio_grant_mount *mount,
                                          const char *text, size_t length)
{
    size_t size = sizeof(struct mpiio_grant_page) + length;
    struct mpiio_grant_page *page;

    if (ftruncate(memory, (off_t)size) != 0)
        return NULL;
    page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    if (page == MAP_FAILED)
        return NULL;
    page->mount = *mount;
    page->text_length = length;
    memcpy(page + 1, text, length);
    if (getrandom(&page->token, sizeof(page->token), 0) == sizeof(page->token) &&
        seal_memory(memory))
        return page;
    munmap(page, size);
    return NULL;
}

struct mpiio_grant_page *mpiio_grant_page_new(const struct mpiio_grant_mount *mount,
                                              const char *text, size_t length, int *memory)
{
    struct mpiio_grant_page *page;

    *memory = memfd_create(MPIIO_GRANT_MEMORY, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (*memory < 0)
        return NULL;
    page = make_page(*memory, mount, text, length);
    if (page == NULL)
        close(*memory);
    else
        name_thread(page);
    return page;
}

/* Opens the memory. The path may lead to any file of another user's process. Files of other
   names are not opened, and opening a file does not block. */
static int open_memory(int process, int memory)
{
    static const char name[] = "/memfd:" MPIIO_GRANT_MEMORY;
    char path[64], target[sizeof(name)];

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", process, memory);
    if (readlink(path, target, sizeof(target)) != sizeof(target) ||
        memcmp(target, name, sizeof(name) - 1) != 0)
        return -1;
    return open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/*
 * Returns true if the effective user made the memory, and only its maker can write to it. A FUSE
 * filesystem can forge the name and the owner of a file, but the kernel reports these seals of
 * memory from memfd_create(2) alone, whose owner only root can change.
 */
static bool is_ours(int fd, size_t *size)
{
    int seals = fcntl(fd, F_GET_SEALS);
    struct stat st;

    if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) != 0 || st.st_uid != geteuid() ||
        st.st_size < (off_t)sizeof(struct mpiio_grant_page))
        return false;
    *size = (size_t)st.st_size;
    return true;
}

static bool is_complete(const struct mpiio_grant_page *page, size_t size, uint64_t token)
{
    return page->token == token && page->text_length == size - sizeof(*page) &&
           memchr(page->mount.file, '\0', sizeof(page->mount.file)) != NULL;
}

const struct mpiio_grant_page *mpiio_grant_page_map(int process, int memory, uint64_t token)
{
    const struct mpiio_grant_page *page = MAP_FAILED;
    int fd = open_memory(process, memory);
    size_t size;

    if (fd < 0)
        return NULL;
    if (is_ours(fd, &size))
        page = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (page == MAP_FAILED)
        return NULL;
    if (is_complete(page, size, token))
        return page;
    munmap((void *)page, size);
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
