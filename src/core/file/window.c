/* SPDX-License-Identifier: MIT */
#include "window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define LARGE_PAGE (2 << 20) /* the largest page that the kernel makes on x86-64 */

/*
 * Measured for sparse runs: with small pages there are 16 faults per MiB, and gathering from new
 * windows takes 1.2 to 1.4 times as long as read calls; with 9 per MiB 1.0 to 1.2 times; with 2 or
 * fewer 0.7 times. Gathering from existing windows takes a quarter of that. Gathering dense runs
 * takes 0.65 to 0.8 times as long as read calls, even if the pages are small.
 */
#define DEAR_BYTES  ((1 << 20) / 6) /* bytes per page fault; with fewer, sparse runs use calls */
#define PROBE_BYTES (2 << 20)       /* first bytes of a window in which faults are counted */
#define PROBE_EVERY 8               /* one of this number of windows is probed */

static bool is_set(const atomic_bool *flag)
{
    return atomic_load_explicit(flag, memory_order_relaxed);
}

/* Stores only a changed value. Usually it has not changed, and then the cache line stays shared. */
static void set_window(atomic_bool *flag, bool value)
{
    if (is_set(flag) != value)
        atomic_store_explicit(flag, value, memory_order_relaxed);
}

static void look_at_size(struct mpiio_windows *windows)
{
    off_t end = lseek(windows->fd, 0, SEEK_END);

    set_window(&windows->stays, end >= 0 && end <= windows->count * MPIIO_WINDOW_SIZE);
    set_window(&windows->few, end >= 0 && end <= MPIIO_WINDOW_FEW * MPIIO_WINDOW_SIZE);
}

/* Returns the maximum number of windows. If the address space is limited, leaves some of it for
   the rest of the program, which may be a user's program. */
static int most_kept(void)
{
    struct rlimit limit;
    bool limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;

    return limited ? MPIIO_WINDOW_FEW : MPIIO_WINDOW_COUNT;
}

/* Returns true if the process may ask which pages of the file are in the page cache. Without write
   permission or ownership, the kernel reports all as present. */
static bool is_reported(int fd, bool writable)
{
    struct stat st;

    return writable || (fstat(fd, &st) == 0 && (st.st_uid == geteuid() || geteuid() == 0));
}

void mpiio_windows_init(struct mpiio_windows *windows, int fd, bool writable)
{
    memset(windows, 0, sizeof(*windows));
    windows->count = most_kept();
    windows->fd = fd;
    windows->writable = writable;
    windows->reported = is_reported(fd, writable);
    look_at_size(windows);
    pthread_mutex_init(&windows->lock, NULL);
}

static void unmap_window(struct mpiio_window *window)
{
    if (window != NULL) {
        munmap(window->base, (size_t)MPIIO_WINDOW_SIZE);
        free(window);
    }
}

void mpiio_windows_destroy(struct mpiio_windows *windows)
{
    for (int i = 0; i < MPIIO_WINDOW_COUNT; i++)
        unmap_window(windows->kept[i]);
    pthread_mutex_destroy(&windows->lock);
}

static struct mpiio_window *map_window(struct mpiio_windows *windows, int64_t start)
{
    struct mpiio_window *window = malloc(sizeof(*window));
    int protection = windows->writable ? PROT_READ | PROT_WRITE : PROT_READ;
    void *base;

    if (window == NULL)
        return NULL;
    base = mmap(NULL, (size_t)MPIIO_WINDOW_SIZE, protection, MAP_SHARED, windows->fd, start);
    if (base == MAP_FAILED) {
        if (errno == ENODEV || errno == EACCES || errno == EPERM)
            set_window(&windows->refused, true);
        free(window);
        return NULL;
    }
    *window = (struct mpiio_window){.start = start, .base = base, .users = 1};
    look_at_size(windows);
    return window;
}

/* Returns the slot to search first. If the set can keep all windows of the file, that is always
   the right one. */
static int first_slot(const struct mpiio_windows *windows, int64_t start)
{
    return (int)(start / MPIIO_WINDOW_SIZE % windows->count);
}

/* Takes a reference to the kept window at start. Returns NULL if there is none. With the lock
   held. */
static struct mpiio_window *find_window(struct mpiio_windows *windows, int64_t start)
{
    for (int i = 0; i < windows->count; i++) {
        int slot = (first_slot(windows, start) + i) % windows->count;
        struct mpiio_window *window = windows->kept[slot];

        if (window != NULL && window->start == start) {
            window->users++;
            window->used = ++windows->clock;
            return window;
        }
    }
    return NULL;
}

/*
 * Keeps window in a free slot, or in place of the least recently used one. Returns the replaced
 * window for the caller to unmap, if only the set used it. With the lock held.
 */
static struct mpiio_window *keep_window(struct mpiio_windows *windows, struct mpiio_window *window)
{
    int slot = first_slot(windows, window->start);
    struct mpiio_window *old;

    for (int i = 0; i < windows->count && windows->kept[slot] != NULL; i++)
        if (windows->kept[i] == NULL || windows->kept[i]->used < windows->kept[slot]->used)
            slot = i;
    old = windows->kept[slot];
    windows->kept[slot] = window;
    window->users++;
    window->used = ++windows->clock;
    if (old != NULL)
        set_window(&windows->again, atomic_load(&old->passed) > MPIIO_WINDOW_SIZE / 2 * 3);
    return old != NULL && --old->users == 0 ? old : NULL;
}

struct mpiio_window *mpiio_windows_acquire(struct mpiio_windows *windows, int64_t displacement)
{
    int64_t start = displacement - displacement % MPIIO_WINDOW_SIZE;
    struct mpiio_window *window, *found, *spare;

    if (is_set(&windows->refused))
        return NULL;
    pthread_mutex_lock(&windows->lock);
    found = find_window(windows, start);
    pthread_mutex_unlock(&windows->lock);
    if (found != NULL)
        return found;
    window = map_window(windows, start);
    if (window == NULL)
        return NULL;
    /* If another thread has mapped the window meanwhile, use that one and unmap this one. */
    pthread_mutex_lock(&windows->lock);
    found = find_window(windows, start);
    spare = found != NULL ? window : keep_window(windows, window);
    pthread_mutex_unlock(&windows->lock);
    unmap_window(spare);
    return found != NULL ? found : window;
}

/*
 * Returns the page faults of this thread. A fault that waited for storage subtracts a large number:
 * data from storage comes in large pages, and gathering it was 1.1 times as fast as read calls.
 */
static long faults_so_far(void)
{
    struct rusage usage;

    return getrusage(RUSAGE_THREAD, &usage) == 0
               ? usage.ru_minflt - PROBE_BYTES / MPIIO_SMALL_PAGE * usage.ru_majflt
               : 0;
}

/* Assumes that a window behaves like previous ones. */
bool mpiio_window_begin_read(struct mpiio_window_read *read)
{
    struct mpiio_windows *windows = read->windows;

    read->passed =
        atomic_fetch_add_explicit(&read->window->passed, read->length, memory_order_relaxed);
    read->counts = false;
    if (is_set(&windows->few))
        return true;
    if (read->passed > MPIIO_WINDOW_SIZE)
        set_window(&windows->again, true);
    if (is_set(&windows->again))
        return true;
    if (read->window->start / MPIIO_WINDOW_SIZE % PROBE_EVERY != 0 || read->passed >= PROBE_BYTES)
        return !(read->sparse && is_set(&windows->dear));
    read->counts = true;
    read->faults = faults_so_far();
    return true;
}

void mpiio_window_end_read(const struct mpiio_window_read *read)
{
    int64_t passed = read->passed + read->length;
    long faults;

    if (!read->counts)
        return;
    faults = faults_so_far() - read->faults;
    faults += atomic_fetch_add(&read->window->faults, faults);
    if (passed >= PROBE_BYTES)
        set_window(&read->windows->dear, faults >= passed / DEAR_BYTES);
}

/*
 * This is only advice. A kernel that ignores it makes small pages at the first store. Populating
 * one small page makes a whole large page.
 */
void mpiio_window_make_pages(struct mpiio_window *window, int64_t start, int64_t end)
{
    if (!atomic_load_explicit(&window->large, memory_order_relaxed) &&
        !atomic_exchange(&window->large, true))
        madvise(window->base, (size_t)MPIIO_WINDOW_SIZE, MADV_HUGEPAGE);
    for (int64_t at = start - start % MPIIO_SMALL_PAGE; at < end;
         at += LARGE_PAGE - at % LARGE_PAGE)
        madvise(window->base + (at - window->start), MPIIO_SMALL_PAGE, MADV_POPULATE_WRITE);
}

/* Returns true if the whole part is in the page cache. The last part of a file never is, so it
   is read by calls. */
static bool has_part(const struct mpiio_window *window, int64_t part)
{
    unsigned char states[MPIIO_WINDOW_PART / MPIIO_SMALL_PAGE];

    if (mincore(window->base + part * MPIIO_WINDOW_PART, MPIIO_WINDOW_PART, states) != 0)
        return false;
    for (size_t i = 0; i < sizeof(states); i++)
        if ((states[i] & 1) == 0)
            return false;
    return true;
}

/* A query takes almost a microsecond, so it is made only once. */
static bool is_part_cached(struct mpiio_window *window, int64_t part)
{
    uint64_t bit = UINT64_C(1) << part % 64;
    _Atomic uint64_t *cached = &window->cached[part / 64], *asked = &window->asked[part / 64];

    if ((atomic_load_explicit(asked, memory_order_acquire) & bit) == 0) {
        if (has_part(window, part))
            atomic_fetch_or_explicit(cached, bit, memory_order_relaxed);
        atomic_fetch_or_explicit(asked, bit, memory_order_release);
    }
    return (atomic_load_explicit(cached, memory_order_relaxed) & bit) != 0;
}

bool mpiio_window_is_cached(struct mpiio_window *window, int64_t start, int64_t end)
{
    int64_t part = (start - window->start) / MPIIO_WINDOW_PART;
    int64_t last = (end - 1 - window->start) / MPIIO_WINDOW_PART;

    while (part < last && is_part_cached(window, part))
        part++;
    return is_part_cached(window, part);
}

bool mpiio_window_has_page(const struct mpiio_window *window, int64_t displacement)
{
    int64_t at = displacement - window->start;
    unsigned char state;

    return mincore(window->base + (at - at % MPIIO_SMALL_PAGE), MPIIO_SMALL_PAGE, &state) == 0 &&
           (state & 1);
}

/* Returns the window kept in slot, with a reference for the caller, if it was stored to; else
   NULL. */
static struct mpiio_window *stored_window(struct mpiio_windows *windows, int slot)
{
    struct mpiio_window *window;

    pthread_mutex_lock(&windows->lock);
    window = windows->kept[slot];
    if (window != NULL && atomic_load(&window->stored))
        window->users++;
    else
        window = NULL;
    pthread_mutex_unlock(&windows->lock);
    return window;
}

void mpiio_windows_detach_pages(struct mpiio_windows *windows, int64_t start, int64_t end)
{
    for (int slot = 0; slot < MPIIO_WINDOW_COUNT; slot++) {
        struct mpiio_window *window = stored_window(windows, slot);
        int64_t from, to;

        if (window == NULL)
            continue;
        from = start > window->start ? start - window->start : 0;
        to = end - window->start < MPIIO_WINDOW_SIZE ? end - window->start : MPIIO_WINDOW_SIZE;
        if (from == 0 && to == MPIIO_WINDOW_SIZE)
            atomic_store(&window->stored, false);
        if (from < to)
            madvise(window->base + from, (size_t)(to - from), MADV_DONTNEED);
        mpiio_windows_release(windows, window);
    }
}

void mpiio_windows_release(struct mpiio_windows *windows, struct mpiio_window *window)
{
    bool last;

    if (window == NULL)
        return;
    pthread_mutex_lock(&windows->lock);
    last = --window->users == 0;
    pthread_mutex_unlock(&windows->lock);
    if (last)
        unmap_window(window);
}
