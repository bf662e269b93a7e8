/* SPDX-License-Identifier: MIT */
#ifndef SLICE_FIXTURE_H
#define SLICE_FIXTURE_H

/* A fixture for the tests of slices: unnamed files, views from text, and stores over files. */

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "spec_fixture.h"
#include "core/base/guard.h"
#include "core/slice_access.h"
#include "core/store_layers.h"
#include "core/store_private.h"

/* Returns an unlinked file in $TMPDIR or /tmp. */
static inline int make_file(void)
{
    const char *place = getenv("TMPDIR");
    char name[4096];
    int fd;

    snprintf(name, sizeof(name), "%s/mpiio-test-XXXXXX", place != NULL ? place : "/tmp");
    fd = mkstemp(name);
    assert_true(fd >= 0);
    assert_int_equal(unlink(name), 0);
    return fd;
}

static inline void write_file(int fd, const void *bytes, size_t length, int64_t displacement)
{
    assert_int_equal(pwrite(fd, bytes, length, displacement), length);
}

/* Makes a file with this path and content. */
static inline void make_named_file(const char *path, const void *bytes, size_t length)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

    assert_true(fd >= 0);
    write_file(fd, bytes, length, 0);
    close(fd);
}

static inline struct stat stat_of(int fd)
{
    struct stat st;

    assert_int_equal(fstat(fd, &st), 0);
    return st;
}

/* Limits the size of files. RLIM_INFINITY removes the limit. */
static inline void limit_file(rlim_t size)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    signal(SIGXFSZ, SIG_IGN);
    limit.rlim_cur = size < limit.rlim_max ? size : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static inline struct mpiio_store *open_store_for(int fd, int flags)
{
    struct mpiio_store *store = NULL;
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    assert_int_equal(mpiio_store_open(path, flags, &store), 0);
    return store;
}

static inline struct mpiio_slice *make_slice(struct mpiio_store *store, struct vs_view *view)
{
    struct mpiio_slice *slice = NULL;

    assert_int_equal(mpiio_slice_new(store, view, MPIIO_NARROW_REFUSE, &slice), 0);
    return slice;
}

/* A file of a test, with a store and perhaps a slice of it. */
struct opened {
    int fd;
    struct mpiio_store *store;
    struct mpiio_slice *slice;
};

/* Opens a new file with these flags, and makes a slice of it unless the view is NULL. */
static inline struct opened open_slice(int flags, struct vs_view *view)
{
    struct opened opened = {.fd = make_file()};

    opened.store = open_store_for(opened.fd, flags);
    if (view != NULL)
        opened.slice = make_slice(opened.store, view);
    return opened;
}

/* Closes a file of a test, unless it is closed. */
static inline void close_opened(struct opened *opened)
{
    if (opened->store != NULL)
        close(opened->fd);
    mpiio_slice_free(opened->slice);
    mpiio_store_close(opened->store);
    *opened = (struct opened){0};
}

/* Opens a second file description of an open file, for reading and writing. */
static inline int open_again(int fd)
{
    char path[64];
    int again;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    again = open(path, O_RDWR);
    assert_true(again >= 0);
    return again;
}

/* Writes to a slice. All bytes must be accepted. */
static inline void write_bytes(struct mpiio_slice *slice, const void *bytes, size_t length,
                               int64_t offset)
{
    assert_int_equal(mpiio_slice_write(slice, bytes, length, offset), length);
}

/* Checks that these bytes are read from a slice, and no fewer. */
static inline void expect_bytes(struct mpiio_slice *slice, const void *bytes, size_t length,
                                int64_t offset)
{
    char *found = malloc(length + 1);

    assert_non_null(found);
    assert_int_equal(mpiio_slice_read(slice, found, length, offset), length);
    assert_memory_equal(found, bytes, length);
    free(found);
}

/* Makes a view of endless runs of length bytes, stride apart. */
static inline struct vs_view *make_vector(int64_t disp, int64_t length, int64_t stride)
{
    return make_view("'disp': %" PRId64
                     ", 'filetype': {'type': 'resized', 'lb': 0, 'extent': %" PRId64
                     ", 'oldtype': {'type': 'contiguous', 'count': %" PRId64 "}}",
                     disp, stride, length);
}

/*
 * The guard's SIGBUS action. cmocka installs its own handler for each test and removes it
 * afterwards. So tests that truncate files restore this action first.
 */
static struct sigaction of_guard;

static inline void no_work(void *argument)
{
}

static inline void keep_guard(void)
{
    mpiio_guard_call(no_work, NULL, NULL, 0);
    sigaction(SIGBUS, NULL, &of_guard);
}

static inline void restore_guard(void)
{
    assert_int_equal(sigaction(SIGBUS, &of_guard, NULL), 0);
}

#endif
