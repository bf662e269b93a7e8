/* SPDX-License-Identifier: MIT */
/* Counts how often reads and writes query the file's size, and checks that they notice when it
   changes. */
#include "write_model.h"

/* A read within the file queries the size once, or twice if it uses a mapping. A write through a
   mapping queries it once, other writes do not. */
TEST(test_sizes_that_are_asked_for)
{
    static const struct {
        int64_t run, offset;
        int reads, writes;
    } cases[] = {{8, 0, 2, 1}, {4096, 0, 1, 0}, {4096, 1000, 1, 0}, {40000, 100000, 1, 0}};
    static unsigned char bytes[1000];

    for (int i = 0; i < 4; i++) {
        int64_t size;

        model_start(make_vector(0, cases[i].run, 2 * cases[i].run), MODEL_BYTES);
        model_fill(MODEL_BYTES / 2);
        size = mpiio_slice_size(model.file.slice);
        /* The first read may map a window. */
        assert_int_equal(mpiio_slice_read(model.file.slice, bytes, 1000, cases[i].offset), 1000);
        sizes_asked = 0;
        assert_int_equal(mpiio_slice_read(model.file.slice, bytes, 1000, cases[i].offset), 1000);
        assert_int_equal(sizes_asked, cases[i].reads);
        sizes_asked = 0;
        write_bytes(model.file.slice, bytes, 1000, cases[i].offset);
        assert_int_equal(sizes_asked, cases[i].writes);
        /* At the end of the file, its size may have changed either way. */
        assert_int_equal(ftruncate(model.file.fd, MODEL_BYTES), 0);
        assert_int_equal(mpiio_slice_read(model.file.slice, bytes, 10, size), 10);
        assert_int_equal(ftruncate(model.file.fd, MODEL_BYTES / 2), 0);
        assert_int_equal(mpiio_slice_read(model.file.slice, bytes, 10, size - 3), 3);
        assert_int_equal(mpiio_slice_read(model.file.slice, bytes, 10, size), 0);
    }
}
