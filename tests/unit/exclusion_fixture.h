/* SPDX-License-Identifier: MIT */
#ifndef EXCLUSION_FIXTURE_H
#define EXCLUSION_FIXTURE_H

/* Views whose accesses exclude each other in all ways, and shared steps of these tests. */

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "core/file/exclusion.h"
#include "slice_fixture.h"

#define VIEWS 6
#define LAST  (VIEWS - 1) /* the view that does not ascend, because its tiles interleave */

static const char *const view_keys[VIEWS] = {
    "'disp': 0",
    "'disp': 5",
    "'filetype': {'type': 'vector', 'count': 2, 'blocklength': 2, 'stride': 3}",
    "'filetype': {'type': 'indexed_block', 'blocklength': 1, 'displacements': [1, 4]}",
    "'disp': 3, 'filetype': {'type': 'vector', 'count': 3, 'blocklength': 1, 'stride': 2}",
    "'filetype': {'type': 'resized', 'lb': 0, 'extent': 2, 'oldtype': {'type': 'indexed_block', "
    "'blocklength': 1, 'displacements': [0, 5]}}",
};

static struct vs_view *views[VIEWS];
static struct mpiio_exclusion accesses;
static int file;

static inline int start(void **state)
{
    file = make_file();
    return mpiio_exclusion_init(&accesses, file, 0, true);
}

static inline int end(void **state)
{
    mpiio_exclusion_destroy(&accesses);
    close(file);
    return 0;
}

static inline void make_views(void)
{
    for (int i = 0; i < VIEWS; i++)
        views[i] = make_view("%s", view_keys[i]);
}

static inline void pause_a_moment(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

/* An access in a thread of its own, which holds it until the test ends it. */
struct accessor {
    pthread_t thread;
    struct mpiio_access access;
    const struct vs_map *map; /* NULL: all bytes from position on, as for an append */
    int64_t position, length;
    bool writes;
    atomic_bool has, go;
};

static inline void *access_file(void *argument)
{
    struct accessor *accessor = argument;

    if (mpiio_exclusion_begin(&accesses, accessor->map, accessor->position, accessor->length,
                              accessor->writes, &accessor->access) != 0)
        return NULL;
    atomic_store(&accessor->has, true);
    while (!atomic_load(&accessor->go))
        pause_a_moment();
    mpiio_exclusion_end(&accesses, &accessor->access);
    return NULL;
}

static inline void begin(struct accessor *accessor)
{
    assert_int_equal(pthread_create(&accessor->thread, NULL, access_file, accessor), 0);
}

/* Ends an access. It must have had its turn. */
static inline void finish(struct accessor *accessor)
{
    atomic_store(&accessor->go, true);
    assert_int_equal(pthread_join(accessor->thread, NULL), 0);
    assert_true(atomic_load(&accessor->has));
}

#endif
