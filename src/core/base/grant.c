/* SPDX-License-Identifier: MIT */
#include "grant.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sealed.h"

/* Only the existing mapping of the memory can write to it. */
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

struct mpiio_grant_page *mpiio_grant_page_new(const struct mpiio_grant_mount *mount,
                                              const char *text, size_t length, int *memory)
{
    struct mpiio_grant_page *page;
    uint64_t token;

    if (getrandom(&token, sizeof(token), 0) != sizeof(token))
        return NULL;
    page = mpiio_sealed_new(MPIIO_GRANT_MEMORY, sizeof(*page) + length, SEALS, memory);
    if (page == NULL)
        return NULL;
    page->token = token;
    page->mount = *mount;
    page->text_length = length;
    memcpy(page + 1, text, length);
    name_thread(page);
    return page;
}

static bool is_complete(const struct mpiio_grant_page *page, size_t size, uint64_t token)
{
    return page->token == token && page->text_length == size - sizeof(*page) &&
           memchr(page->mount.file, '\0', sizeof(page->mount.file)) != NULL;
}

const struct mpiio_grant_page *mpiio_grant_page_map(int process, int memory, uint64_t token)
{
    const struct mpiio_grant_page *page = MAP_FAILED;
    struct stat st;
    int fd = mpiio_sealed_open(process, memory, MPIIO_GRANT_MEMORY, O_RDONLY, SEALS, &st);

    if (fd < 0)
        return NULL;
    if (st.st_size >= (off_t)sizeof(*page))
        page = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (page == MAP_FAILED)
        return NULL;
    if (is_complete(page, (size_t)st.st_size, token))
        return page;
    munmap((void *)page, (size_t)st.st_size);
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
