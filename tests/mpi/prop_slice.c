/* SPDX-License-Identifier: MIT */
/*
 * Tests slices of random trees in all representations. The model reads bytes at the model's
 * displacements and converts the values one by one. The values to be written come from a second
 * file. So the expected bytes after a write are known without a conversion back.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "core/slice.h"
#include "prop_oracle.h"

struct sample {
    struct tt_pool pool;
    const struct tt_model *model;
    struct mpiio_slice *slice;
    enum vs_datarep datarep;
    int fd;
    int64_t positions, length; /* positions that the file shows; length of the slice */
    /* each of model->file_size bytes: the file's contents, and another file's */
    unsigned char *file, *other;
    unsigned char *native, *replace; /* the slices of these two */
    unsigned char *buffer;
};

/* Converts one value, or one part of a complex value: reverses the bytes, and extends the sign. */
static void convert(const struct sample *sample, const struct tt_basic *basic, int stored,
                    const unsigned char *from, unsigned char *to)
{
    int parts = strstr(basic->name, "complex") ? 2 : 1;
    int native = basic->size / parts, file = stored / parts;
    bool negative = strcmp(basic->name, "long") == 0 && from[0] >= 128;

    for (int i = 0; i < parts; i++) {
        memset(to + i * native, negative ? 0xff : 0, (size_t)native);
        for (int b = 0; b < file; b++) {
            bool reversed = sample->datarep != VS_NATIVE && sample->datarep != VS_LITTLE_ENDIAN;

            to[i * native + b] = from[i * file + (reversed ? file - 1 - b : b)];
        }
    }
}

static void slice_of(const struct sample *sample, const unsigned char *file, unsigned char *native)
{
    const struct tt_model *model = sample->model;
    unsigned char value[32];

    for (int64_t position = 0, i = 0; position < sample->positions; i++) {
        int number = model->etype.entries[i % model->etype.count].basic;
        int stored = tt_basic_size(&model->etype_env, number);

        for (int b = 0; b < stored; b++)
            value[b] = file[model->displacements[position + b]];
        convert(sample, &tt_basics[number], stored, value, native);
        native += tt_basics[number].size;
        position += stored;
    }
}

/* Returns true if values may lose bits: 80 bits of x87 are fewer than binary128 has in
   external32. */
static bool loses_bits(const struct sample *sample)
{
    const struct tt_map *etype = &sample->model->etype;

    for (int64_t i = 0; i < etype->count && sample->datarep == VS_EXTERNAL32; i++)
        if (strstr(tt_basics[etype->entries[i].basic].name, "long_double"))
            return true;
    return false;
}

static void random_bytes(unsigned char *to, int64_t length, uint64_t *random)
{
    for (int64_t i = 0; i < length; i++)
        to[i] = (unsigned char)(tt_random(random) >> 32);
}

static void random_range(const struct sample *sample, uint64_t *random, int64_t *from,
                         int64_t *length)
{
    *from = (int64_t)(tt_random(random) % (uint64_t)sample->length);
    *length = 1 + (int64_t)(tt_random(random) % (uint64_t)(sample->length - *from));
    if (*length > 40 && tt_random(random) % 2)
        *length %= 40;
}

static bool check_read(struct prop_state *state, const struct sample *sample, int64_t from,
                       int64_t length, const char *when)
{
    int64_t got = mpiio_slice_read(sample->slice, sample->buffer, (size_t)length, from);

    if (got != length)
        return prop_fail(state, PROP_SLICE, "%s: %" PRId64 "+%" PRId64 " reads %" PRId64, when,
                         from, length, got);
    for (int64_t i = 0; i < length; i++)
        if (sample->buffer[i] != sample->native[from + i])
            return prop_fail(state, PROP_SLICE, "%s: slice offset %" PRId64 " is %d, not %d", when,
                             from + i, sample->buffer[i], sample->native[from + i]);
    return true;
}

static bool write_range(struct prop_state *state, const struct sample *sample, int64_t from,
                        int64_t length)
{
    int64_t put = mpiio_slice_write(sample->slice, sample->replace + from, (size_t)length, from);

    if (put != length)
        return prop_fail(state, PROP_SLICE, "%" PRId64 "+%" PRId64 " writes %" PRId64, from, length,
                         put);
    memcpy(sample->native + from, sample->replace + from, (size_t)length);
    return true;
}

/* Checks the file after all was written: the slice shows the other file's bytes, and all else is
   unchanged. */
static void check_file(struct prop_state *state, const struct sample *sample)
{
    const struct tt_model *model = sample->model;
    int64_t got;

    for (int64_t i = 0; i < sample->positions; i++)
        sample->file[model->displacements[i]] = sample->other[model->displacements[i]];
    got = pread(sample->fd, sample->other, (size_t)model->file_size, 0);
    if (got != model->file_size)
        prop_fail(state, PROP_SLICE, "the file has %" PRId64 " bytes, not %" PRId64, got,
                  model->file_size);
    for (int64_t i = 0; i < got && !state->failed; i++)
        if (sample->other[i] != sample->file[i])
            prop_fail(state, PROP_SLICE, "displacement %" PRId64 " is %d, not %d", i,
                      sample->other[i], sample->file[i]);
}

static void check(struct prop_state *state, const struct sample *sample, uint64_t *random)
{
    int64_t from, length, offset;

    check_read(state, sample, 0, sample->length, "at first");
    for (int i = 0; i < 4 && !state->failed; i++) {
        random_range(sample, random, &from, &length);
        check_read(state, sample, from, length, "in part");
    }
    if (!mpiio_slice_is_writable(sample->slice))
        return;
    for (int i = 0; i < 4 && !state->failed; i++) {
        random_range(sample, random, &from, &length);
        if (write_range(state, sample, from, length))
            check_read(state, sample, 0, sample->length, "written in part");
    }
    if (state->failed || !write_range(state, sample, 0, sample->length))
        return;
    if (mpiio_slice_settle(sample->slice, false, &offset, &length) != 0)
        prop_fail(state, PROP_SLICE, "slice offset %" PRId64 " is still torn", offset);
    if (check_read(state, sample, 0, sample->length, "all written"))
        check_file(state, sample);
}

static bool fill(struct sample *sample, uint64_t *random)
{
    size_t size = (size_t)sample->model->file_size;

    sample->file = tt_alloc(&sample->pool, size);
    sample->other = tt_alloc(&sample->pool, size);
    sample->native = tt_alloc(&sample->pool, (size_t)sample->length);
    sample->replace = tt_alloc(&sample->pool, (size_t)sample->length);
    sample->buffer = tt_alloc(&sample->pool, (size_t)sample->length);
    random_bytes(sample->file, (int64_t)size, random);
    random_bytes(sample->other, (int64_t)size, random);
    slice_of(sample, sample->file, sample->native);
    slice_of(sample, sample->other, sample->replace);
    return pwrite(sample->fd, sample->file, size, 0) == (ssize_t)size;
}

void prop_check_slice(struct prop_state *state, const struct tt_model *model, struct vs_view *view,
                      uint64_t *random)
{
    struct sample sample = {.model = model, .datarep = vs_view_facts(view)->datarep};
    struct mpiio_store *store;
    char path[64];

    sample.positions = tt_model_shown(model, model->file_size);
    sample.length =
        model->etype_size ? sample.positions / model->etype_size * model->etype_native : 0;
    if (sample.length == 0 || loses_bits(&sample))
        return;
    state->done[PROP_SLICE]++;
    sample.fd = memfd_create("slice", MFD_CLOEXEC);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", sample.fd);
    if (sample.fd < 0 || !fill(&sample, random) || mpiio_store_open(path, O_RDWR, &store) != 0 ||
        mpiio_slice_new(store, vs_view_ref(view), MPIIO_NARROW_REFUSE, &sample.slice) != 0)
        abort();
    check(state, &sample, random);
    mpiio_slice_free(sample.slice);
    mpiio_store_close(store);
    close(sample.fd);
    tt_free(&sample.pool);
}
