/* SPDX-License-Identifier: MIT */
#include "random_views.h"
#include "faults.h"
#include "threads.h"

#include <stdatomic.h>
#include <sys/stat.h>

#include "core/store_layers.h"

#define FILE_BYTES (300 << 10)

static unsigned char content[FILE_BYTES];

/* Opens a file that has the content, for reading. */
static struct opened open_content(struct vs_view *view)
{
    struct opened file = open_slice(O_RDONLY, view);

    write_file(file.fd, content, sizeof(content), 0);
    return file;
}

/* Compares a read with the file, byte by byte, by vs_map_displacement. */
static void check_read(struct mpiio_slice *slice, int64_t offset, size_t length, size_t skew)
{
    const struct vs_map *map = vs_view_map(mpiio_slice_view(slice));
    int64_t size = mpiio_slice_size(slice);
    int64_t want = size - offset < (int64_t)length ? size - offset : (int64_t)length;
    unsigned char *buffer = malloc(length + skew + 1);
    ssize_t got;

    assert_non_null(buffer);
    buffer[skew + length] = 0x5a;
    got = mpiio_slice_read(slice, buffer + skew, length, offset);
    assert_int_equal(got, want > 0 ? want : 0);
    for (int64_t i = 0; i < want; i++) {
        int64_t displacement = vs_map_displacement(map, offset + i);

        if (buffer[skew + i] != content[displacement])
            fail_msg("offset %" PRId64 " + %" PRId64, offset, i);
    }
    assert_int_equal(buffer[skew + length], 0x5a);
    free(buffer);
}

static void check_random_views(bool refuse_mapping)
{
    for (int i = 0; i < 200; i++) {
        struct opened file = open_content(random_view(i));
        int size = (int)mpiio_slice_size(file.slice);

        atomic_store(&file.store->file->windows.refused, refuse_mapping);
        check_read(file.slice, 0, (size_t)size + 10, 0);
        for (int j = 0; j < 10; j++) {
            check_read(file.slice, below(size + 2), (size_t)below(below(2) ? 100 : size + 2),
                       (size_t)below(64));
        }
        close_opened(&file);
    }
}

TEST(test_random_views_with_and_without_mapping)
{
    check_random_views(false);
    check_random_views(true);
}

/* sysfs has regular files that report a size but do not support mmap. */
TEST(test_filesystem_without_mapping)
{
    struct mpiio_store *store = NULL;
    struct mpiio_counters counters;
    struct mpiio_slice *slice;
    unsigned char whole[4096], packed[4096];
    ssize_t size, got;

    if (mpiio_store_open("/sys/kernel/notes", O_RDONLY, &store) != 0 ||
        mpiio_store_size(store) < 16) {
        mpiio_store_close(store);
        CANNOT_RUN("no /sys/kernel/notes here");
    }
    size = pread(mpiio_store_fd(store), whole, sizeof(whole), 0);
    slice = make_slice(store, make_vector(0, 2, 6));
    got = mpiio_slice_read(slice, packed, sizeof(packed), 0);
    assert_true(got >= size / 6 * 2);
    for (ssize_t i = 0; i < got && i / 2 * 6 + i % 2 < size; i++)
        assert_int_equal(packed[i], whole[i / 2 * 6 + i % 2]);
    mpiio_store_counters(store, &counters);
    assert_true(counters.store_reads <= 2);
    assert_int_equal(counters.store_map_bytes, 0);
    mpiio_slice_free(slice);
    mpiio_store_close(store);
}

TEST(test_end_of_slice)
{
    struct opened file = open_content(make_vector(3, 8, 32));
    int64_t size = mpiio_slice_size(file.slice);
    unsigned char *buffer = malloc((size_t)size); /* AddressSanitizer sees bytes behind it */

    assert_int_equal(size, (FILE_BYTES - 3) / 32 * 8 + 8);
    assert_int_equal(mpiio_slice_read(file.slice, buffer, SIZE_MAX, size - 5), 5);
    assert_int_equal(mpiio_slice_read(file.slice, buffer, SIZE_MAX, 0), size);
    assert_int_equal(mpiio_slice_read(file.slice, buffer, 10, size), 0);
    assert_int_equal(mpiio_slice_read(file.slice, buffer, 10, INT64_MAX), 0);
    assert_int_equal(mpiio_slice_read(file.slice, buffer, 0, 0), 0);
    assert_int_equal(mpiio_slice_read(file.slice, buffer, 10, -1), -EINVAL);
    free(buffer);
    close_opened(&file);
}

TEST(test_file_grows_and_shrinks)
{
    struct opened file = open_slice(O_RDONLY, make_vector(0, 8, 32));

    restore_guard();
    check_read(file.slice, 0, 100, 0);
    for (size_t size = 1000; size < FILE_BYTES; size += 17777) {
        write_file(file.fd, content, size, 0);
        check_read(file.slice, 0, FILE_BYTES, 1);
    }
    write_file(file.fd, content, FILE_BYTES, 0);
    for (int size = FILE_BYTES; size > 0; size -= 7777) {
        assert_int_equal(ftruncate(file.fd, size), 0);
        check_read(file.slice, 0, FILE_BYTES, 1);
    }
    close_opened(&file);
}

/* A run across the edge of a window, more windows than are kept, and a window that contains the
   end of the file. */
TEST(test_windows)
{
    const int windows = MPIIO_WINDOW_COUNT + 5;
    struct opened file = open_slice(O_RDONLY, make_vector(0, 1000, 1024));
    const struct vs_map *map = vs_view_map(mpiio_slice_view(file.slice));
    unsigned char buffer[5000];

    for (int pass = 0; pass < 2; pass++) {
        for (int i = 1; i <= windows; i++) {
            int64_t edge = i * MPIIO_WINDOW_SIZE - 300;

            write_file(file.fd, content + i, 5000, edge - 2000);
        }
        for (int i = 1; i <= windows; i++) {
            int64_t first = i * MPIIO_WINDOW_SIZE - 2300;
            int64_t offset = vs_map_lower_bound(map, first);
            ssize_t got = mpiio_slice_read(file.slice, buffer + pass, 4000, offset);

            assert_true(got >= 3000);
            for (ssize_t k = 0; k < got; k++) {
                int64_t place = vs_map_displacement(map, offset + k) - first;

                assert_int_equal(buffer[pass + k], place < 5000 ? content[i + place] : 0);
            }
        }
    }
    close_opened(&file);
}

/* A run that spans several windows. The buffer's alignment makes the read use windows. */
TEST(test_run_longer_than_a_window)
{
    const size_t length = (size_t)MPIIO_WINDOW_SIZE + 100000;
    struct opened file = open_slice(O_RDONLY, make_view("'disp': 0"));
    struct mpiio_counters counters;
    unsigned char *buffer = calloc(1, length + 1);

    write_file(file.fd, content, FILE_BYTES, MPIIO_WINDOW_SIZE - FILE_BYTES / 2);
    assert_int_equal(mpiio_slice_read(file.slice, buffer + 1, length, 0), length);
    assert_memory_equal(buffer + 1 + MPIIO_WINDOW_SIZE - FILE_BYTES / 2, content,
                        FILE_BYTES / 2 + 100000);
    mpiio_store_counters(file.store, &counters);
    assert_int_equal(counters.store_map_bytes, length);
    free(buffer);
    close_opened(&file);
}

static struct mpiio_counters count_read(struct vs_view *view, int64_t skew, bool refuse)
{
    struct opened file = open_content(view);
    struct mpiio_counters counters;
    char *buffer = aligned_alloc(4096, 512 << 10);
    ssize_t size = mpiio_slice_size(file.slice);

    atomic_store(&file.store->file->windows.refused, refuse);
    assert_int_equal(mpiio_slice_read(file.slice, buffer + skew, 256 << 10, 0), size);
    mpiio_store_counters(file.store, &counters);
    assert_int_equal(counters.slice_reads, 1);
    assert_int_equal(counters.slice_read_bytes, size);
    assert_int_equal(counters.store_read_bytes + (refuse ? 0 : counters.store_map_bytes),
                     refuse ? counters.store_read_bytes : (uint64_t)size);
    free(buffer);
    close_opened(&file);
    return counters;
}

TEST(test_counters_show_the_plan)
{
    /* Dense: all bytes come from a mapping, without a read call. */
    assert_int_equal(count_read(make_vector(0, 8, 32), 0, false).store_reads, 0);
    /* Sparse: one read call for each run. */
    assert_int_equal(count_read(make_vector(0, 8, 30 << 10), 0, false).store_reads, 10);
    /* Long: one read call for each run if the buffer is aligned with it, else from the mapping. */
    assert_int_equal(count_read(make_vector(0, 20 << 10, 30 << 10), 0, false).store_reads, 10);
    assert_int_equal(count_read(make_vector(0, 20 << 10, 30 << 10), 8, false).store_reads, 0);
    /* Without a mapping: blocks of 256 KiB. */
    assert_int_equal(count_read(make_vector(0, 8, 32), 0, true).store_reads, 2);
    assert_in_range(count_read(make_vector(0, 8, 32), 0, true).store_read_bytes, FILE_BYTES - 64,
                    FILE_BYTES);
}

/* Truncation by another thread. */

#define RACE_BYTES (4 << 20)

struct race {
    int fd;
    unsigned int seed;
    atomic_bool over;
};

static void *shrink(void *argument)
{
    struct race *race = argument;
    int64_t size = RACE_BYTES;

    while (size > 0) {
        size -= rand_r(&race->seed) % 100000;
        if (ftruncate(race->fd, size > 0 ? size : 0) != 0)
            abort();
        usleep(20);
    }
    atomic_store(&race->over, true);
    return NULL;
}

/* The file only shrinks, and holds no zeros. So a zero that is read was never in the file. */
static void race_round(const struct opened *file, unsigned char *buffer, unsigned int seed)
{
    struct race race = {.fd = file->fd, .seed = seed};
    unsigned char *full = malloc(RACE_BYTES);
    pthread_t thread;
    size_t skew = seed % 2;

    memset(full, 0xa5, RACE_BYTES);
    write_file(file->fd, full, RACE_BYTES, 0);
    free(full);
    atomic_init(&race.over, false);
    assert_int_equal(pthread_create(&thread, NULL, shrink, &race), 0);
    while (!atomic_load(&race.over)) {
        int64_t before = mpiio_slice_size(file->slice);
        ssize_t got = mpiio_slice_read(file->slice, buffer + skew, RACE_BYTES, 0);

        assert_in_range(got, 0, before);
        for (ssize_t i = 0; i < got; i++)
            if (buffer[skew + i] != 0xa5)
                fail_msg("byte %zd of %zd is %d", i, got, buffer[skew + i]);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(mpiio_slice_read(file->slice, buffer, RACE_BYTES, 0), 0);
}

TEST(test_truncated_while_read)
{
    unsigned char *buffer = aligned_alloc(4096, RACE_BYTES + 4096);
    struct vs_view *views[] = {make_vector(0, 8, 32),     make_vector(0, 700, 900),
                               make_vector(5, 40, 20000), make_vector(0, 20000, 24000),
                               make_vector(0, 64, 64),    make_vector(3, 3, 4)};

    FAULTS_OR_RETURN();
    for (unsigned int i = 0; i < 30; i++) {
        struct opened file = open_slice(O_RDONLY, vs_view_ref(views[i % 6]));

        race_round(&file, buffer, i);
        close_opened(&file);
    }
    unref_views(views, 6);
    free(buffer);
}

/* Threads share the windows and the counters. */
struct reader {
    struct mpiio_slice *slice;
    int number;
};

static void *read_much(void *argument)
{
    struct reader *reader = argument;
    const struct vs_map *map = vs_view_map(mpiio_slice_view(reader->slice));
    unsigned int seed = (unsigned int)reader->number;

    for (int i = 0; i < 300; i++) {
        int64_t mark = 1 + rand_r(&seed) % (2 * MPIIO_WINDOW_COUNT);
        unsigned char byte = 0;
        int64_t offset = vs_map_lower_bound(map, mark * MPIIO_WINDOW_SIZE / 2);

        if (mpiio_slice_read(reader->slice, &byte, 1, offset) != 1 || byte != mark)
            return reader;
    }
    return NULL;
}

TEST(test_threads)
{
    struct opened file = open_slice(O_RDONLY, make_vector(0, 8, 32));
    struct mpiio_counters counters;
    struct reader readers[4];

    for (int i = 1; i <= 2 * MPIIO_WINDOW_COUNT; i++) {
        unsigned char mark[32] = {(unsigned char)i};

        write_file(file.fd, mark, sizeof(mark), i * MPIIO_WINDOW_SIZE / 2);
    }
    for (int i = 0; i < 4; i++)
        readers[i] = (struct reader){.slice = file.slice, .number = i};
    run_threads(4, read_much, readers, sizeof(*readers));
    mpiio_store_counters(file.store, &counters);
    assert_int_equal(counters.slice_reads, 1200);
    assert_int_equal(counters.slice_read_bytes, 1200);
    close_opened(&file);
}

TEST(test_open)
{
    struct mpiio_store *store = NULL;
    char fifo[] = "/tmp/mpiio-fifo-XXXXXX";

    assert_int_equal(mpiio_store_open("/", O_RDONLY, &store), -EISDIR);
    assert_int_equal(mpiio_store_open("/dev/null", O_RDONLY, &store), -EINVAL);
    assert_int_equal(mpiio_store_open("/no/such", O_RDONLY, &store), -ENOENT);
    assert_non_null(mkdtemp(fifo));
    assert_int_equal(rmdir(fifo), 0);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(mpiio_store_open(fifo, O_RDONLY, &store), -EINVAL);
    assert_int_equal(unlink(fifo), 0);
    assert_null(store);
    mpiio_store_close(NULL);
    mpiio_slice_free(NULL);
}

TEST(test_a_read_ends_at_the_end_of_the_file_or_fails)
{
    struct mpiio_counters done = {0};
    int fd = make_file();
    char bytes[8];

    write_file(fd, "abc", 3, 0);
    assert_int_equal(mpiio_file_pread_all(fd, bytes, sizeof(bytes), 1, &done), 2);
    assert_memory_equal(bytes, "bc", 2);
    assert_int_equal(done.store_read_bytes, 2);
    assert_int_equal(mpiio_file_pread_all(-1, bytes, sizeof(bytes), 1, &done), -EBADF);
    assert_int_equal(done.store_read_bytes, 2);
    close(fd);
}

/* Rows of a matrix on both sides of a window's edge, and one across it. The last row ends at the
   file's end. */
TEST(test_columns_over_windows)
{
    enum { ROWS = 640, WIDTH = 65600, COLUMNS = 30 };
    const int64_t disp = MPIIO_WINDOW_SIZE - 511 * (int64_t)WIDTH - 100;
    static unsigned char all[ROWS * COLUMNS * 8], got[sizeof(all)], want[sizeof(all)];
    struct opened file = open_slice(
        O_RDONLY,
        make_view(
            "'disp': %d, 'etype': 'double', 'memory': 'Fortran', 'tiles': 1, 'filetype': {'type': "
            "'subarray', 'sizes': [%d, %d], 'subsizes': [%d, %d], 'starts': [0, 0], 'order': 'C'}",
            (int)disp, ROWS, WIDTH / 8, ROWS, COLUMNS));
    struct mpiio_counters counters;

    fill_randomly(all, sizeof(all));
    for (int row = 0; row < ROWS; row++)
        write_file(file.fd, all + row * COLUMNS * 8, (size_t)COLUMNS * 8,
                   disp + row * (int64_t)WIDTH);
    for (int row = 0; row < ROWS; row++)
        for (int column = 0; column < COLUMNS; column++)
            memcpy(want + (column * ROWS + row) * 8, all + (row * COLUMNS + column) * 8, 8);
    assert_int_equal(mpiio_slice_read(file.slice, got, sizeof(got), 0), sizeof(got));
    assert_memory_equal(got, want, sizeof(want));
    /* Only the row that crosses the edge between windows is read by system calls. */
    mpiio_store_counters(file.store, &counters);
    assert_int_equal(counters.store_reads, COLUMNS);
    assert_int_equal(counters.store_map_bytes, sizeof(got) - COLUMNS * 8);
    for (int i = 0; i < 200; i++) {
        int from = below((int)sizeof(got)), count = 1 + below((int)sizeof(got) - from);

        atomic_store(&file.store->file->windows.refused, i % 10 == 0);
        expect_bytes(file.slice, want + from, (size_t)count, from);
    }
    close_opened(&file);
}

BEFORE_TESTS
{
    srand(2);
    fill_randomly(content, sizeof(content));
    keep_guard();
}
