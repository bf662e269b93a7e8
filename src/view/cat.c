/* SPDX-License-Identifier: MIT */
#include "view.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "viewspec/base/integer.h"

/*
 * Gathering costs more than writing. So threads gather chunks ahead into a ring of buffers, and the
 * main thread writes them in order. A buffer stays in a core's cache until it is written.
 */
#define CHUNK       ((int64_t)1 << 20)
#define SLOTS       6
#define MAX_THREADS 4

struct slot {
    char *buffer;
    bool ready;   /* guarded by lock */
    int64_t size; /* bytes gathered, or a negative errno; guarded by lock */
};

/* Chunk number i is in slot i % SLOTS. */
struct ring {
    struct mpiio_slice *slice;
    int64_t begin, end; /* slice offsets, fixed */
    pthread_mutex_t lock;
    pthread_cond_t filled, freed;
    int64_t next;    /* first chunk that no thread gathers yet; guarded by lock */
    int64_t written; /* chunks before this one are written; guarded by lock */
    bool stop;       /* no further chunks are gathered; guarded by lock */
    struct slot slots[SLOTS];
};

static int64_t chunk_length(const struct ring *ring, int64_t chunk)
{
    return vs_min(ring->end - ring->begin - chunk * CHUNK, CHUNK);
}

static int64_t chunk_count(const struct ring *ring)
{
    return vs_ceil_div(ring->end - ring->begin, CHUNK);
}

/* Claims the next chunk once its slot is free. Returns -1 if there is none. */
static int64_t claim_chunk(struct ring *ring)
{
    int64_t chunk = -1;

    pthread_mutex_lock(&ring->lock);
    while (!ring->stop && ring->next < chunk_count(ring) && ring->next >= ring->written + SLOTS)
        pthread_cond_wait(&ring->freed, &ring->lock);
    if (!ring->stop && ring->next < chunk_count(ring))
        chunk = ring->next++;
    pthread_mutex_unlock(&ring->lock);
    return chunk;
}

static void *gather_chunk(void *argument)
{
    struct ring *ring = argument;
    int64_t chunk;

    while ((chunk = claim_chunk(ring)) >= 0) {
        struct slot *slot = &ring->slots[chunk % SLOTS];
        int64_t length = chunk_length(ring, chunk);
        ssize_t size = mpiio_slice_read(ring->slice, slot->buffer, (size_t)length,
                                        ring->begin + chunk * CHUNK);

        pthread_mutex_lock(&ring->lock);
        slot->size = size;
        slot->ready = true;
        /* The slice ends with a short chunk. */
        ring->stop = ring->stop || size < length;
        pthread_cond_signal(&ring->filled);
        pthread_mutex_unlock(&ring->lock);
    }
    return NULL;
}

/* Waits for a chunk and returns its size or a negative errno. It arrives, because chunks are
   claimed in order. */
static int64_t await_chunk(struct ring *ring, int64_t chunk)
{
    struct slot *slot = &ring->slots[chunk % SLOTS];

    pthread_mutex_lock(&ring->lock);
    while (!slot->ready)
        pthread_cond_wait(&ring->filled, &ring->lock);
    slot->ready = false;
    pthread_mutex_unlock(&ring->lock);
    return slot->size;
}

static void release_chunk(struct ring *ring, int64_t chunk)
{
    pthread_mutex_lock(&ring->lock);
    ring->written = chunk + 1;
    pthread_cond_broadcast(&ring->freed);
    pthread_mutex_unlock(&ring->lock);
}

/* Writes the chunks in order, until the slice ends. */
static int write_chunks(struct ring *ring, const char *file)
{
    struct view_progress progress;
    int64_t size = mpiio_slice_size(ring->slice), done = 0;
    int status = VIEW_DONE;

    size = vs_min(size, ring->end);
    view_progress_start(&progress, !isatty(STDOUT_FILENO), NULL, vs_max(size - ring->begin, 0));
    for (int64_t chunk = 0; chunk < chunk_count(ring) && !status; chunk++) {
        size = await_chunk(ring, chunk);
        if (size < 0) {
            view_progress_end(&progress);
            status = view_failed(file, size);
            break;
        }
        status = view_write_out(ring->slots[chunk % SLOTS].buffer, size);
        if (size < chunk_length(ring, chunk))
            break;
        done += size;
        view_progress_step(&progress, done);
        release_chunk(ring, chunk);
    }
    view_progress_end(&progress);
    return status;
}

static int allocate_slots(struct ring *ring)
{
    /* Allocate no more than the range needs, so that a small slice is cheap. */
    int64_t size = chunk_length(ring, 0);

    for (int64_t i = 0; i < SLOTS && i < chunk_count(ring); i++) {
        ring->slots[i].buffer = malloc((size_t)size);
        if (!ring->slots[i].buffer)
            return -ENOMEM;
    }
    return 0;
}

static int start_threads(struct ring *ring, pthread_t *threads, int *count)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int64_t wanted = vs_min(vs_max(2, vs_min(processors, MAX_THREADS)), chunk_count(ring));
    int error = 0;

    for (*count = 0; *count < wanted; ++*count) {
        error = pthread_create(&threads[*count], NULL, gather_chunk, ring);
        if (error)
            break;
    }
    return *count || !wanted ? 0 : -error;
}

static int copy_slice(struct ring *ring, const char *file)
{
    pthread_t threads[MAX_THREADS];
    int count = 0, status, error = allocate_slots(ring);

    if (!error)
        error = start_threads(ring, threads, &count);
    status = error ? view_failed(NULL, error) : write_chunks(ring, file);
    pthread_mutex_lock(&ring->lock);
    ring->stop = true;
    pthread_cond_broadcast(&ring->freed);
    pthread_mutex_unlock(&ring->lock);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < SLOTS; i++)
        free(ring->slots[i].buffer);
    return status;
}

/*
 * Returns the offset at which to stop. Without --length that is unlimited, so that a file that
 * grows meanwhile is followed. Only a slice that fits into one chunk is limited to its current
 * size, to save the threads' buffers.
 */
static int64_t choose_end(const struct view_args *args, struct mpiio_slice *slice)
{
    int64_t end = INT64_MAX - CHUNK, size = mpiio_slice_size(slice);

    if (args->length >= 0 && args->length < end - args->offset)
        end = args->offset + args->length;
    if (size >= 0 && size - args->offset < CHUNK && size < end)
        end = size > args->offset ? size : args->offset;
    return end > args->offset ? end : args->offset;
}

static int cat_slice(const struct view_args *args, const char *file, struct mpiio_store *store,
                     struct mpiio_slice *slice)
{
    struct ring ring = {
        .slice = slice,
        .begin = args->offset,
        .end = choose_end(args, slice),
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .filled = PTHREAD_COND_INITIALIZER,
        .freed = PTHREAD_COND_INITIALIZER,
    };

    (void)store;
    return copy_slice(&ring, file);
}

const struct view_command view_cat = {
    .name = "cat",
    .options = VIEW_TAKES_RANK | VIEW_TAKES_RANGE,
    .use = cat_slice,
    .flags = O_RDONLY,
    .summary = "the bytes of a slice, to standard output",
    .help = "Usage: mpiio-view cat SPEC -r RANK [-v VIEW] [--offset O] [--length L]\n"
            "Copies a slice to standard output, without a mount.\n"
            "\n"
            "  -r, --rank=RANK  whose slice\n"
            "  -v, --view=VIEW  which view, where the spec has several\n"
            "  --offset=O       begin at slice offset O (default 0)\n"
            "  --length=L       copy L bytes at most (default: to the end of the slice)\n"
            "\n"
            "Examples:\n"
            "  mpiio-view cat heat.json -r 2 | od -A d -t f8 | head\n"
            "  mpiio-view cat heat.json -r 2 --offset 1M --length 64k > piece\n",
};
