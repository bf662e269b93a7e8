/* SPDX-License-Identifier: MIT */
#include "slots.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The layout of the memfd: a header, a table of the touched pages of all slots, the lists of a
 * flush, then the slots, data before mask. The header has what daemon and engine exchange without
 * messages.
 */
#define MAGIC 0x3373746f6c73706d /* "mpslots3" */

struct header {
    uint64_t magic;
    uint64_t count;
    struct mpiio_lease lease;
    uint64_t unused;
    struct mpiio_progress_page progress;
};

/* The size of a slot's touched pages in the table. */
#define PAGES_BYTES (MPIIO_PAGE_WORDS * sizeof(uint64_t))

/* Returns the size of all that comes before the slots. */
static size_t table_bytes(int count)
{
    size_t each = sizeof(struct mpiio_flush_block) + sizeof(int32_t) + PAGES_BYTES;
    size_t bytes = sizeof(struct header) + (size_t)count * each;

    return (bytes + MPIIO_PAGE_SIZE - 1) / MPIIO_PAGE_SIZE * MPIIO_PAGE_SIZE;
}

static size_t all_bytes(int count)
{
    return table_bytes(count) + (size_t)count * (size_t)MPIIO_SLOT_SIZE;
}

static int map_slots(struct mpiio_slots *slots, int fd, size_t size)
{
    slots->fd = fd;
    slots->size = size;
    slots->base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    return slots->base == MAP_FAILED ? -errno : 0;
}

int mpiio_slots_create(struct mpiio_slots *slots, int count)
{
    size_t size = all_bytes(count);
    int fd = memfd_create("mpiio-dirty", MFD_CLOEXEC);
    struct header *header;
    int error;

    if (fd < 0)
        return -errno;
    /* Allocate the lists in advance, because a flush must not fail for lack of memory. */
    error = ftruncate(fd, (off_t)size) < 0 ||
                    TEMP_FAILURE_RETRY(fallocate(fd, 0, 0, (off_t)table_bytes(count))) < 0
                ? -errno
                : 0;
    if (error == 0)
        error = map_slots(slots, fd, size);
    if (error != 0) {
        close(fd);
        return error;
    }
    slots->count = count;
    header = (struct header *)slots->base; /* the rest is zeros */
    header->magic = MAGIC;
    header->count = (uint64_t)count;
    return 0;
}

int mpiio_slots_map(struct mpiio_slots *slots, int fd)
{
    struct header header = {0};
    struct stat st;

    if (fstat(fd, &st) < 0 || pread(fd, &header, sizeof(header), 0) < 0)
        return -errno;
    if (header.magic != MAGIC || header.count == 0 || header.count > INT32_MAX ||
        (size_t)st.st_size != all_bytes((int)header.count))
        return -EINVAL;
    slots->count = (int)header.count;
    return map_slots(slots, fd, (size_t)st.st_size);
}

void mpiio_slots_unmap(struct mpiio_slots *slots)
{
    munmap(slots->base, slots->size);
}

void mpiio_slots_destroy(struct mpiio_slots *slots)
{
    mpiio_slots_unmap(slots);
    close(slots->fd);
}

/* Returns the table of the touched pages. */
static uint64_t *table(const struct mpiio_slots *slots)
{
    return (uint64_t *)(void *)(slots->base + sizeof(struct header));
}

struct mpiio_progress_page *mpiio_slots_progress(const struct mpiio_slots *slots)
{
    return &((struct header *)slots->base)->progress;
}

struct mpiio_lease *mpiio_slots_lease(const struct mpiio_slots *slots)
{
    return &((struct header *)slots->base)->lease;
}

struct mpiio_flush_block *mpiio_slots_blocks(const struct mpiio_slots *slots)
{
    return (struct mpiio_flush_block *)(void *)(table(slots) +
                                                (size_t)slots->count * MPIIO_PAGE_WORDS);
}

int32_t *mpiio_slots_errors(const struct mpiio_slots *slots)
{
    return (int32_t *)(mpiio_slots_blocks(slots) + slots->count);
}

static size_t slot_start(const struct mpiio_slots *slots, int index)
{
    return table_bytes(slots->count) + (size_t)index * (size_t)MPIIO_SLOT_SIZE;
}

struct mpiio_slot mpiio_slots_get(const struct mpiio_slots *slots, int index)
{
    char *start = slots->base + slot_start(slots, index);

    assert(index >= 0 && index < slots->count);
    return (struct mpiio_slot){.data = start,
                               .mask = (uint64_t *)(void *)(start + MPIIO_BLOCK_SIZE),
                               .pages = table(slots) + (size_t)index * MPIIO_PAGE_WORDS};
}

/* Returns the bits of eight data pages, whose mask bits fill one page of the mask. */
static unsigned int pages_of_group(const uint64_t *pages, size_t group)
{
    return pages[group / 8] >> group % 8 * 8 & 0xff;
}

#define GROUPS (MPIIO_PAGE_WORDS * 8)

void mpiio_slots_clear(const struct mpiio_slots *slots, int index, bool keep)
{
    struct mpiio_slot slot = mpiio_slots_get(slots, index);

    /* If the memory cannot be returned to the system, zero the mask instead. */
    if (keep || fallocate(slots->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                          (off_t)slot_start(slots, index), MPIIO_SLOT_SIZE) != 0) {
        for (size_t group = 0; group < GROUPS; group++)
            if (pages_of_group(slot.pages, group) != 0)
                memset(slot.mask + group * MPIIO_MASK_REACH / 64, 0, MPIIO_PAGE_SIZE);
    }
    memset(slot.pages, 0, MPIIO_PAGE_WORDS * sizeof(uint64_t));
}

/* Forces the kernel to allocate the pages [first, end) of memory. */
static void fault_pages(char *memory, size_t first, size_t end)
{
    if (end - first > 1 && madvise(memory + first * MPIIO_PAGE_SIZE,
                                   (end - first) * MPIIO_PAGE_SIZE, MADV_POPULATE_WRITE) == 0)
        return;
    /* An error of madvise does not prove that memory is exhausted. Touch the pages: if it is, the
       guard catches SIGBUS. */
    for (size_t page = first; page < end; page++) {
        volatile char *byte = memory + page * MPIIO_PAGE_SIZE;

        *byte = *byte;
    }
}

/* The number of data pages whose bits fill one page of the mask. */
#define DATA_PAGES (MPIIO_MASK_REACH / MPIIO_PAGE_SIZE)

static void touch_pages(const struct mpiio_slot *slot, size_t start, size_t end)
{
    struct mpiio_mask_run set = {.end = start / MPIIO_PAGE_SIZE};
    size_t behind = (end - 1) / MPIIO_PAGE_SIZE + 1;

    assert(start < end && end <= (size_t)MPIIO_BLOCK_SIZE);
    while (set.end < behind) {
        size_t first = set.end;

        mpiio_mask_next_run(slot->pages, first, behind, &set);
        if (first == set.start)
            continue;
        fault_pages(slot->data, first, set.start);
        fault_pages((char *)slot->mask, first / DATA_PAGES, (set.start - 1) / DATA_PAGES + 1);
        mpiio_mask_set(slot->pages, (struct mpiio_mask_runs){first, set.start - first, 1, 0});
    }
}

void mpiio_slot_touch(const struct mpiio_slot *slot, struct mpiio_mask_runs runs)
{
    size_t span = (runs.count - 1) * (size_t)runs.stride + runs.length;

    if (runs.count > 1 && (runs.stride < 0 || runs.stride > MPIIO_PAGE_SIZE)) {
        for (size_t i = 0; i < runs.count; i++) {
            size_t start = runs.start + i * (size_t)runs.stride;

            touch_pages(slot, start, start + runs.length);
        }
    } else {
        touch_pages(slot, runs.start, runs.start + span);
    }
}

bool mpiio_slot_touched(const struct mpiio_slot *slot, size_t from, size_t to)
{
    struct mpiio_mask_run run;

    return mpiio_mask_next_run(slot->pages, from / MPIIO_PAGE_SIZE, (to - 1) / MPIIO_PAGE_SIZE + 1,
                               &run);
}

int64_t mpiio_slot_memory(const uint64_t pages[MPIIO_PAGE_WORDS])
{
    size_t count = mpiio_mask_count(pages, 0, MPIIO_PAGE_WORDS * 64);

    for (size_t group = 0; group < GROUPS; group++)
        count += pages_of_group(pages, group) != 0;
    return (int64_t)count * MPIIO_PAGE_SIZE;
}

bool mpiio_slot_next_run(const struct mpiio_slot *slot, size_t from, size_t to,
                         struct mpiio_mask_run *run)
{
    struct mpiio_mask_run pages;

    while (from < to) {
        size_t end;

        /* Treat adjacent touched pages as one range. A run never extends beyond it. */
        if (!mpiio_mask_next_run(slot->pages, from / MPIIO_PAGE_SIZE,
                                 (to - 1) / MPIIO_PAGE_SIZE + 1, &pages))
            return false;
        if (from < pages.start * MPIIO_PAGE_SIZE)
            from = pages.start * MPIIO_PAGE_SIZE;
        end = pages.end * MPIIO_PAGE_SIZE;
        if (mpiio_mask_next_run(slot->mask, from, end < to ? end : to, run))
            return true;
        from = end;
    }
    return false;
}

int64_t mpiio_slot_bytes(const struct mpiio_slot *slot)
{
    size_t bytes = 0;

    for (size_t group = 0; group < GROUPS; group++)
        if (pages_of_group(slot->pages, group) != 0)
            bytes += mpiio_mask_count(slot->mask, group * MPIIO_MASK_REACH,
                                      (group + 1) * MPIIO_MASK_REACH);
    return (int64_t)bytes;
}
