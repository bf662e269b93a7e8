/* SPDX-License-Identifier: MIT */
#include "slice_fixture.h"
#include "faults.h"
#include "threads.h"

#include <stdatomic.h>
#include <sys/stat.h>

/* Tests concurrent writers: threads of this process, and plain pwrite(2), as other programs use
   it. */

#define RUN 8

struct writer {
    int number;
    int fd;                    /* of plain writers */
    struct mpiio_slice *slice; /* NULL: uses pwrite */
    unsigned int seed;
};

/*
 * Four writers share the runs of 8 bytes. They write round by round, near each other. Before each
 * round a writer checks that its bytes of the last round are still there, so that a lost update
 * does not stay hidden.
 */

#define UPDATE_RUNS   5000 /* of each writer */
#define UPDATE_ROUNDS UNIT_ROUNDS(50)

static uint64_t of_writer[4][UPDATE_RUNS], seen_by[4][UPDATE_RUNS];
static uint64_t file_seen_by[4][4 * UPDATE_RUNS];

static uint64_t value_of(int number, int round, int run)
{
    return ((uint64_t)(unsigned int)number << 56) | ((uint64_t)(unsigned int)round << 32) |
           (uint64_t)(unsigned int)run;
}

/* Writes a writer's runs in pieces of random length, so that scattering and single calls both
   occur. */
static bool update_slice(struct writer *writer, const uint64_t *values)
{
    int run = 0;

    while (run < UPDATE_RUNS) {
        int runs = 1 + rand_r(&writer->seed) % (rand_r(&writer->seed) % 2 == 0 ? 4 : 3000);
        ssize_t length;

        runs = runs < UPDATE_RUNS - run ? runs : UPDATE_RUNS - run;
        length = (ssize_t)runs * RUN;
        if (mpiio_slice_write(writer->slice, values + run, (size_t)length, (int64_t)run * RUN) !=
            length)
            return false;
        run += runs;
    }
    return true;
}

static bool update_plainly(const struct writer *writer, const uint64_t *values)
{
    for (int run = 0; run < UPDATE_RUNS; run++)
        if (pwrite(writer->fd, &values[run], RUN, (run * 4 + writer->number) * RUN) != RUN)
            return false;
    return true;
}

/* Reads a writer's own runs from the file. */
static bool look(const struct writer *writer, uint64_t *values)
{
    uint64_t *file = file_seen_by[writer->number];
    ssize_t got;

    if (writer->slice != NULL) {
        got = mpiio_slice_read(writer->slice, values, sizeof(seen_by[0]), 0);
        return got == sizeof(seen_by[0]);
    }
    got = pread(writer->fd, file, sizeof(file_seen_by[0]), 0);
    for (int run = 0; run < UPDATE_RUNS; run++)
        values[run] = file[run * 4 + writer->number];
    return got >= (ssize_t)(sizeof(file_seen_by[0]) - 4 * RUN);
}

static void *update(void *argument)
{
    struct writer *writer = argument;
    uint64_t *values = of_writer[writer->number];
    uint64_t *seen = seen_by[writer->number];

    for (int round = 1; round <= UPDATE_ROUNDS; round++) {
        for (int run = 0; run < UPDATE_RUNS; run++)
            values[run] = value_of(writer->number, round, run);
        if (!(writer->slice != NULL ? update_slice(writer, values)
                                    : update_plainly(writer, values)) ||
            !look(writer, seen) || memcmp(seen, values, sizeof(seen_by[0])) != 0)
            return writer;
    }
    return NULL;
}

/* A million updates in all. They also make the file grow, so growing races, too. */
TEST(test_no_update_is_lost)
{
    static uint64_t found[4 * UPDATE_RUNS];
    struct opened file = open_slice(O_RDWR, NULL);
    struct writer writers[4];

    for (int i = 0; i < 4; i++) {
        writers[i] = (struct writer){.number = i, .fd = file.fd, .seed = (unsigned int)i};
        if (i % 2 == 1)
            writers[i].slice = make_slice(file.store, make_vector((int64_t)i * RUN, RUN, 4 * RUN));
    }
    run_threads(4, update, writers, sizeof(*writers));
    assert_int_equal(pread(file.fd, found, sizeof(found), 0), sizeof(found));
    for (int i = 0; i < 4 * UPDATE_RUNS; i++)
        if (found[i] != value_of(i % 4, UPDATE_ROUNDS, i / 4))
            fail_msg("update %d of writer %d is lost", i / 4, i % 4);
    for (int i = 0; i < 4; i++)
        mpiio_slice_free(writers[i].slice);
    close_opened(&file);
}

/* Growing. */

#define GROW_BYTES (3 << 20) /* of each writer */

static void *grow(void *argument)
{
    struct writer *writer = argument;
    static _Thread_local unsigned char bytes[200000];
    int64_t offset = 0;

    memset(bytes, 'a' + writer->number, sizeof(bytes));
    while (offset < GROW_BYTES) {
        ssize_t length = 1 + rand_r(&writer->seed) % (ssize_t)sizeof(bytes);

        length = length < GROW_BYTES - offset ? length : GROW_BYTES - offset;
        if (mpiio_slice_write(writer->slice, bytes, (size_t)length, offset) != length)
            return writer;
        offset += length;
    }
    return NULL;
}

static void check_grown(int fd, int64_t run)
{
    unsigned char *file = malloc((size_t)2 * GROW_BYTES + 1);

    assert_int_equal(pread(fd, file, (size_t)2 * GROW_BYTES + 1, 0), 2 * GROW_BYTES);
    for (int64_t i = 0; i < (int64_t)2 * GROW_BYTES; i++)
        if (file[i] != 'a' + i / run % 2)
            fail_msg("displacement %" PRId64 " is %d", i, file[i]);
    free(file);
}

/* Two stores, as two mounts have them, and one store. */
TEST(test_growing_at_once)
{
    static const int runs[] = {4, 64, 512, 1 << 13, 1 << 15};

    for (int i = 0; i < 10; i++) {
        int fd = make_file();
        struct mpiio_store *stores[2] = {open_store_for(fd, O_RDWR), open_store_for(fd, O_RDWR)};
        struct writer writers[2];

        for (int k = 0; k < 2; k++) {
            writers[k] = (struct writer){.number = k, .seed = (unsigned int)(10 * i + k)};
            writers[k].slice = make_slice(
                stores[i < 5 ? k : 0], make_vector(k * runs[i % 5], runs[i % 5], 2 * runs[i % 5]));
        }
        run_threads(2, grow, writers, sizeof(*writers));
        check_grown(fd, runs[i % 5]);
        for (int k = 0; k < 2; k++)
            mpiio_slice_free(writers[k].slice);
        mpiio_store_close(stores[0]);
        mpiio_store_close(stores[1]);
        close(fd);
    }
}

#define APPENDS UNIT_ROUNDS(2000)

/* Appends records of random length. Each begins with a mark, its writer and its length. */
static void *append(void *argument)
{
    struct writer *writer = argument;
    unsigned char record[100];

    for (int i = 0; i < APPENDS; i++) {
        int64_t offset = -1;
        int length = 4 + rand_r(&writer->seed) % 97;

        memset(record, 0x80 + writer->number, sizeof(record));
        record[0] = 1;
        record[1] = (unsigned char)length;
        if (mpiio_slice_append(writer->slice, record, (size_t)length, &offset) != length ||
            offset < 0)
            return writer;
    }
    return NULL;
}

TEST(test_appends_do_not_overlap)
{
    struct opened file = open_slice(O_RDWR, make_vector(0, 16, 48));
    static unsigned char bytes[4 * APPENDS * 100];
    struct writer writers[4];
    ssize_t got, place = 0;
    int records = 0;

    for (int i = 0; i < 4; i++)
        writers[i] = (struct writer){.number = i, .slice = file.slice, .seed = (unsigned int)i};
    run_threads(4, append, writers, sizeof(*writers));
    got = mpiio_slice_read(file.slice, bytes, sizeof(bytes), 0);
    assert_int_equal(got, mpiio_slice_size(file.slice));
    for (; place < got; records++) {
        int length = bytes[place + 1];

        assert_int_equal(bytes[place], 1);
        assert_in_range(length, 4, 100);
        for (int i = 3; i < length; i++)
            assert_int_equal(bytes[place + i], bytes[place + 2]);
        place += length;
    }
    assert_int_equal(place, got);
    assert_int_equal(records, 4 * APPENDS);
    close_opened(&file);
}

/* Truncation by another program. */

struct cutter {
    int fd;
    atomic_bool over;
};

static void *cut_often(void *argument)
{
    struct cutter *cutter = argument;
    unsigned int seed = 1;

    while (!atomic_load(&cutter->over)) {
        if (ftruncate(cutter->fd, rand_r(&seed) % (2 << 20)) != 0)
            abort();
        usleep(50);
    }
    return NULL;
}

static void write_while_cut(const struct opened *file)
{
    static unsigned char bytes[500000];
    struct cutter cutter = {.fd = file->fd};
    unsigned int seed = 2;
    pthread_t thread;

    atomic_init(&cutter.over, false);
    assert_int_equal(pthread_create(&thread, NULL, cut_often, &cutter), 0);
    for (int i = 0; i < UNIT_ROUNDS(300); i++) {
        size_t length = 1 + (size_t)rand_r(&seed) % sizeof(bytes);

        write_bytes(file->slice, bytes, length, rand_r(&seed) % 100000);
    }
    atomic_store(&cutter.over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

TEST(test_truncated_while_written)
{
    static const int runs[] = {4, 300, 20000};

    FAULTS_OR_RETURN();
    for (int i = 0; i < 3; i++) {
        struct opened file = open_slice(O_RDWR, make_vector(0, runs[i], 2 * runs[i]));
        static unsigned char bytes[500000];

        write_while_cut(&file);
        memset(bytes, i + 1, sizeof(bytes));
        write_bytes(file.slice, bytes, sizeof(bytes), 0);
        expect_bytes(file.slice, bytes, sizeof(bytes), 0);
        close_opened(&file);
    }
}

/*
 * A plain writer makes the file grow step by step, and leaves gaps. A slice's writer fills the gaps
 * as soon as the size shows them. ext4 clears the rest of the former last block after it has shown
 * the new size, so bytes stored through a mapping in between would be lost.
 */

#define STEP     64 /* runs that the file grows by at once; less than a block */
#define STEPS    UNIT_ROUNDS(20000)
#define GAP_RUNS (STEP * STEPS)

static void *grow_with_gaps(void *argument)
{
    struct writer *writer = argument;
    uint64_t value = 1;

    for (int64_t end = STEP; end <= GAP_RUNS; end += STEP)
        if (pwrite(writer->fd, &value, RUN, end * 4 * RUN - RUN) != RUN)
            return writer;
    return NULL;
}

TEST(test_gaps_filled_while_growing)
{
    static uint64_t ours[GAP_RUNS];
    struct opened file = open_slice(
        O_RDWR, make_view("'disp': 8, 'etype': 'double', 'filetype': {'type': 'resized', "
                          "'lb': 0, 'extent': 32}"));
    struct writer writer = {.fd = file.fd};
    int64_t done = 0, lost = 0;
    pthread_t thread;

    for (int i = 0; i < GAP_RUNS; i++)
        ours[i] = (uint64_t)i + 2;
    start_threads(&thread, 1, grow_with_gaps, &writer, sizeof(writer));
    while (done < GAP_RUNS * RUN) {
        int64_t size = mpiio_slice_size(file.slice);

        if (size > done) {
            write_bytes(file.slice, (char *)ours + done, (size_t)(size - done), done);
            done = size;
        }
    }
    join_threads(&thread, 1);
    for (int i = 0; i < GAP_RUNS; i++) {
        uint64_t value = 0;

        assert_int_equal(pread(file.fd, &value, RUN, (int64_t)i * 4 * RUN + RUN), RUN);
        lost += value != ours[i];
    }
    assert_int_equal(lost, 0);
    close_opened(&file);
}

BEFORE_TESTS
{
    keep_guard();
}
