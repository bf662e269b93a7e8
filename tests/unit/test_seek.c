/* SPDX-License-Identifier: MIT */
#include "random.h"
#include "slice_fixture.h"

#include <time.h>

#define PAGE  4096
#define PAGES 256

/* The pages that are data, as the simulated filesystem reports it. */
static bool is_data[PAGES];

/* Opens a view of a file that has data at random pages. */
static struct opened open_sparse_file(int64_t size, struct vs_view *view)
{
    static const char page[PAGE] = {1};
    struct opened file = open_slice(O_RDONLY, view);

    assert_int_equal(ftruncate(file.fd, size), 0);
    for (int i = 0; i < PAGES; i++)
        is_data[i] = false;
    for (int i = 0; i < 20; i++) {
        int first = below(PAGES);

        for (int k = first; k < PAGES && k < first + below(12) && (k + 1) * PAGE <= size; k++)
            write_file(file.fd, page, sizeof(page), (int64_t)k * PAGE);
    }
    for (int i = 0; i < PAGES && (int64_t)i * PAGE < size; i++)
        is_data[i] = lseek(file.fd, (int64_t)i * PAGE, SEEK_DATA) == (int64_t)i * PAGE;
    return file;
}

static int64_t walk(struct mpiio_slice *slice, int64_t offset, bool data)
{
    const struct vs_map *map = vs_view_map(mpiio_slice_view(slice));
    int64_t size = mpiio_slice_size(slice);

    if (offset < 0 || offset >= size)
        return -ENXIO;
    while (offset < size && is_data[vs_map_displacement(map, offset) / PAGE] != data)
        offset++;
    return offset < size || !data ? offset : -ENXIO;
}

static void check_seeks(struct mpiio_slice *slice)
{
    int64_t size = mpiio_slice_size(slice);

    for (int i = 0; i < 40; i++) {
        int64_t offset = below((int)size + 1);

        assert_int_equal(mpiio_slice_seek_data(slice, offset), walk(slice, offset, true));
        assert_int_equal(mpiio_slice_seek_hole(slice, offset), walk(slice, offset, false));
    }
    assert_int_equal(mpiio_slice_seek_data(slice, -1), -ENXIO);
    assert_int_equal(mpiio_slice_seek_hole(slice, -1), -ENXIO);
    assert_int_equal(mpiio_slice_seek_data(slice, size), -ENXIO);
    assert_int_equal(mpiio_slice_seek_hole(slice, size), -ENXIO);
}

/* Views of runs, and of rows of an array. */
TEST(test_against_walking)
{
    for (int i = 0; i < 80; i++) {
        int length = 1 + below(below(2) ? 100 : 30000);
        struct vs_view *view =
            i % 4 ? make_vector(below(5000), length, length + below(3 * length))
                  : make_view("'filetype': {'type': 'subarray', 'sizes': [4, 64, 1024], "
                              "'subsizes': [2, 20, 100], 'starts': [1, %d, %d], 'order': 'C'}",
                              below(44), below(924));
        struct opened file = open_sparse_file(PAGES * PAGE - below(20000), view);

        check_seeks(file.slice);
        close_opened(&file);
    }
}

/* If a view's order is not the file's, all of the view up to its end counts as data. */
TEST(test_unordered_view_is_data)
{
    struct opened file =
        open_sparse_file(PAGES * PAGE, make_view("'filetype': {'type': 'hindexed', 'blocklengths': "
                                                 "[1, 1, 10], 'displacements': [5, 5, 9]}"));

    assert_false(vs_map_facts(vs_view_map(mpiio_slice_view(file.slice)))->disjoint);
    assert_int_equal(mpiio_slice_seek_data(file.slice, 7), 7);
    assert_int_equal(mpiio_slice_seek_hole(file.slice, 7), mpiio_slice_size(file.slice));
    close_opened(&file);
}

/* 8 TB with two pages of data, found without walking all runs. */
TEST(test_large_sparse_file)
{
    const int64_t size = (int64_t)8 << 40;
    const int64_t first = (int64_t)3 << 40;
    const int64_t second = (int64_t)7 << 40;
    struct opened file = open_slice(O_RDONLY, make_vector(8, 8, 32));
    clock_t start = clock();

    if (ftruncate(file.fd, size) != 0)
        CANNOT_RUN("no files of 8 TB here");
    write_file(file.fd, "x", 1, first);
    write_file(file.fd, "x", 1, second);
    assert_int_equal(mpiio_slice_seek_data(file.slice, 0), first / 4);
    assert_int_equal(mpiio_slice_seek_hole(file.slice, 0), 0);
    assert_int_equal(mpiio_slice_seek_hole(file.slice, first / 4), first / 4 + PAGE / 4);
    assert_int_equal(mpiio_slice_seek_data(file.slice, first / 4 + PAGE / 4), second / 4);
    assert_int_equal(mpiio_slice_seek_data(file.slice, second / 4 + PAGE / 4), -ENXIO);
    assert_true((clock() - start) / CLOCKS_PER_SEC < 5);
    close_opened(&file);
}

BEFORE_TESTS
{
    srand(3);
}
