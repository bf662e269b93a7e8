/* SPDX-License-Identifier: MIT */
#ifndef SLICE_FIXTURE_H
#define SLICE_FIXTURE_H

/* A fixture for the tests of slices: unnamed files, views from text, and stores over files. */

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "spec_fixture.h"
#include "core/base/guard.h"
#include "core/slice_access.h"
#include "core/store_layers.h"
#include "core/store_private.h"

/* Returns an unlinked file in $TMPDIR or /tmp. */
static inline int make_file(void)
{
    const char *folder = getenv("TMPDIR");
    char name[4096];
    int fd;

    snprintf(name, sizeof(name), "%s/mpiio-test-XXXXXX", folder != NULL ? folder : "/tmp");
    fd = mkstemp(name);
    assert_true(fd >= 0);
    assert_int_equal(unlink(name), 0);
    return fd;
}

static inline void write_file(int fd, const void *bytes, size_t length, int64_t displacement)
{
    assert_int_equal(pwrite(fd, bytes, length, displacement), length);
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

static inline struct mpiio_store *open_store(int fd)
{
    return open_store_for(fd, O_RDONLY);
}

/* Makes a view over bytes from the JSON text of its filetype, or of several keys of the view. */
__attribute__((format(printf, 1, 2))) static inline struct vs_view *make_view(const char *format,
                                                                              ...)
{
    char keys[8192];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(keys, sizeof(keys), format, arguments);
    va_end(arguments);
    return view_from(0, NULL, "{\"viewspec\": 1, \"file\": \"f\", \"view\": {%s}}", keys);
}

static inline struct mpiio_slice *make_slice(struct mpiio_store *store, struct vs_view *view)
{
    struct mpiio_slice *slice = NULL;

    assert_int_equal(mpiio_slice_new(store, view, MPIIO_NARROW_REFUSE, &slice), 0);
    return slice;
}

static inline void close_all(struct mpiio_slice *slice, struct mpiio_store *store, int fd)
{
    mpiio_slice_free(slice);
    mpiio_store_close(store);
    close(fd);
}

/* Makes a view of endless runs of length bytes, stride apart. */
static inline struct vs_view *make_vector(int64_t disp, int64_t length, int64_t stride)
{
    return make_view("\"disp\": %" PRId64 ", \"filetype\": {\"type\": \"resized\", \"lb\": 0, "
                     "\"extent\": %" PRId64 ", \"oldtype\": {\"type\": \"contiguous\", "
                     "\"count\": %" PRId64 "}}",
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
