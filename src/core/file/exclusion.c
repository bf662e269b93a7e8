/* SPDX-License-Identifier: MIT */
#include "exclusion.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/thread.h"
#include "viewspec/base/integer.h"

/* The number of accesses that may share a lock of the file before others get their turn. */
#define SHARES_MAX 64

/* The number of runs to skip one by one before searching. */
#define MANY_RUNS 32

/*
 * The maximum number of runs or batches to examine. A view is infinite, so a range of positions may
 * have 2^62 of them. Two FUSE requests have at most this many. The limit counts steps, not time:
 * two accesses must conflict, or not, whenever they are compared.
 */
#define STEPS_MAX (1 << 21)

/* A lock of the file, shared by several accesses. */
struct mpiio_shared_lock {
    LIST_ENTRY(mpiio_shared_lock) entry;
    struct mpiio_lock lock;
    int64_t start, end;
    bool exclusive;
    unsigned users;
    unsigned shares; /* number of accesses so far */
};

int mpiio_exclusion_init(struct mpiio_exclusion *accesses, int fd, int64_t base, bool writable)
{
    struct mpiio_lock lock;
    int error;

    *accesses = (struct mpiio_exclusion){0};
    TAILQ_INIT(&accesses->list);
    mpiio_file_locks_init(&accesses->locks, fd, base, writable);
    error = mpiio_file_lock_try(&accesses->locks, 0, 1, false, &lock);
    if (error == 0)
        mpiio_file_lock_release(&accesses->locks, &lock);
    if (error != 0 && error != -EAGAIN) {
        mpiio_file_locks_destroy(&accesses->locks);
        return error;
    }
    pthread_mutex_init(&accesses->lock, NULL);
    pthread_cond_init(&accesses->changed, NULL);
    return 0;
}

void mpiio_exclusion_destroy(struct mpiio_exclusion *accesses)
{
    pthread_cond_destroy(&accesses->changed);
    pthread_mutex_destroy(&accesses->lock);
    mpiio_file_locks_destroy(&accesses->locks);
}

/* Extends the access's range of the file by a batch. */
static void add_batch(struct mpiio_access *access, const struct vs_batch *batch)
{
    int64_t last = batch->displacement + (batch->count - 1) * batch->stride;

    access->start = vs_min(access->start, vs_min(batch->displacement, last));
    access->end = vs_max(access->end, vs_max(batch->displacement, last) + batch->length);
}

/* Computes the access's range of the file. If that takes too many steps, uses the whole file. */
static void set_range(struct mpiio_access *access)
{
    struct vs_cursor cursor;
    struct vs_batch batch;
    int steps = 0;

    if (access->map == NULL) {
        access->start = access->position;
        access->end = access->position + access->length;
        return;
    }
    access->start = INT64_MAX;
    access->end = 0;
    vs_cursor_start(&cursor, access->map, access->position, access->length);
    while (vs_cursor_batch(&cursor, &batch)) {
        add_batch(access, &batch);
        if (++steps == STEPS_MAX) {
            access->start = 0;
            access->end = INT64_MAX;
            return;
        }
    }
}

/* A walk over the runs of an access in ascending order. */
struct ascent {
    const struct vs_map *map;
    struct vs_runs runs;
    struct vs_run run; /* the current run */
    int64_t end;       /* position */
    int steps;         /* since the other ascent advanced */
};

static bool ascent_start(struct ascent *ascent, const struct mpiio_access *access)
{
    ascent->map = access->map;
    ascent->end = access->position + access->length;
    ascent->steps = 0;
    vs_runs_start(&ascent->runs, access->map, access->position, access->length);
    return vs_runs_next(&ascent->runs, &ascent->run);
}

/* Advances to the next run or, after MANY_RUNS, to the first one that ends after displacement. */
static bool ascent_step(struct ascent *ascent, int64_t displacement)
{
    int64_t position;

    if (++ascent->steps < MANY_RUNS)
        return vs_runs_next(&ascent->runs, &ascent->run);
    ascent->steps = 0;
    position = vs_map_lower_bound(ascent->map, displacement);
    if (position >= ascent->end)
        return false;
    vs_runs_start(&ascent->runs, ascent->map, position, ascent->end - position);
    return vs_runs_next(&ascent->runs, &ascent->run);
}

/*
 * Returns true if any run of one access overlaps a run of the other, or if that is not known after
 * STEPS_MAX steps. Both ascend in the file. The access with fewer runs determines the number of
 * steps, because the other one is searched.
 */
static bool runs_meet(const struct mpiio_access *a, const struct mpiio_access *b)
{
    struct ascent walk[2];
    bool more = ascent_start(&walk[0], a) && ascent_start(&walk[1], b);

    for (int steps = 0; more; steps++) {
        const struct vs_run *run[2] = {&walk[0].run, &walk[1].run};
        int behind = run[0]->displacement + run[0]->length <= run[1]->displacement ? 0 : 1;

        if (steps == STEPS_MAX ||
            (behind == 1 && run[1]->displacement + run[1]->length > run[0]->displacement))
            return true;
        walk[!behind].steps = 0;
        more = ascent_step(&walk[behind], run[!behind]->displacement);
    }
    return false;
}

static bool map_ascends(const struct mpiio_access *access)
{
    const struct vs_map_facts *facts = vs_map_facts(access->map);

    return facts->monotonic && facts->disjoint;
}

/* Returns true if the accesses share a byte, or if one walk cannot decide that. */
static bool accesses_meet(const struct mpiio_access *a, const struct mpiio_access *b)
{
    if (a->start >= b->end || b->start >= a->end)
        return false;
    if (a->map == NULL || b->map == NULL)
        return true;
    if (a->map == b->map && vs_map_facts(a->map)->disjoint)
        return a->position < b->position + b->length && b->position < a->position + a->length;
    return !map_ascends(a) || !map_ascends(b) || runs_meet(a, b);
}

bool mpiio_exclusion_meets(const struct vs_map *map, int64_t position, int64_t length,
                           const struct vs_map *other)
{
    struct mpiio_access a = {.map = map, .position = position, .length = length};
    struct mpiio_access b = {.map = other, .length = vs_map_facts(other)->limit};

    set_range(&a);
    b.start = a.start;
    b.end = a.end;
    if (map_ascends(&b)) {
        b.position = vs_map_lower_bound(other, a.start);
        b.length = vs_map_lower_bound(other, a.end) - b.position;
    }
    return a.length > 0 && b.length > 0 && accesses_meet(&a, &b);
}

static bool accesses_conflict(const struct mpiio_access *a, const struct mpiio_access *b)
{
    return (a->writes || b->writes) && accesses_meet(a, b);
}

/* Waits for all older accesses that conflict. */
static void join_accesses(struct mpiio_exclusion *accesses, struct mpiio_access *access)
{
    const struct mpiio_access *older;

    pthread_mutex_lock(&accesses->lock);
    TAILQ_FOREACH (older, &accesses->list, entry)
        access->blockers += accesses_conflict(older, access);
    TAILQ_INSERT_TAIL(&accesses->list, access, entry);
    accesses->stats.calls++;
    accesses->stats.waits += access->blockers > 0;
    while (access->blockers > 0)
        pthread_cond_wait(&accesses->changed, &accesses->lock);
    pthread_mutex_unlock(&accesses->lock);
}

/* Extends a shared lock to cover the access. Returns false if that is not possible at once. With
   the lock held. */
static bool extend_shared(struct mpiio_shared_lock *shared_lock, const struct mpiio_access *access)
{
    if (access->start > shared_lock->end || access->end < shared_lock->start)
        return false;
    if (access->start < shared_lock->start &&
        mpiio_file_lock_extend(&shared_lock->lock, access->start, shared_lock->start,
                               shared_lock->exclusive) != 0)
        return false;
    shared_lock->start = vs_min(shared_lock->start, access->start);
    if (access->end > shared_lock->end &&
        mpiio_file_lock_extend(&shared_lock->lock, shared_lock->end, access->end,
                               shared_lock->exclusive) != 0)
        return false;
    shared_lock->end = vs_max(shared_lock->end, access->end);
    assert(shared_lock->start <= access->start && access->end <= shared_lock->end);
    return true;
}

/* Returns a lock of this process that covers the access, or can be extended to it; or NULL. */
static struct mpiio_shared_lock *find_shared(struct mpiio_exclusion *accesses,
                                             const struct mpiio_access *access)
{
    struct mpiio_shared_lock *shared_lock;

    pthread_mutex_lock(&accesses->lock);
    LIST_FOREACH (shared_lock, &accesses->shared_locks, entry) {
        if (shared_lock->shares < SHARES_MAX && (shared_lock->exclusive || !access->writes) &&
            extend_shared(shared_lock, access)) {
            shared_lock->users++;
            shared_lock->shares++;
            break;
        }
    }
    pthread_mutex_unlock(&accesses->lock);
    return shared_lock;
}

/* Acquires a new lock for the access. Returns 0 or a negative errno. */
static int lock_file(struct mpiio_exclusion *accesses, struct mpiio_access *access)
{
    struct mpiio_shared_lock *shared_lock = malloc(sizeof(*shared_lock));
    bool waited;
    int error;

    if (shared_lock == NULL)
        return -ENOMEM;
    *shared_lock = (struct mpiio_shared_lock){
        .start = access->start, .end = access->end, .exclusive = access->writes, .users = 1};
    error = mpiio_file_lock_try(&accesses->locks, shared_lock->start, shared_lock->end,
                                shared_lock->exclusive, &shared_lock->lock);
    waited = error == -EAGAIN;
    if (waited)
        error = mpiio_file_lock_acquire(&accesses->locks, shared_lock->start, shared_lock->end,
                                        shared_lock->exclusive, &shared_lock->lock);
    if (error != 0) {
        free(shared_lock);
        return error;
    }
    pthread_mutex_lock(&accesses->lock);
    accesses->stats.lock_waits += waited;
    LIST_INSERT_HEAD(&accesses->shared_locks, shared_lock, entry);
    pthread_mutex_unlock(&accesses->lock);
    access->shared_lock = shared_lock;
    return 0;
}

/* Releases the lock if no other access shares it. */
static void let_go(struct mpiio_exclusion *accesses, struct mpiio_shared_lock *shared_lock)
{
    bool last;

    pthread_mutex_lock(&accesses->lock);
    last = --shared_lock->users == 0;
    if (last)
        LIST_REMOVE(shared_lock, entry);
    pthread_mutex_unlock(&accesses->lock);
    if (last) {
        mpiio_file_lock_release(&accesses->locks, &shared_lock->lock);
        free(shared_lock);
    }
}

static void leave_accesses(struct mpiio_exclusion *accesses, struct mpiio_access *access)
{
    struct mpiio_access *later = access;
    bool frees = false;

    pthread_mutex_lock(&accesses->lock);
    while ((later = TAILQ_NEXT(later, entry)) != NULL)
        if (later->blockers > 0 && accesses_conflict(access, later) && --later->blockers == 0)
            frees = true;
    TAILQ_REMOVE(&accesses->list, access, entry);
    if (frees)
        pthread_cond_broadcast(&accesses->changed);
    pthread_mutex_unlock(&accesses->lock);
}

int mpiio_exclusion_begin(struct mpiio_exclusion *accesses, const struct vs_map *map,
                          int64_t position, int64_t length, bool writes,
                          struct mpiio_access *access)
{
    int error = 0;

    *access =
        (struct mpiio_access){.map = map, .position = position, .length = length, .writes = writes};
    set_range(access);
    join_accesses(accesses, access);
    if (access->start < access->end)
        access->shared_lock = find_shared(accesses, access);
    if (access->start < access->end && access->shared_lock == NULL)
        error = lock_file(accesses, access);
    if (error != 0)
        leave_accesses(accesses, access);
    return error;
}

/* Releases the lock of the file first. Then the next access of this process acquires a new one,
   so that other processes get their turn. */
void mpiio_exclusion_end(struct mpiio_exclusion *accesses, struct mpiio_access *access)
{
    if (access->shared_lock != NULL)
        let_go(accesses, access->shared_lock);
    leave_accesses(accesses, access);
}

void mpiio_exclusion_stats(struct mpiio_exclusion *accesses, struct mpiio_exclusion_stats *stats)
{
    *stats = MPIIO_LOCKED(&accesses->lock, accesses->stats);
}
