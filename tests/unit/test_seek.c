/* SPDX-License-Identifier: MIT */
#include "cannot_run.h"
#include "slice_fixture.h"

#include <time.h>

#define PAGE  4096
#define PAGES 256

/* The pages that are data, as the simulated filesystem reports it. */
static bool is_data[PAGES];

static int below(int limit)
{
    return rand() % limit;
}

static int make_sparse_file(int64_t size)
{
    static const char page[PAGE] = {1};
    int fd = make_file();

    assert_int_equal(ftruncate(fd, size), 0);
    for (int i = 0; i < PAGES; i++)
        is_data[i] = false;
    for (int i = 0; i < 20; i++) {
        int first = below(PAGES);

        for (int k = first; k < PAGES && k < first + below(12) && (k + 1) * PAGE <= size; k++)
            write_file(fd, page, sizeof(page), (int64_t)k * PAGE);
    }
    for (int i = 0; i < PAGES && (int64_t)i * PAGE < size; i++)
        is_data[i] = lseek(fd, (int64_t)i * PAGE, SEEK_DATA) == (int64_t)i * PAGE;
    return fd;
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

TEST(test_against_walking)
{
    for (int i = 0; i < 60; i++) {
        int fd = make_sparse_file(PAGES * PAGE - below(20000));
        struct mpiio_store *store = open_store(fd);
        int length = 1 + below(below(2) ? 100 : 30000);
        struct mpiio_slice *slice =
            make_slice(store, make_vector(below(5000), length, length + below(3 * length)));

        check_seeks(slice);
        close_all(slice, store, fd);
    }
}

TEST(test_rows_of_an_array)
{
    for (int i = 0; i < 20; i++) {
        int fd = make_sparse_file(PAGES * PAGE);
        struct mpiio_store *store = open_store(fd);
        struct mpiio_slice *slice = make_slice(
            store,
            make_view("\"filetype\": {\"type\": \"subarray\", \"sizes\": [4, 64, 1024], "
                      "\"subsizes\": [2, 20, 100], \"starts\": [1, %d, %d], \"order\": \"C\"}",
                      below(44), below(924)));

        check_seeks(slice);
        close_all(slice, store, fd);
    }
}

/* If a view's order is not the file's, all of the view up to its end counts as data. */
TEST(test_unordered_view_is_data)
{
    int fd = make_sparse_file(PAGES * PAGE);
    struct mpiio_store *store = open_store(fd);
    struct mpiio_slice *slice = make_slice(
        store, make_view("\"filetype\": {\"type\": \"hindexed\", \"blocklengths\": [1, 1, 10], "
                         "\"displacements\": [5, 5, 9]}"));

    assert_false(vs_map_facts(vs_view_map(mpiio_slice_view(slice)))->disjoint);
    assert_int_equal(mpiio_slice_seek_data(slice, 7), 7);
    assert_int_equal(mpiio_slice_seek_hole(slice, 7), mpiio_slice_size(slice));
    close_all(slice, store, fd);
}

/* 8 TB with two pages of data, found without walking all runs. */
TEST(test_large_sparse_file)
{
    const int64_t size = (int64_t)8 << 40;
    const int64_t first = (int64_t)3 << 40;
    const int64_t second = (int64_t)7 << 40;
    int fd = make_file();
    struct mpiio_store *store = open_store(fd);
    struct mpiio_slice *slice = make_slice(store, make_vector(8, 8, 32));
    clock_t start = clock();

    if (ftruncate(fd, size) != 0)
        CANNOT_RUN("no files of 8 TB here");
    write_file(fd, "x", 1, first);
    write_file(fd, "x", 1, second);
    assert_int_equal(mpiio_slice_seek_data(slice, 0), first / 4);
    assert_int_equal(mpiio_slice_seek_hole(slice, 0), 0);
    assert_int_equal(mpiio_slice_seek_hole(slice, first / 4), first / 4 + PAGE / 4);
    assert_int_equal(mpiio_slice_seek_data(slice, first / 4 + PAGE / 4), second / 4);
    assert_int_equal(mpiio_slice_seek_data(slice, second / 4 + PAGE / 4), -ENXIO);
    assert_true((clock() - start) / CLOCKS_PER_SEC < 5);
    close_all(slice, store, fd);
}

BEFORE_TESTS
{
    srand(3);
}
