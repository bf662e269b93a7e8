/* SPDX-License-Identifier: MIT */
#include "grant.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel clears page->daemon when this thread ends (set_robust_list(2)). */
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

/* Seals the memory, so that nobody else can write to it. */
static bool seal(int memory)
{
    return fcntl(memory, F_ADD_SEALS,
                 F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) == 0;
}

static struct mpiio_grant_page *map_page(int memory, const char *text, size_t length)
{
    size_t size = sizeof(struct mpiio_grant_page) + length;
    struct mpiio_grant_page *page;

    if (ftruncate(memory, (off_t)size) != 0)
        return NULL;
    page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    if (page == MAP_FAILED)
        return NULL;
    page->text_length = length;
    memcpy(page + 1, text, length);
    if (getrandom(&page->token, sizeof(page->token), 0) == sizeof(page->token) && seal(memory))
        return page;
    munmap(page, size);
    return NULL;
}

struct mpiio_grant_page *mpiio_grant_page_new(const char *text, size_t length, int *memory)
{
    struct mpiio_grant_page *page;

    *memory = memfd_create(MPIIO_GRANT_MEMORY, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (*memory < 0)
        return NULL;
    page = map_page(*memory, text, length);
    if (page == NULL)
        close(*memory);
    else
        name_thread(page);
    return page;
}
