/* SPDX-License-Identifier: MIT */
#include "folder_fixture.h"
#include "random_views.h"
#include "write_model.h"

#include <stdatomic.h>
#include <sys/stat.h>

static void check_one_view(struct vs_view *view, bool refuse, int64_t fill)
{
    int positions;

    model_start(view, 512 << 10);
    positions = (int)model.positions;
    atomic_store(&model.file.store->file->windows.refused, refuse);
    model_fill(fill);
    for (int i = 0; i < 12; i++) {
        int offset = below(positions);
        int most = below(3) == 0 ? positions : 300;
        int length = below(positions - offset < most ? positions - offset : most);

        model_write(i == 11 ? 0 : offset, (size_t)(i == 11 ? positions : length),
                    (size_t)below(64));
        if (i % 4 == 3)
            model_check();
    }
}

static void check_random_views(int views, bool refuse)
{
    for (int i = 0; i < views; i++)
        check_one_view(random_view(i), refuse, below(3) == 0 ? 0 : below(600 << 10));
}

TEST(test_random_writes_with_and_without_mapping)
{
    check_random_views(100, false);
    check_random_views(30, true);
}

TEST(test_random_writes_without_fallocate)
{
    static const int errors[] = {EOPNOTSUPP, ENOSYS};

    for (int i = 0; i < 2; i++) {
        fallocate_error = errors[i];
        check_random_views(30, false);
    }
    fallocate_error = 0;
}

/* Makes etypes with gaps, and tiles that lie within each other. The slice's order is not the
   file's. */
static struct vs_view *etype_view(int number)
{
    static const char *const views[] = {
        "'etype': 'double'",
        "'disp': 5, 'etype': {'type': 'struct', 'blocklengths': [1, 1], 'displacements': [0, 8], "
        "'types': ['char', 'double']}",
        "'etype': 'double', 'filetype': {'type': 'resized', 'lb': 0, 'extent': 32, 'oldtype': "
        "'etype'}",
        "'filetype': {'type': 'resized', 'lb': 0, 'extent': 2, 'oldtype': {'type': 'vector', "
        "'count': 2, 'blocklength': 1, 'stride': 5}}",
        "'etype': 'int', 'filetype': {'type': 'resized', 'lb': 0, 'extent': 8, 'oldtype': {'type': "
        "'vector', 'count': 2, 'blocklength': 1, 'stride': 1001}}",
    };

    return make_view("%s", views[number]);
}

TEST(test_etypes_and_interleaved_tiles)
{
    for (int i = 0; i < 20; i++) {
        check_one_view(etype_view(i % 5), i % 3 == 0, below(2) ? 0 : below(100000));
        fallocate_error = EOPNOTSUPP;
        check_one_view(etype_view(i % 5), i % 3 == 0, below(2) ? 0 : below(100000));
        fallocate_error = 0;
    }
}

TEST(test_partial_etype_at_the_end)
{
    /* With an etype of bytes, the file grows by exactly the bytes written. */
    model_start(make_vector(3, 8, 32), 1 << 20);
    model_write(0, 3, 0);
    assert_int_equal(model.size, 6);
    assert_int_equal(mpiio_slice_size(model.file.slice), 3);
    model_check();
    /* With an etype of doubles, it grows by a whole element. */
    model_start(etype_view(2), 1 << 20);
    model_write(17, 3, 0);
    assert_int_equal(model.size, 64 + 8);
    assert_int_equal(mpiio_slice_size(model.file.slice), 24);
    model_write(24, 1, 0);
    assert_int_equal(model.size, 96 + 8);
    model_check();
}

TEST(test_windows_edges_and_far_ends)
{
    struct opened file = open_slice(O_RDWR, make_vector(0, 1000, 1024));
    const struct vs_map *map = vs_view_map(mpiio_slice_view(file.slice));
    static unsigned char bytes[300000], back[300000];

    fill_randomly(bytes, sizeof(bytes));
    for (int i = MPIIO_WINDOW_COUNT + 3; i > 0; i--) {
        int64_t offset = vs_map_lower_bound(map, i * MPIIO_WINDOW_SIZE - 150000) + i;
        size_t length = i % 2 == 1 ? sizeof(bytes) : 20000;

        write_bytes(file.slice, bytes + i, length - 100, offset);
        expect_bytes(file.slice, bytes + i, length - 100, offset);
        /* The gaps are unchanged. */
        assert_int_equal(pread(file.fd, back, 24, i * MPIIO_WINDOW_SIZE - 24), 24);
        for (int k = 0; k < 24; k++)
            assert_int_equal(back[k], 0);
    }
    close_opened(&file);
}

TEST(test_what_may_not_be_written)
{
    struct opened file = open_slice(O_RDONLY, make_vector(0, 8, 32));
    int64_t offset = -1;

    assert_int_equal(mpiio_slice_write(file.slice, "x", 1, 0), -EBADF);
    assert_int_equal(mpiio_slice_append(file.slice, "x", 1, &offset), -EBADF);
    assert_int_equal(mpiio_slice_resize(file.slice, 100), -EBADF);
    assert_int_equal(mpiio_slice_reserve(file.slice, 0, 100), -EBADF);
    close_opened(&file);
    file = open_slice(O_RDWR, make_view("'filetype': {'type': 'resized', 'lb': 0, 'extent': 4, "
                                        "'oldtype': {'type': 'contiguous', 'count': 8}}"));
    assert_int_equal(mpiio_slice_write(file.slice, "x", 1, 0), -EINVAL);
    close_opened(&file);
    file = open_slice(O_RDWR, make_vector(0, 8, 32));
    assert_int_equal(mpiio_slice_write(file.slice, "x", 1, -1), -EINVAL);
    write_bytes(file.slice, "x", 0, 5);
    assert_int_equal(mpiio_slice_size(file.slice), 0);
    assert_int_equal(mpiio_slice_reserve(file.slice, 0, 0), -EINVAL);
    assert_int_equal(mpiio_slice_reserve(file.slice, 10, INT64_MAX), -EFBIG);
    assert_int_equal(mpiio_slice_resize(file.slice, -1), -EINVAL);
    close_opened(&file);
}

TEST(test_limits)
{
    struct opened file = open_slice(O_RDWR, make_vector(0, 8, 32));
    int64_t limit = vs_map_facts(vs_view_map(mpiio_slice_view(file.slice)))->limit;

    assert_int_equal(mpiio_slice_write(file.slice, "xy", 2, limit), -EFBIG);
    assert_int_equal(mpiio_slice_write(file.slice, "xy", 2, INT64_MAX), -EFBIG);
    /* Valid in the view, but too large for a filesystem. */
    assert_int_equal(mpiio_slice_write(file.slice, "xy", 2, limit - 1), -EFBIG);
    assert_int_equal(mpiio_slice_resize(file.slice, limit + 1), -EFBIG);
    assert_int_equal(mpiio_slice_resize(file.slice, INT64_MAX), -EFBIG);
    assert_int_equal(mpiio_slice_reserve(file.slice, limit, 1), -EFBIG);
    assert_int_equal(mpiio_slice_size(file.slice), 0);
    close_opened(&file);
    file = open_slice(O_RDWR, make_view("'filetype': {'type': 'contiguous', 'count': 0}"));
    assert_int_equal(mpiio_slice_write(file.slice, "xy", 2, 0), -EFBIG);
    assert_int_equal(mpiio_slice_size(file.slice), 0);
    close_opened(&file);
}

/* The present size is no error, however many bits it has. */
TEST(test_resize_to_present_size)
{
    struct opened file = open_slice(O_RDWR, make_vector(0, 8, 8));

    for (int64_t size = INT64_C(1) << 30; size <= INT64_C(1) << 33; size += INT64_C(1) << 30) {
        assert_int_equal(mpiio_slice_resize(file.slice, size), 0);
        assert_int_equal(mpiio_slice_resize(file.slice, size), 0);
        assert_int_equal(mpiio_slice_size(file.slice), size);
        assert_int_equal(mpiio_slice_resize(file.slice, size - 8), -EPERM);
    }
    close_opened(&file);
}

TEST(test_file_size_limit)
{
    unsigned char bytes[4096] = {1};

    model_start(make_vector(0, 8, 32), 1 << 20);
    limit_file(16 * 32 + 4);
    assert_int_equal(mpiio_slice_write(model.file.slice, bytes, sizeof(bytes), 0), 16 * 8 + 4);
    assert_int_equal(mpiio_slice_write(model.file.slice, bytes, sizeof(bytes), 16 * 8 + 4), -EFBIG);
    assert_int_equal(mpiio_slice_write(model.file.slice, bytes, 1, 4096), -EFBIG);
    assert_int_equal(mpiio_slice_resize(model.file.slice, 4096), -EFBIG);
    assert_int_equal(mpiio_slice_reserve(model.file.slice, 0, 4096), -EFBIG);
    limit_file(RLIM_INFINITY);
    write_bytes(model.file.slice, bytes, sizeof(bytes), 0);
}

TEST(test_error_in_the_middle)
{
    unsigned char bytes[2000];
    static unsigned char long_bytes[20080];

    model_start(make_vector(0, 100, 20000), 1 << 20);
    memset(bytes, 7, sizeof(bytes));
    pwrite_error = EIO;
    pwrites_left = 0;
    assert_int_equal(mpiio_slice_write(model.file.slice, bytes, sizeof(bytes), 0), -EIO);
    for (int i = 1; i < 20; i++) {
        pwrites_left = i;
        assert_int_equal(mpiio_slice_write(model.file.slice, bytes, sizeof(bytes), 50),
                         100 * i - 50);
    }
    pwrite_error = 0;
    write_bytes(model.file.slice, bytes, sizeof(bytes), 0);
    /* Runs that are queued for the mapping are written before a long run that fails. */
    model_start(
        make_view("'filetype': {'type': 'hindexed', 'blocklengths': [8,8,8,8,8,8,8,8,8,8,20000], "
                  "'displacements': [0,16,32,48,64,80,96,112,128,144,160]}"),
        1 << 20);
    model_fill(100000);
    pwrite_error = ENOSPC;
    pwrites_left = 1; /* only the first run's call succeeds */
    assert_int_equal(mpiio_slice_write(model.file.slice, long_bytes, sizeof(long_bytes), 0), 80);
    pwrite_error = 0;
}

/* Makes random ranges of an image: near each other or far apart, short or long. */
static size_t random_ranges(struct mpiio_range *ranges, size_t most, int64_t end)
{
    int64_t at = below(100);
    size_t count = 0;

    while (count < most) {
        int64_t length = below(20) == 0 ? 1 + below(40000) : 1 + below(30);

        if (at + length > end)
            break;
        ranges[count++] = (struct mpiio_range){at, length};
        at += length + 1 + (below(15) == 0 ? below(30000) : below(40));
    }
    return count;
}

TEST(test_ranges_of_an_image)
{
    static char image[1 << 20];
    static struct mpiio_range ranges[5000];
    struct mpiio_counters done = {0};

    for (int round = 0; round < UNIT_ROUNDS(40); round++) {
        int64_t displacement = below(2 << 20), end = 0;
        size_t count = random_ranges(ranges, 1 + (size_t)below(5000), sizeof(image));
        struct mpiio_transfer transfer = {.position = displacement,
                                          .buffer = image,
                                          .ranges = ranges,
                                          .count = count,
                                          .done = &done};

        model_start(make_view("'etype': 'char'"), 1 << 20);
        atomic_store(&model.file.store->file->windows.refused, round % 4 == 0);
        model_fill(below(3 << 20));
        fill_randomly(image, sizeof(image));
        for (size_t i = 0; i < count; i++) {
            end = ranges[i].start + ranges[i].length;
            memcpy(model.bytes + displacement + ranges[i].start, image + ranges[i].start,
                   (size_t)ranges[i].length);
        }
        if (count > 0 && displacement + end > model.size)
            model.size = displacement + end;
        model.file.store->file->ops->write_ranges(model.file.store->file, &transfer);
        assert_int_equal(transfer.bytes, end);
        assert_int_equal(transfer.error, 0);
        model_check();
    }
    assert_true(done.store_map_write_bytes > 0);
    assert_int_equal(done.store_reads + done.store_map_bytes, 0);
}

TEST(test_a_range_that_fails)
{
    static const struct mpiio_range ranges[] = {{5, 10}, {100, 20000}, {30000, 7}, {50000, 3}};
    static char image[1 << 16];
    struct mpiio_counters done = {0};
    struct mpiio_transfer transfer = {.buffer = image, .ranges = ranges, .done = &done};

    model_start(make_view("'etype': 'char'"), 1 << 20);
    model.file.store->file->ops->write_ranges(model.file.store->file, &transfer);
    assert_int_equal(transfer.bytes, 0);
    transfer.count = 4;
    pwrite_error = ENOSPC;
    for (int i = 0; i < 4; i++) {
        pwrites_left = i;
        model.file.store->file->ops->write_ranges(model.file.store->file, &transfer);
        assert_int_equal(transfer.bytes, ranges[i].start);
        assert_int_equal(transfer.error, -ENOSPC);
    }
    pwrite_error = 0;
    model.file.store->file->ops->write_ranges(model.file.store->file, &transfer);
    assert_int_equal(transfer.bytes, 50003);
}

TEST(test_resize)
{
    model_start(etype_view(2), 1 << 20);
    assert_int_equal(mpiio_slice_resize(model.file.slice, 0), 0);
    assert_int_equal(mpiio_slice_resize(model.file.slice, 100), 0);
    assert_int_equal(mpiio_slice_size(model.file.slice), 104);
    model.size = 12 * 32 + 8;
    model_check();
    assert_int_equal(mpiio_slice_resize(model.file.slice, 104), 0);
    assert_int_equal(mpiio_slice_resize(model.file.slice, 103), -EPERM);
    assert_int_equal(mpiio_slice_resize(model.file.slice, 0), -EPERM);
    model_check();
    fallocate_error = EOPNOTSUPP;
    assert_int_equal(mpiio_slice_resize(model.file.slice, 112), 0);
    model.size += 32;
    model_check();
    fallocate_error = ENOSPC;
    assert_int_equal(mpiio_slice_resize(model.file.slice, 1000), -ENOSPC);
    fallocate_error = 0;
    model_check();
}

static int64_t allocated(int fd)
{
    return stat_of(fd).st_blocks * 512;
}

TEST(test_reserve)
{
    int64_t size = (64 + (64 << 10)) / 8 * 32 - 24;

    model_start(make_vector(0, 8, 32), 1 << 20);
    assert_int_equal(mpiio_slice_reserve(model.file.slice, 64, 64 << 10), 0);
    model.size = size;
    model_check();
    assert_in_range(allocated(model.file.fd), 256 << 10, 300 << 10);
    model_fill(1000);
    model.size = size;
    assert_int_equal(mpiio_slice_reserve(model.file.slice, 0, 16), 0);
    model_check();
    fallocate_error = EOPNOTSUPP;
    assert_int_equal(mpiio_slice_reserve(model.file.slice, 0, 16), -EOPNOTSUPP);
    fallocate_error = 0;
    model_start(make_vector(0, 8, 100000), 1 << 20);
    assert_int_equal(mpiio_slice_reserve(model.file.slice, 0, 80), 0);
    model.size = 900008;
    model_check();
    assert_in_range(allocated(model.file.fd), 10 * 4096, 20 * 4096);
}

/* Bytes that are not written stay a hole. */
TEST(test_holes_stay)
{
    model_start(make_vector(0, 8, 32), MODEL_BYTES);
    model_write((MODEL_BYTES - 40000) / 4, 8000, 0);
    model_check();
    assert_in_range(allocated(model.file.fd), 1, 128 << 10);
}

/* Growing writes the last byte instead, but only if the file ends before it. */
TEST(test_growing_without_fallocate)
{
    static const int errors[] = {EOPNOTSUPP, ENOSYS, ENODEV};

    for (int i = 0; i < 3; i++) {
        struct opened opened = open_slice(O_RDWR, NULL);
        struct mpiio_file *file = opened.store->file;
        char last;

        fallocate_error = errors[i];
        assert_int_equal(file->ops->grow(file, 100), 0);
        write_file(opened.fd, "x", 1, 99);
        assert_int_equal(file->ops->grow(file, 50), 0);
        assert_int_equal(file->ops->grow(file, 100), 0);
        assert_int_equal(stat_of(opened.fd).st_size, 100);
        assert_int_equal(pread(opened.fd, &last, 1, 99), 1);
        assert_int_equal(last, 'x');
        fallocate_error = EIO;
        assert_int_equal(file->ops->grow(file, 200), -EIO);
        fallocate_error = 0;
        close_opened(&opened);
    }
}

/* No operation that works with an outdated size truncates the file. */
TEST(test_growing_never_cuts)
{
    static unsigned char bytes[4096];

    for (int step = 0; step < 8; step++) {
        struct vs_view *views[] = {make_vector(0, 8, 32), etype_view(2), make_vector(0, 8, 30000)};
        char byte = 0;

        model_start(views[step % 3], 512 << 10);
        vs_view_unref(views[(step + 1) % 3]);
        vs_view_unref(views[(step + 2) % 3]);
        fallocate_error = step / 3 == 1 ? EOPNOTSUPP : 0;
        other_writes_at = 3 << 20;
        if (step < 6)
            assert_int_equal(mpiio_slice_write(model.file.slice, bytes, 100 + 3, 0), 103);
        else if (step == 6)
            assert_int_equal(mpiio_slice_resize(model.file.slice, 1000), 0);
        else
            assert_int_equal(mpiio_slice_reserve(model.file.slice, 0, 1000), 0);
        /* Runs that are only written by calls need no query of the size. */
        assert_int_equal(other_writes_at != 0, step == 2 || step == 5);
        if (other_writes_at == 0) {
            assert_int_equal(pread(model.file.fd, &byte, 1, 3 << 20), 1);
            assert_int_equal(byte, 'o');
        }
        other_writes_at = 0;
        fallocate_error = 0;
    }
}

TEST(test_append)
{
    unsigned char bytes[100], back[100];
    int64_t offset = -1;

    model_start(make_vector(0, 8, 32), 1 << 20);
    for (int i = 0; i < 50; i++) {
        memset(bytes, i, sizeof(bytes));
        assert_int_equal(mpiio_slice_append(model.file.slice, bytes, 77, &offset), 77);
        assert_int_equal(offset, i * 77);
        assert_int_equal(mpiio_slice_read(model.file.slice, back, 100, offset), 77);
        assert_memory_equal(back, bytes, 77);
    }
}

/*
 * Four ranks write all of a file. Nothing is read, and each byte is stored once. The last one of
 * scattered runs is written by a call. So is the first one if nothing is appended, unless its page
 * is missing and the file's end is near.
 */
TEST(test_full_tiles_need_no_read)
{
    static const struct {
        int run;
        int calls; /* of all ranks */
        off_t size;
    } cases[] = {{8, 7, 0}, {512, 7, 0}, {64 << 10, 64, 0}, {8, 8, 64 << 20}, {8, 7, 5 << 20}};
    struct mpiio_counters counters;
    size_t length = 1 << 20;
    char *bytes = aligned_alloc(4096, length);

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct opened file = open_slice(O_RDWR, NULL);
        int run = cases[i].run;

        assert_int_equal(ftruncate(file.fd, cases[i].size), 0);
        for (int rank = 0; rank < 4; rank++) {
            struct mpiio_slice *slice =
                make_slice(file.store, make_vector(rank * run, run, 4 * run));

            memset(bytes, 'a' + rank, length);
            write_bytes(slice, bytes, length, 0);
            mpiio_slice_free(slice);
        }
        mpiio_store_counters(file.store, &counters);
        assert_int_equal(counters.store_reads, 0);
        assert_int_equal(counters.store_map_bytes, 0);
        assert_int_equal(counters.slice_writes, 4);
        assert_int_equal(counters.slice_write_bytes, 4 * length);
        assert_int_equal(counters.store_write_bytes + counters.store_map_write_bytes, 4 * length);
        assert_int_equal(counters.store_writes, cases[i].calls);
        for (int64_t k = 0; k < 4 * (int64_t)length; k += 997) {
            assert_int_equal(pread(file.fd, bytes, 1, k), 1);
            assert_int_equal(bytes[0], 'a' + k / run % 4);
        }
        close_opened(&file);
    }
    free(bytes);
}

static bool is_later(struct timespec a, struct timespec b)
{
    return a.tv_sec > b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec > b.tv_nsec);
}

/* Holds also if every page is already dirty, and for every way of writing. */
TEST(test_every_write_moves_the_times)
{
    static const int runs[] = {8, 700, 20000};
    static unsigned char bytes[100000];

    for (int i = 0; i < 3; i++) {
        model_start(make_vector(0, runs[i], 2 * runs[i]), 1 << 20);
        write_bytes(model.file.slice, bytes, sizeof(bytes), 0);
        for (int k = 0; k < UNIT_ROUNDS(200); k++) {
            struct timespec before = stat_of(model.file.fd).st_ctim;

            assert_true(mpiio_slice_write(model.file.slice, bytes, 1 + (size_t)below(sizeof(bytes)),
                                          0) > 0);
            assert_true(is_later(stat_of(model.file.fd).st_ctim, before));
            if (k % 50 == 49)
                assert_int_equal(mpiio_store_sync(model.file.store, k == 49), 0);
        }
    }
}

TEST(test_open_to_create, make_folder, remove_folder)
{
    char path[300];
    struct mpiio_store *store = NULL;
    struct stat st;
    mode_t mask = umask(022);

    snprintf(path, sizeof(path), "%s/file", folder);
    assert_int_equal(mpiio_store_open(path, O_RDWR, &store), -ENOENT);
    assert_int_equal(mpiio_store_open(path, O_RDWR | O_CREAT, &store), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0644);
    assert_int_equal(mpiio_store_open(path, O_RDWR | O_CREAT | O_EXCL, &store), -EEXIST);
    mpiio_store_close(store);
    umask(mask);
    assert_int_equal(unlink(path), 0);
}

BEFORE_TESTS
{
    srand(3);
    keep_guard();
}
