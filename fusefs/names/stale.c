/* SPDX-License-Identifier: MIT */
#include "stale.h"

#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/thread.h"

/* The time within which the kernel invalidates pages after it has read an answer, in ms. */
#define SOON 100

void fs_stale_init(struct fs_stale *stale)
{
    *stale = (struct fs_stale){.count = 0};
    pthread_mutex_init(&stale->lock, NULL);
    pthread_cond_init(&stale->changed, NULL);
}

void fs_stale_free(struct fs_stale *stale)
{
    assert(stale->reading == NULL && stale->running == 0);
    pthread_cond_destroy(&stale->changed);
    pthread_mutex_destroy(&stale->lock);
}

/* Returns the range of pages that hold bytes of [offset, offset + length). */
static struct fs_stale_range pages_of(int64_t offset, size_t length)
{
    int64_t page = sysconf(_SC_PAGESIZE), end;

    if (__builtin_add_overflow(offset, length, &end) || end > INT64_MAX - page)
        end = INT64_MAX - page;
    return (struct fs_stale_range){.start = offset - offset % page,
                                   .end = (end + page - 1) / page * page};
}

static bool meet(const struct fs_stale_range *a, const struct fs_stale_range *b)
{
    return a->start < b->end && b->start < a->end;
}

/* Extends a range to include another. */
static void take_in(struct fs_stale_range *range, const struct fs_stale_range *other)
{
    if (other->start < range->start)
        range->start = other->start;
    if (other->end > range->end)
        range->end = other->end;
    if (other->drops > range->drops)
        range->drops = other->drops;
    range->unsure = true;
}

/*
 * Adds a range to a list of FS_STALE_MAX entries. If the list is full, extends the last entry.
 * Returns the new length.
 */
static size_t add_refilled(struct fs_stale_range *list, size_t count,
                           const struct fs_stale_range *range)
{
    assert(count <= FS_STALE_MAX);
    assert(range->start < range->end);
    if (count == FS_STALE_MAX) {
        take_in(&list[count - 1], range);
        return count;
    }
    list[count] = *range;
    return count + 1;
}

/* Forgets the reads that cannot have overlapped with the next write. Lock held. */
static void begin_window(struct fs_stale *stale, int64_t now)
{
    bool dropping = stale->running > 0 || now < stale->expected;

    assert(mpiio_is_held(&stale->lock));
    for (struct fs_stale_read *read = stale->reading; read != NULL; read = read->next)
        read->suspect = false;
    stale->count = 0;
    stale->stored = false;
    atomic_store(&stale->notes, dropping);
}

void fs_stale_join(struct fs_stale *stale, int64_t now)
{
    pthread_mutex_lock(&stale->lock);
    if (stale->writers++ == 0)
        begin_window(stale, now);
    else if (now < stale->expected)
        atomic_store(&stale->notes, true);
    pthread_mutex_unlock(&stale->lock);
}

void fs_stale_leave(struct fs_stale *stale)
{
    pthread_mutex_lock(&stale->lock);
    assert(stale->writers > 0);
    if (--stale->writers == 0) {
        stale->count = 0;
        atomic_store(&stale->notes, false);
    }
    pthread_mutex_unlock(&stale->lock);
}

bool fs_stale_opened(struct fs_stale *stale, unsigned own, int64_t now)
{
    bool others;

    pthread_mutex_lock(&stale->lock);
    others = stale->writers > own;
    if (!others)
        stale->expected = now + SOON;
    pthread_mutex_unlock(&stale->lock);
    return others;
}

/* Counts a drop that begins, and returns its number. Lock held. */
static uint64_t number_drop(struct fs_stale *stale)
{
    assert(mpiio_is_held(&stale->lock));
    stale->drops++;
    if (stale->writers > 0)
        atomic_store(&stale->notes, true);
    return stale->drops;
}

void fs_stale_drop_begin(struct fs_stale *stale, struct fs_stale_range *drop)
{
    pthread_mutex_lock(&stale->lock);
    stale->running++;
    drop->drops = number_drop(stale);
    pthread_mutex_unlock(&stale->lock);
}

/*
 * Forgets pages that were read before the drop began, because they have been invalidated. Pages
 * that were read since may have been invalidated or not: marks them unsure, and extends `again` to
 * include them. If there are none, again->end is 0. Lock held.
 */
static void forget_dropped(struct fs_stale *stale, const struct fs_stale_range *drop,
                           struct fs_stale_range *again)
{
    size_t kept = 0;

    assert(mpiio_is_held(&stale->lock));
    *again = (struct fs_stale_range){.start = INT64_MAX};
    for (size_t i = 0; i < stale->count; i++) {
        struct fs_stale_range *range = &stale->done[i];
        bool later = range->drops >= drop->drops;

        if (!later && range->start >= drop->start && range->end <= drop->end)
            continue;
        if (later && meet(range, drop)) {
            range->unsure = true;
            take_in(again, range);
        }
        stale->done[kept++] = *range;
    }
    stale->count = kept;
}

bool fs_stale_drop_end(struct fs_stale *stale, struct fs_stale_range *drop, bool last)
{
    struct fs_stale_range again;
    bool repeat;

    pthread_mutex_lock(&stale->lock);
    assert(stale->running > 0 && drop->drops <= stale->drops);
    forget_dropped(stale, drop, &again);
    repeat = !last && again.end > 0;
    if (repeat) {
        *drop = again;
        drop->drops = number_drop(stale);
    } else {
        stale->running--;
        pthread_cond_broadcast(&stale->changed);
    }
    pthread_mutex_unlock(&stale->lock);
    return repeat;
}

void fs_stale_drop_expected(struct fs_stale *stale, int64_t now)
{
    pthread_mutex_lock(&stale->lock);
    stale->expected = now + SOON;
    number_drop(stale);
    pthread_mutex_unlock(&stale->lock);
}

void fs_stale_read_begin(struct fs_stale *stale, struct fs_stale_read *read, int64_t offset,
                         size_t length)
{
    read->noted = atomic_load(&stale->notes);
    if (!read->noted)
        return;
    read->range = pages_of(offset, length);
    pthread_mutex_lock(&stale->lock);
    read->suspect = !stale->stored;
    read->range.drops = stale->drops;
    read->next = stale->reading;
    stale->reading = read;
    pthread_mutex_unlock(&stale->lock);
}

void fs_stale_read_end(struct fs_stale *stale, struct fs_stale_read *read)
{
    struct fs_stale_read **link = &stale->reading;

    if (!read->noted)
        return;
    pthread_mutex_lock(&stale->lock);
    while (*link != read)
        link = &(*link)->next;
    *link = read->next;
    if (read->suspect && atomic_load(&stale->notes))
        stale->count = add_refilled(stale->done, stale->count, &read->range);
    pthread_mutex_unlock(&stale->lock);
}

bool fs_stale_stored(struct fs_stale *stale)
{
    if (!atomic_load(&stale->notes))
        return false;
    pthread_mutex_lock(&stale->lock);
    stale->stored = true;
    pthread_mutex_unlock(&stale->lock);
    return true;
}

/* Lists the suspect pages among the written ones. Returns their number. Lock held. */
static size_t collect(const struct fs_stale *stale, const struct fs_stale_range *written,
                      struct fs_stale_range *list)
{
    size_t count = 0;

    assert(mpiio_is_held(&stale->lock));
    for (size_t i = 0; i < stale->count; i++)
        if (meet(&stale->done[i], written))
            count = add_refilled(list, count, &stale->done[i]);
    for (struct fs_stale_read *read = stale->reading; read != NULL; read = read->next)
        if (read->suspect && meet(&read->range, written))
            count = add_refilled(list, count, &read->range);
    return count;
}

size_t fs_stale_find(struct fs_stale *stale, int64_t offset, size_t length, int64_t now,
                     int64_t limit, struct fs_stale_range *list, bool *sure)
{
    const struct fs_stale_range written = pages_of(offset, length);
    size_t count;
    bool waits = true;

    pthread_mutex_lock(&stale->lock);
    count = collect(stale, &written, list);
    while (count > 0 && stale->running > 0 && waits) {
        waits = mpiio_wait_until(&stale->changed, &stale->lock, limit);
        count = collect(stale, &written, list);
    }
    *sure = now >= stale->expected && stale->running == 0;
    pthread_mutex_unlock(&stale->lock);
    for (size_t i = 0; i < count; i++) {
        *sure = *sure && !list[i].unsure;
        list[i].start = list[i].start > written.start ? list[i].start : written.start;
        list[i].end = list[i].end < written.end ? list[i].end : written.end;
    }
    return count;
}

void fs_stale_answered(struct fs_stale *stale, int64_t now)
{
    if (!atomic_load(&stale->notes))
        return;
    pthread_mutex_lock(&stale->lock);
    begin_window(stale, now);
    pthread_mutex_unlock(&stale->lock);
}
