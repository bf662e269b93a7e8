/* SPDX-License-Identifier: MIT */
#ifndef WRITE_MODEL_H
#define WRITE_MODEL_H

/*
 * A model of a file that is written through a slice, with faults in the calls that change it. The
 * program is linked with --wrap for fallocate64, fstat64, lseek64 and pwrite64.
 */

#include "random.h"
#include "slice_fixture.h"

/* Faults that tests inject into the two calls that change the file. */
static int fallocate_error; /* 0: none */
static int pwrite_error;
static int pwrites_left; /* calls that succeed before pwrite_error */

WRAP(int, fallocate64, int fd, int mode, off_t displacement, off_t length)
{
    if (fallocate_error != 0) {
        errno = fallocate_error;
        return -1;
    }
    return __real_fallocate64(fd, mode, displacement, length);
}

WRAP(ssize_t, pwrite64, int fd, const void *buffer, size_t length, off_t displacement)
{
    if (pwrite_error != 0 && pwrites_left-- <= 0) {
        errno = pwrite_error;
        return -1;
    }
    return __real_pwrite64(fd, buffer, length, displacement);
}

/* The offset at which another writer appends a byte, far past the end, just after the size was
   queried. */
static int64_t other_writes_at; /* 0: it does not */

static int sizes_asked; /* how often the size was queried */

static inline void other_writes(int fd)
{
    sizes_asked++;
    if (other_writes_at != 0)
        assert_int_equal(__real_pwrite64(fd, "o", 1, other_writes_at), 1);
    other_writes_at = 0;
}

WRAP(int, fstat64, int fd, struct stat *st)
{
    int result = __real_fstat64(fd, st);

    other_writes(fd);
    return result;
}

WRAP(off_t, lseek64, int fd, off_t offset, int whence)
{
    off_t result = __real_lseek64(fd, offset, whence);

    if (whence == SEEK_END)
        other_writes(fd);
    return result;
}

/* The model: the file's expected bytes and length. */

#define MODEL_BYTES (4 << 20)

static struct model {
    struct opened file;
    int64_t positions; /* positions that the tests use */
    /* by position: the size of the file that shows it and all positions before it */
    int64_t *reach;
    int64_t size;
    unsigned char bytes[MODEL_BYTES];
} model;

static unsigned char seen[MODEL_BYTES];

static inline int model_free(void **state)
{
    close_opened(&model.file);
    free(model.reach);
    memset(&model, 0, sizeof(model));
    return 0;
}

TEST_GROUP(NULL, model_free)

/* Opens the file of a test in place of the previous one. */
static inline void model_start(struct vs_view *view, int64_t span)
{
    int64_t reach = 0;

    model_free(NULL);
    model.file = open_slice(O_RDWR, view);
    model.positions = vs_view_positions(view, span);
    model.reach = calloc((size_t)model.positions + 1, sizeof(int64_t));
    assert_non_null(model.reach);
    for (int64_t i = 0; i < model.positions; i++) {
        int64_t displacement = vs_map_displacement(vs_view_map(view), i);

        reach = displacement >= reach ? displacement + 1 : reach;
        model.reach[i] = reach;
    }
}

static inline void model_fill(int64_t size)
{
    fill_randomly(model.bytes, (size_t)size);
    write_file(model.file.fd, model.bytes, (size_t)size, 0);
    model.size = size;
}

static inline void model_check(void)
{
    assert_int_equal(stat_of(model.file.fd).st_size, model.size);
    assert_int_equal(pread(model.file.fd, seen, MODEL_BYTES, 0), model.size);
    if (memcmp(seen, model.bytes, (size_t)model.size) != 0) {
        int64_t i = 0;

        while (seen[i] == model.bytes[i])
            i++;
        fail_msg("displacement %" PRId64 " of %" PRId64 " is %d and should be %d", i, model.size,
                 seen[i], model.bytes[i]);
    }
}

/* Writes random bytes, reads them back through the slice, and updates the model. */
static inline void model_write(int64_t offset, size_t length, size_t skew)
{
    const struct vs_view *view = mpiio_slice_view(model.file.slice);
    int64_t etype = vs_view_facts(view)->etype_file_size;
    unsigned char *buffer = malloc(length + skew + 1);
    int64_t last;

    assert_non_null(buffer);
    fill_randomly(buffer + skew, length);
    for (size_t i = 0; i < length; i++) {
        int64_t displacement = vs_map_displacement(vs_view_map(view), offset + (int64_t)i);

        model.bytes[displacement] = buffer[skew + i];
    }
    write_bytes(model.file.slice, buffer + skew, length, offset);
    if (length > 0) {
        last = (offset + (int64_t)length - 1) / etype * etype + etype - 1;
        model.size = model.reach[last] > model.size ? model.reach[last] : model.size;
    }
    expect_bytes(model.file.slice, buffer + skew, length, offset);
    free(buffer);
}

#endif
