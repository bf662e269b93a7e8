/* SPDX-License-Identifier: MIT */
#include "prefetch.h"

#include <stdlib.h>

#include "fusefs/base/memory.h"
#include "core/base/thread.h"
#include "fusefs/base/options.h"

/* The number and size of the parts that are read ahead. Together they fill two pages of 2 MiB. */
#define PARTS     4
#define PART_SIZE FS_READ_MAX

enum part_state { UNUSED, WANTED, FILLED };

struct part {
    enum part_state state;
    off_t offset;
    size_t length;   /* length of the data in bytes */
    uint64_t stored; /* value of all->stored when the part was read */
    char *bytes;     /* used by the reading thread until the part is filled */
};

struct fs_prefetch {
    struct fs_task task; /* queued while parts are wanted; lock: the fifo's */
    struct fs_prefetchers *all;
    struct fs_fifo *fifo;
    const struct fs_prefetch_kind *kind;
    void *file; /* a reference */

    pthread_mutex_t lock; /* protects the fields below */
    pthread_cond_t changed;
    unsigned references;
    bool working;             /* the task is queued, and has a reference */
    bool busy;                /* a request uses bytes of a part */
    off_t next;               /* the end of the last request */
    unsigned first;           /* index of the part that contains next */
    struct part parts[PARTS]; /* consecutive, beginning with the first */
    uint64_t forgotten;       /* number of times that the parts were discarded */
    char *memory;             /* memory of the parts; NULL: not allocated yet */
};

/* Returns the first part that has not been read yet, or NULL. Lock held. */
static struct part *next_wanted(struct fs_prefetch *prefetch)
{
    assert(mpiio_is_held(&prefetch->lock));
    for (unsigned i = 0; i < PARTS; i++) {
        struct part *part = &prefetch->parts[(prefetch->first + i) % PARTS];

        if (part->state == WANTED)
            return part;
    }
    return NULL;
}

/* Reads a part. Lock held, but released during the read. */
static void fill_part(struct fs_prefetch *prefetch, struct part *part)
{
    uint64_t forgotten = prefetch->forgotten;
    uint64_t stored = atomic_load(&prefetch->all->stored);
    off_t offset = part->offset;
    ssize_t got;

    pthread_mutex_unlock(&prefetch->lock);
    got = prefetch->kind->read(prefetch->all->session, prefetch->file, part->bytes, PART_SIZE,
                               offset);
    pthread_mutex_lock(&prefetch->lock);
    if (prefetch->forgotten != forgotten)
        return;
    part->state = FILLED;
    part->stored = stored;
    part->length = got > 0 ? (size_t)got : 0;
    pthread_cond_broadcast(&prefetch->changed);
}

/* Drops a reference. Lock held; releases the lock. */
static void put_locked(struct fs_prefetch *prefetch)
{
    bool last = --prefetch->references == 0;

    pthread_mutex_unlock(&prefetch->lock);
    if (!last)
        return;
    if (prefetch->memory != NULL)
        atomic_fetch_sub(&prefetch->all->active, 1);
    free(prefetch->memory);
    prefetch->kind->put(prefetch->all->session, prefetch->file);
    pthread_cond_destroy(&prefetch->changed);
    pthread_mutex_destroy(&prefetch->lock);
    free(prefetch);
}

void fs_prefetch_put(struct fs_prefetch *prefetch)
{
    if (prefetch == NULL)
        return;
    pthread_mutex_lock(&prefetch->lock);
    put_locked(prefetch);
}

static void run_prefetch(void *data, struct fs_task *task)
{
    struct fs_prefetch *prefetch = (struct fs_prefetch *)task;
    struct part *part;

    (void)data;
    pthread_mutex_lock(&prefetch->lock);
    while (prefetch->references > 1 && (part = next_wanted(prefetch)) != NULL)
        fill_part(prefetch, part);
    prefetch->working = false;
    put_locked(prefetch);
}

int fs_prefetch_start(struct fs_prefetchers *all, struct fs_session *session, unsigned most)
{
    int error = 0;

    all->session = session;
    all->most = most;
    while (all->count < FS_PREFETCH_THREADS && error == 0) {
        fs_fifo_init(&all->fifos[all->count], run_prefetch, NULL);
        error = fs_fifo_start(&all->fifos[all->count]);
        if (error != 0)
            fs_fifo_free(&all->fifos[all->count]);
        else
            all->count++;
    }
    return error;
}

void fs_prefetch_stop(struct fs_prefetchers *all)
{
    while (all->count > 0) {
        struct fs_fifo *fifo = &all->fifos[--all->count];

        fs_fifo_stop(fifo);
        fs_fifo_free(fifo);
    }
}

struct fs_prefetch *fs_prefetch_new(struct fs_prefetchers *all, const struct fs_prefetch_kind *kind,
                                    void *file)
{
    struct fs_prefetch *prefetch = malloc(sizeof(*prefetch));

    if (prefetch == NULL)
        return NULL;
    *prefetch =
        (struct fs_prefetch){.all = all,
                             .fifo = &all->fifos[atomic_fetch_add(&all->turn, 1) % all->count],
                             .kind = kind,
                             .file = file,
                             .references = 1,
                             .next = -1};
    pthread_mutex_init(&prefetch->lock, NULL);
    pthread_cond_init(&prefetch->changed, NULL);
    return prefetch;
}

/*
 * Allocates the memory if needed. Returns false if too many handles have such memory already. Lock
 * held.
 */
static bool has_memory(struct fs_prefetch *prefetch)
{
    assert(mpiio_is_held(&prefetch->lock));
    if (prefetch->memory != NULL)
        return true;
    if (atomic_fetch_add(&prefetch->all->active, 1) < prefetch->all->most)
        prefetch->memory = fs_buffer_new((size_t)PARTS * PART_SIZE);
    if (prefetch->memory == NULL) {
        atomic_fetch_sub(&prefetch->all->active, 1);
        return false;
    }
    for (unsigned i = 0; i < PARTS; i++)
        prefetch->parts[i].bytes = prefetch->memory + (size_t)i * PART_SIZE;
    return true;
}

/* Discards all parts. No request may be using their bytes. Lock held. */
static void forget(struct fs_prefetch *prefetch)
{
    assert(mpiio_is_held(&prefetch->lock));
    prefetch->forgotten++;
    for (unsigned i = 0; i < PARTS; i++)
        prefetch->parts[i].state = UNUSED;
    pthread_cond_broadcast(&prefetch->changed);
}

/* Queues the task that reads the wanted parts. Lock held. */
static void go(struct fs_prefetch *prefetch)
{
    assert(mpiio_is_held(&prefetch->lock));
    if (prefetch->working)
        return;
    prefetch->working = true;
    prefetch->references++;
    if (fs_fifo_put(prefetch->fifo, &prefetch->task) != 0) { /* the daemon is stopping */
        prefetch->working = false;
        prefetch->references--;
        forget(prefetch);
    }
}

/* Replaces all parts by parts from offset on. Lock held. */
static void want(struct fs_prefetch *prefetch, off_t offset)
{
    assert(mpiio_is_held(&prefetch->lock));
    forget(prefetch);
    prefetch->first = 0;
    for (unsigned i = 0; i < PARTS; i++) {
        prefetch->parts[i].state = WANTED;
        prefetch->parts[i].offset = offset + (off_t)i * PART_SIZE;
    }
    go(prefetch);
}

/*
 * If the first part has been read completely, reuses it for the data after the last part. Lock
 * held.
 */
static void go_on(struct fs_prefetch *prefetch, off_t next)
{
    struct part *part = &prefetch->parts[prefetch->first];

    assert(mpiio_is_held(&prefetch->lock));
    if (next < part->offset + PART_SIZE)
        return;
    part->state = WANTED;
    part->offset += (off_t)PARTS * PART_SIZE;
    prefetch->first = (prefetch->first + 1) % PARTS;
    go(prefetch);
}

/*
 * Waits until the first part is filled. Returns the bytes if it contains them and they are current,
 * else NULL. Lock held.
 */
static const char *find_part(struct fs_prefetch *prefetch, size_t size, off_t offset)
{
    struct part *part = &prefetch->parts[prefetch->first];

    while (part->state == WANTED)
        pthread_cond_wait(&prefetch->changed, &prefetch->lock);
    if (part->state != FILLED || prefetch->busy || offset < part->offset ||
        part->stored != atomic_load(&prefetch->all->stored) ||
        offset + (off_t)size > part->offset + (off_t)part->length)
        return NULL;
    return part->bytes + (offset - part->offset);
}

const char *fs_prefetch_take(struct fs_prefetch *prefetch, size_t size, off_t offset)
{
    const char *bytes = NULL;

    pthread_mutex_lock(&prefetch->lock);
    prefetch->references++;
    if (!prefetch->busy && offset == prefetch->next)
        bytes = find_part(prefetch, size, offset);
    prefetch->busy |= bytes != NULL;
    atomic_fetch_add(&prefetch->all->taken, bytes != NULL);
    pthread_mutex_unlock(&prefetch->lock);
    return bytes;
}

void fs_prefetch_done(struct fs_prefetch *prefetch, size_t size, off_t offset, ssize_t got,
                      bool taken)
{
    off_t next = offset + (off_t)size;

    pthread_mutex_lock(&prefetch->lock);
    if (taken) {
        prefetch->busy = false;
        go_on(prefetch, next);
    } else if (!prefetch->busy && offset == prefetch->next && got == (ssize_t)size &&
               has_memory(prefetch)) {
        want(prefetch, next);
    } else if (!prefetch->busy) {
        forget(prefetch);
    }
    prefetch->next = next;
    put_locked(prefetch);
}
