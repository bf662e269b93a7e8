/* SPDX-License-Identifier: MIT */
#include "refills.h"

#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/thread.h"

/* The time within which the kernel invalidates pages after it has read an answer, in ms. */
#define SOON 100

void fs_refills_init(struct fs_refills *refills)
{
    *refills = (struct fs_refills){.count = 0};
    pthread_mutex_init(&refills->lock, NULL);
    pthread_cond_init(&refills->changed, NULL);
}

void fs_refills_free(struct fs_refills *refills)
{
    assert(refills->reading == NULL && refills->running == 0);
    pthread_cond_destroy(&refills->changed);
    pthread_mutex_destroy(&refills->lock);
}

/* Returns the range of pages that hold bytes of [offset, offset + length). */
static struct fs_refilled pages_of(int64_t offset, size_t length)
{
    int64_t page = sysconf(_SC_PAGESIZE), end;

    if (__builtin_add_overflow(offset, length, &end) || end > INT64_MAX - page)
        end = INT64_MAX - page;
    return (struct fs_refilled){.start = offset - offset % page,
                                .end = (end + page - 1) / page * page};
}

static bool meet(const struct fs_refilled *a, const struct fs_refilled *b)
{
    return a->start < b->end && b->start < a->end;
}

/* Extends a range to include another. */
static void take_in(struct fs_refilled *range, const struct fs_refilled *other)
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
 * Adds a range to a list of FS_REFILLS_MAX entries. If the list is full, extends the last entry.
 * Returns the new length.
 */
static size_t add_refilled(struct fs_refilled *list, size_t count, const struct fs_refilled *range)
{
    assert(count <= FS_REFILLS_MAX);
    assert(range->start < range->end);
    if (count == FS_REFILLS_MAX) {
        take_in(&list[count - 1], range);
        return count;
    }
    list[count] = *range;
    return count + 1;
}

/* Forgets the reads that cannot have overlapped with the next write. Lock held. */
static void begin_window(struct fs_refills *refills, int64_t now)
{
    bool dropping = refills->running > 0 || now < refills->expected;

    assert(mpiio_is_held(&refills->lock));
    for (struct fs_refill *read = refills->reading; read != NULL; read = read->next)
        read->suspect = false;
    refills->count = 0;
    refills->stored = false;
    atomic_store(&refills->notes, dropping);
}

void fs_refills_join(struct fs_refills *refills, int64_t now)
{
    pthread_mutex_lock(&refills->lock);
    if (refills->writers++ == 0)
        begin_window(refills, now);
    else if (now < refills->expected)
        atomic_store(&refills->notes, true);
    pthread_mutex_unlock(&refills->lock);
}

void fs_refills_leave(struct fs_refills *refills)
{
    pthread_mutex_lock(&refills->lock);
    assert(refills->writers > 0);
    if (--refills->writers == 0) {
        refills->count = 0;
        atomic_store(&refills->notes, false);
    }
    pthread_mutex_unlock(&refills->lock);
}

bool fs_refills_opened(struct fs_refills *refills, unsigned own, int64_t now)
{
    bool others;

    pthread_mutex_lock(&refills->lock);
    others = refills->writers > own;
    if (!others)
        refills->expected = now + SOON;
    pthread_mutex_unlock(&refills->lock);
    return others;
}

/* Counts a drop that begins, and returns its number. Lock held. */
static uint64_t number_drop(struct fs_refills *refills)
{
    assert(mpiio_is_held(&refills->lock));
    refills->drops++;
    if (refills->writers > 0)
        atomic_store(&refills->notes, true);
    return refills->drops;
}

void fs_refills_drop_begin(struct fs_refills *refills, struct fs_refilled *drop)
{
    pthread_mutex_lock(&refills->lock);
    refills->running++;
    drop->drops = number_drop(refills);
    pthread_mutex_unlock(&refills->lock);
}

/*
 * Forgets pages that were read before the drop began, because they have been invalidated. Pages
 * that were read since may have been invalidated or not: marks them unsure, and extends `again` to
 * include them. If there are none, again->end is 0. Lock held.
 */
static void forget_dropped(struct fs_refills *refills, const struct fs_refilled *drop,
                           struct fs_refilled *again)
{
    size_t kept = 0;

    assert(mpiio_is_held(&refills->lock));
    *again = (struct fs_refilled){.start = INT64_MAX};
    for (size_t i = 0; i < refills->count; i++) {
        struct fs_refilled *range = &refills->done[i];
        bool later = range->drops >= drop->drops;

        if (!later && range->start >= drop->start && range->end <= drop->end)
            continue;
        if (later && meet(range, drop)) {
            range->unsure = true;
            take_in(again, range);
        }
        refills->done[kept++] = *range;
    }
    refills->count = kept;
}

bool fs_refills_drop_end(struct fs_refills *refills, struct fs_refilled *drop, bool last)
{
    struct fs_refilled again;
    bool repeat;

    pthread_mutex_lock(&refills->lock);
    assert(refills->running > 0 && drop->drops <= refills->drops);
    forget_dropped(refills, drop, &again);
    repeat = !last && again.end > 0;
    if (repeat) {
        *drop = again;
        drop->drops = number_drop(refills);
    } else {
        refills->running--;
        pthread_cond_broadcast(&refills->changed);
    }
    pthread_mutex_unlock(&refills->lock);
    return repeat;
}

void fs_refills_drop_expected(struct fs_refills *refills, int64_t now)
{
    pthread_mutex_lock(&refills->lock);
    refills->expected = now + SOON;
    number_drop(refills);
    pthread_mutex_unlock(&refills->lock);
}

void fs_refills_read_begin(struct fs_refills *refills, struct fs_refill *read, int64_t offset,
                           size_t length)
{
    read->noted = atomic_load(&refills->notes);
    if (!read->noted)
        return;
    read->range = pages_of(offset, length);
    pthread_mutex_lock(&refills->lock);
    read->suspect = !refills->stored;
    read->range.drops = refills->drops;
    read->next = refills->reading;
    refills->reading = read;
    pthread_mutex_unlock(&refills->lock);
}

void fs_refills_read_end(struct fs_refills *refills, struct fs_refill *read)
{
    struct fs_refill **link = &refills->reading;

    if (!read->noted)
        return;
    pthread_mutex_lock(&refills->lock);
    while (*link != read)
        link = &(*link)->next;
    *link = read->next;
    if (read->suspect && atomic_load(&refills->notes))
        refills->count = add_refilled(refills->done, refills->count, &read->range);
    pthread_mutex_unlock(&refills->lock);
}

bool fs_refills_stored(struct fs_refills *refills)
{
    if (!atomic_load(&refills->notes))
        return false;
    pthread_mutex_lock(&refills->lock);
    refills->stored = true;
    pthread_mutex_unlock(&refills->lock);
    return true;
}

/* Lists the suspect pages among the written ones. Returns their number. Lock held. */
static size_t collect(const struct fs_refills *refills, const struct fs_refilled *written,
                      struct fs_refilled *list)
{
    size_t count = 0;

    assert(mpiio_is_held(&refills->lock));
    for (size_t i = 0; i < refills->count; i++)
        if (meet(&refills->done[i], written))
            count = add_refilled(list, count, &refills->done[i]);
    for (struct fs_refill *read = refills->reading; read != NULL; read = read->next)
        if (read->suspect && meet(&read->range, written))
            count = add_refilled(list, count, &read->range);
    return count;
}

size_t fs_refills_find(struct fs_refills *refills, int64_t offset, size_t length, int64_t now,
                       int64_t limit, struct fs_refilled *list, bool *sure)
{
    const struct fs_refilled written = pages_of(offset, length);
    size_t count;
    bool waits = true;

    pthread_mutex_lock(&refills->lock);
    count = collect(refills, &written, list);
    while (count > 0 && refills->running > 0 && waits) {
        waits = mpiio_wait_until(&refills->changed, &refills->lock, limit);
        count = collect(refills, &written, list);
    }
    *sure = now >= refills->expected && refills->running == 0;
    pthread_mutex_unlock(&refills->lock);
    for (size_t i = 0; i < count; i++) {
        *sure = *sure && !list[i].unsure;
        list[i].start = list[i].start > written.start ? list[i].start : written.start;
        list[i].end = list[i].end < written.end ? list[i].end : written.end;
    }
    return count;
}

void fs_refills_answered(struct fs_refills *refills, int64_t now)
{
    if (!atomic_load(&refills->notes))
        return;
    pthread_mutex_lock(&refills->lock);
    begin_window(refills, now);
    pthread_mutex_unlock(&refills->lock);
}
