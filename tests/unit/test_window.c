/* SPDX-License-Identifier: MIT */
/* Tests which reads are gathered from windows and which use read calls, by counts. */
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <time.h>

#include "slice_fixture.h"

#define MIB         ((int64_t)1 << 20)
#define KEPT        (MPIIO_WINDOW_COUNT * MPIIO_WINDOW_SIZE)
#define UNPROBED    MPIIO_WINDOW_SIZE /* displacement of a window that counts no faults */
#define READ_LENGTH (256 << 10)

static char buffer[READ_LENGTH] __attribute__((aligned(4096)));

static struct opened file;

/* Makes a file of size bytes that is one hole, with runs of length at stride. Its windows count
   as expensive. */
static void open_file(int64_t size, int64_t length, int64_t stride)
{
    file.fd = make_file();
    assert_int_equal(ftruncate(file.fd, size), 0);
    file.store = open_store_for(file.fd, O_RDONLY);
    file.slice = make_slice(file.store, make_vector(UNPROBED, length, stride));
    atomic_store(&file.store->file->windows.dear, true);
}

static int close_file(void **state)
{
    close_opened(&file);
    return 0;
}

static struct mpiio_counters read_at(int64_t offset)
{
    struct mpiio_counters counters;

    assert_int_equal(mpiio_slice_read(file.slice, buffer, sizeof(buffer), offset), sizeof(buffer));
    mpiio_store_counters(file.store, &counters);
    return counters;
}

/* Runs that lie far apart are read through windows that stay mapped, and through cheap ones. */
TEST(test_sparse_runs_in_windows)
{
    static const struct {
        const char *name;
        int64_t size;
        bool dear;
        int64_t offset;
        uint64_t mapped;
    } cases[] = {
        {"a file that stays mapped", MPIIO_WINDOW_FEW * MPIIO_WINDOW_SIZE, true, 0, READ_LENGTH},
        {"a longer file", MPIIO_WINDOW_FEW * MPIIO_WINDOW_SIZE + 1, true, 0, 0},
        {"from within a run", KEPT + 1, true, 64, 0},
        {"a window that is cheap", KEPT + 1, false, 0, READ_LENGTH},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        uint64_t mapped;

        open_file(cases[i].size, 4096, 16384);
        atomic_store(&file.store->file->windows.dear, cases[i].dear);
        mapped = read_at(cases[i].offset).store_map_bytes;
        if (mapped != cases[i].mapped)
            fail_msg("%s: %" PRIu64 " bytes are mapped", cases[i].name, mapped);
        close_opened(&file);
    }
}

/*
 * Short random reads use windows if those are kept and the page cache has the pages around.
 * Otherwise they read blocks.
 */
TEST(test_short_reads)
{
    for (int way = 0; way < 3; way++) {
        bool longer = way == 1, cached = way != 2;
        struct mpiio_counters counters;

        open_file(KEPT + longer, 64, 256);
        for (int64_t i = 0; i < 10; i++) {
            int64_t displacement = UNPROBED + i * 3 * MPIIO_WINDOW_SIZE;

            write_file(file.fd, buffer, cached ? MPIIO_WINDOW_PART : 1 << 10, displacement);
            for (int again = 0; again < 2; again++)
                assert_int_equal(mpiio_slice_read(file.slice, buffer, 4096,
                                                  (displacement - UNPROBED) / 4 + again * 8192),
                                 4096);
        }
        mpiio_store_counters(file.store, &counters);
        assert_int_equal(counters.store_map_bytes, way == 0 ? 20 * 4096 : 0);
        assert_int_equal(counters.store_reads, way == 0 ? 0 : 20);
        close_opened(&file);
    }
}

/* Calls would also read the gaps. That costs more than an expensive window. */
TEST(test_dense_runs, NULL, close_file)
{
    struct mpiio_counters counters;

    open_file(KEPT + 1, 64, 256);
    counters = read_at(0);
    assert_int_equal(counters.store_map_bytes, READ_LENGTH);
    assert_int_equal(counters.store_reads, 0);
    atomic_store(&file.store->file->windows.refused, true);
    counters = read_at(0);
    assert_int_equal(counters.store_map_bytes, READ_LENGTH);
    assert_int_equal(counters.store_reads, 4);
    assert_int_equal(counters.store_read_bytes, MIB - 192);
}

/* A second reader, or a reader that comes back, uses the windows that are already mapped. */
TEST(test_window_that_is_read_again, NULL, close_file)
{
    struct mpiio_counters counters = {0};

    open_file(KEPT + 1, 4096, 16384);
    for (int64_t at = 0; at < MPIIO_WINDOW_SIZE / 4; at += READ_LENGTH)
        counters = read_at(at);
    assert_int_equal(counters.store_map_bytes, 0);
    read_at(0);
    counters = read_at(READ_LENGTH);
    assert_true(counters.store_map_bytes >= READ_LENGTH);
    /* Reading on does not clear that mark. */
    read_at(MPIIO_WINDOW_SIZE / 4);
    assert_true(atomic_load(&file.store->file->windows.again));
}

/* If windows are read only once, their benefit is forgotten. */
TEST(test_windows_that_are_read_once, NULL, close_file)
{
    atomic_bool *again;

    open_file(2 * KEPT + MPIIO_WINDOW_SIZE, 64, 256);
    again = &file.store->file->windows.again;
    atomic_store(again, true);
    for (int i = 0; i < MPIIO_WINDOW_COUNT; i++)
        read_at(i * MPIIO_WINDOW_SIZE / 4);
    assert_true(atomic_load(again));
    read_at(MPIIO_WINDOW_COUNT * MPIIO_WINDOW_SIZE / 4);
    assert_false(atomic_load(again));
}

/* Returns true if the byte is known to be in the page cache. An in-memory filesystem does not
   report that. */
static bool is_cached(int fd, int64_t displacement)
{
    struct iovec byte = {.iov_base = buffer, .iov_len = 1};

    return preadv2(fd, &byte, 1, displacement, RWF_NOWAIT) == 1;
}

/* Runs of whole pages, far apart. Blocks would also read all bytes between them. */
TEST(test_sparse_runs, NULL, close_file)
{
    struct mpiio_counters counters;

    open_file(KEPT + 1, 4096, 16384);
    for (int64_t at = 0; at < MIB; at += READ_LENGTH)
        assert_int_equal(pread(mpiio_store_fd(file.store), buffer, READ_LENGTH, UNPROBED + at),
                         READ_LENGTH);
    if (!is_cached(mpiio_store_fd(file.store), UNPROBED))
        CANNOT_RUN("this filesystem does not report what is in memory");
    counters = read_at(0);
    assert_int_equal(counters.store_map_bytes, 0);
    assert_int_equal(counters.store_reads, READ_LENGTH / 4096);
    assert_int_equal(counters.store_read_bytes, READ_LENGTH);
}

/* Returns true if any page of 4 MiB is in the page cache. Unlike is_cached, mincore does not
   start readahead. */
static bool has_pages(int fd, int64_t displacement)
{
    unsigned char states[4 * MIB / 4096];
    void *memory = mmap(NULL, 4 * MIB, PROT_READ, MAP_SHARED, fd, displacement);
    bool any = false;

    assert_true(memory != MAP_FAILED);
    assert_int_equal(mincore(memory, 4 * MIB, states), 0);
    assert_int_equal(munmap(memory, 4 * MIB), 0);
    for (size_t i = 0; i < sizeof(states); i++)
        any = any || (states[i] & 1) != 0;
    return any;
}

/*
 * Evicts 4 MiB from the page cache. Returns false if that is impossible. A page that the kernel is
 * using stays, and may be evicted by a later try.
 */
static bool forget(int fd, int64_t displacement)
{
    const struct timespec pause = {.tv_nsec = 10000000};

    for (int tries = 0; tries < 200; tries++) {
        assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
        if (!has_pages(fd, displacement))
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

/* Writes 4 MiB and evicts them from the page cache. Returns false if that is impossible. */
static bool store_bytes(int fd, int64_t displacement)
{
    for (int64_t at = 0; at < 4 * MIB; at += READ_LENGTH)
        write_file(fd, buffer, READ_LENGTH, displacement + at);
    assert_int_equal(fsync(fd), 0);
    return forget(fd, displacement);
}

/*
 * The same from storage, by blocks, because the kernel reads ahead of them. If the thread is
 * preempted while it checks whether a run is cached, readahead may finish before it continues. It
 * then reads those bytes run by run. So the test tries again.
 */
TEST(test_sparse_runs_on_storage, NULL, close_file)
{
    struct mpiio_counters counters = {0};
    uint64_t reads = 0;

    open_file(KEPT + 1, 4096, 16384);
    if (!store_bytes(file.fd, UNPROBED))
        CANNOT_RUN("this filesystem keeps all in memory");
    for (int tries = 0; reads != 4 && tries < 20; tries++) {
        uint64_t before = counters.store_reads;

        assert_true(forget(file.fd, UNPROBED));
        counters = read_at(0);
        assert_int_equal(counters.store_map_bytes, 0);
        reads = counters.store_reads - before;
    }
    assert_int_equal(reads, 4);
}

/* Faults that wait for storage do not make a window count as expensive. */
TEST(test_faults_on_storage, NULL, close_file)
{
    const int64_t probed = 8 * MPIIO_WINDOW_SIZE;

    open_file(KEPT + 1, 64, 256);
    if (!store_bytes(file.fd, probed))
        CANNOT_RUN("this filesystem keeps all in memory");
    for (int64_t i = 0; i < 3; i++)
        read_at((probed - UNPROBED) / 4 + i * READ_LENGTH);
    assert_false(atomic_load(&file.store->file->windows.dear));
}

static void touch(char *memory, int64_t length, int64_t step)
{
    for (int64_t at = 0; at < length; at += step)
        memory[at] = 1;
}

/* Reads the first bytes of a window that counts faults, with one fault for each step bytes. */
static void probe(struct mpiio_windows *windows, int64_t length, int64_t step)
{
    struct mpiio_window window = {0};
    char *memory =
        mmap(NULL, (size_t)length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(memory != MAP_FAILED);
    madvise(memory, (size_t)length, MADV_NOHUGEPAGE);
    for (int64_t at = 0; at < length; at += MIB / 2) {
        struct mpiio_window_read read = {.windows = windows, .window = &window, .length = MIB / 2};

        assert_true(mpiio_window_begin_read(&read));
        touch(memory + at, MIB / 2, step);
        mpiio_window_end_read(&read);
    }
    munmap(memory, (size_t)length);
}

TEST(test_faults_are_counted)
{
    struct mpiio_windows windows;

    mpiio_windows_init(&windows, -1, false);
    probe(&windows, MIB, 4096);
    assert_false(atomic_load(&windows.dear));
    probe(&windows, 2 * MIB, 64 << 10);
    assert_true(atomic_load(&windows.dear));
    probe(&windows, 2 * MIB, 512 << 10);
    assert_false(atomic_load(&windows.dear));
    mpiio_windows_destroy(&windows);
}

/* Returns true if the page of an address is present in the process's page table. */
static bool is_mapped(int pagemap, const char *address)
{
    uint64_t entry;

    assert_int_equal(
        pread(pagemap, &entry, sizeof(entry), (off_t)((uintptr_t)address / 4096 * sizeof(entry))),
        sizeof(entry));
    return entry >> 63;
}

/* Detaches the second half of the first of three windows, the second window, and the first half of
   the third. */
TEST(test_pages_in_a_range_are_detached)
{
    int fd = make_file(), pagemap = open("/proc/self/pagemap", O_RDONLY);
    struct mpiio_window *window[3];
    struct mpiio_windows windows;

    if (pagemap < 0)
        CANNOT_RUN("no /proc/self/pagemap here");
    assert_int_equal(ftruncate(fd, 3 * MPIIO_WINDOW_SIZE), 0);
    mpiio_windows_init(&windows, fd, true);
    for (int i = 0; i < 3; i++) {
        window[i] = mpiio_windows_acquire(&windows, i * MPIIO_WINDOW_SIZE);
        assert_non_null(window[i]);
        for (int quarter = 1; quarter < 4; quarter += 2) {
            window[i]->base[MPIIO_WINDOW_SIZE / 4 * quarter] = 1;
            assert_true(is_mapped(pagemap, window[i]->base + MPIIO_WINDOW_SIZE / 4 * quarter));
        }
        atomic_store(&window[i]->stored, true);
    }
    mpiio_windows_detach_pages(&windows, MPIIO_WINDOW_SIZE / 2, MPIIO_WINDOW_SIZE / 2 * 5);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(is_mapped(pagemap, window[i]->base + MPIIO_WINDOW_SIZE / 4), i == 0);
        assert_int_equal(is_mapped(pagemap, window[i]->base + MPIIO_WINDOW_SIZE / 4 * 3), i == 2);
        assert_int_equal(atomic_load(&window[i]->stored), i != 1);
        mpiio_windows_release(&windows, window[i]);
    }
    mpiio_windows_destroy(&windows);
    close(pagemap);
    close(fd);
}

/* Every third part of a window was written, and is in the page cache. The others are not. */
TEST(test_only_written_parts_are_cached)
{
    enum { PARTS = MPIIO_WINDOW_SIZE / MPIIO_WINDOW_PART };
    int fd = make_file();
    struct mpiio_window *window;
    struct mpiio_windows windows;

    for (int i = 0; i < PARTS; i += 3)
        write_file(fd, buffer, MPIIO_WINDOW_PART, (int64_t)i * MPIIO_WINDOW_PART);
    assert_int_equal(ftruncate(fd, MPIIO_WINDOW_SIZE), 0);
    mpiio_windows_init(&windows, fd, true);
    window = mpiio_windows_acquire(&windows, 0);
    assert_non_null(window);
    for (int64_t i = 0; i < PARTS; i++)
        assert_int_equal(
            mpiio_window_is_cached(window, i * MPIIO_WINDOW_PART, (i + 1) * MPIIO_WINDOW_PART),
            i % 3 == 0);
    mpiio_windows_release(&windows, window);
    mpiio_windows_destroy(&windows);
    close(fd);
}

/* If address space is limited, as by ulimit -v, windows leave most of it to the program. */
TEST(test_limited_space)
{
    struct rlimit before, limit;
    struct mpiio_windows windows;

    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    limit = (struct rlimit){.rlim_cur = (rlim_t)1 << 46, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
    assert_int_equal(getrlimit(RLIMIT_AS, &limit), 0);
    if (limit.rlim_cur == before.rlim_cur)
        CANNOT_RUN("RLIMIT_AS is ignored (emulator)");
    mpiio_windows_init(&windows, -1, false);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_int_equal(windows.count, MPIIO_WINDOW_FEW);
    mpiio_windows_destroy(&windows);
}
