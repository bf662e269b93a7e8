/* SPDX-License-Identifier: MIT */
/*
 * Tests accesses of atomic mode. Accesses that share bytes exclude each other, and others do not.
 * Other processes see a lock from an access's first byte to its last.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>

#include "core/file/exclusion.h"
#include "foreign_lock.h"

static struct mpiio_exclusion accesses;
static int file;

static int start(void **state)
{
    file = make_file();
    return mpiio_exclusion_init(&accesses, file, 0, true);
}

static int end(void **state)
{
    mpiio_exclusion_destroy(&accesses);
    close(file);
    return 0;
}

/* An access in a thread of its own, which holds it until the test ends it. */
struct accessor {
    pthread_t thread;
    const struct vs_map *map;
    int64_t position, length;
    bool writes;
    atomic_bool has, go;
};

static void pause_a_moment(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void *access_file(void *argument)
{
    struct accessor *accessor = argument;
    struct mpiio_access access;

    if (mpiio_exclusion_begin(&accesses, accessor->map, accessor->position, accessor->length,
                              accessor->writes, &access) != 0)
        return NULL;
    atomic_store(&accessor->has, true);
    while (!atomic_load(&accessor->go))
        pause_a_moment();
    mpiio_exclusion_end(&accesses, &access);
    return NULL;
}

static void begin(struct accessor *accessor)
{
    assert_int_equal(pthread_create(&accessor->thread, NULL, access_file, accessor), 0);
}

/* Returns true once the access has its turn, or false if it still waits after a while. */
static bool gets_turn(struct accessor *accessor, bool expected)
{
    for (int i = 0; i < (expected ? 20000 : 30) && !atomic_load(&accessor->has); i++)
        pause_a_moment();
    return atomic_load(&accessor->has);
}

/* Waits until count accesses have had to wait for others. */
static void await_waits(uint64_t count)
{
    struct mpiio_exclusion_stats stats = {0};

    for (int i = 0; i < 20000 && stats.waits < count; i++) {
        pause_a_moment();
        mpiio_exclusion_stats(&accesses, &stats);
    }
    assert_int_equal(stats.waits, count);
}

/* Waits until a process waits for a lock of the file. /proc/locks marks that with an arrow. */
static void await_lock_wait(void)
{
    char line[256], inode[32];
    struct stat st;
    bool found = false;

    assert_int_equal(fstat(file, &st), 0);
    snprintf(inode, sizeof(inode), ":%ju ", (uintmax_t)st.st_ino);
    for (int i = 0; i < 20000 && !found; i++) {
        FILE *locks = fopen("/proc/locks", "r");
        assert_non_null(locks);
        while (!found && fgets(line, sizeof(line), locks))
            found = strstr(line, "->") && strstr(line, inode);
        fclose(locks);
        pause_a_moment();
    }
    assert_true(found);
}

static void finish(struct accessor *accessor)
{
    atomic_store(&accessor->go, true);
    pthread_join(accessor->thread, NULL);
    assert_true(atomic_load(&accessor->has));
}

TEST(interleaved_writers_hold_one_lock_together, start, end)
{
    struct vs_view *even = make_vector(0, 8, 16), *odd = make_vector(8, 8, 16);
    struct accessor a = {.map = vs_view_map(even), .length = 800, .writes = true};
    struct accessor b = {.map = vs_view_map(odd), .position = 80, .length = 800, .writes = true};
    struct accessor reader = {.map = vs_view_map(odd), .position = 960, .length = 8};
    struct mpiio_exclusion_stats stats;

    begin(&a);
    assert_true(gets_turn(&a, true));
    assert_int_equal(foreign_finds(file, 0, 0), F_WRLCK);
    assert_int_equal(foreign_finds(file, 1591, 1591), F_WRLCK);
    assert_int_equal(foreign_finds(file, 1592, 1 << 20), F_UNLCK);
    begin(&b);
    assert_true(gets_turn(&b, true));
    begin(&reader);
    assert_true(gets_turn(&reader, true));
    assert_int_equal(foreign_finds(file, 1592, 1592), F_WRLCK);
    finish(&a);
    assert_int_equal(foreign_finds(file, 168, 168), F_WRLCK);
    finish(&b);
    finish(&reader);
    assert_int_equal(foreign_finds(file, 0, 1 << 20), F_UNLCK);
    mpiio_exclusion_stats(&accesses, &stats);
    assert_int_equal(stats.calls, 3);
    assert_int_equal(stats.waits + stats.lock_waits, 0);
    vs_view_unref(even);
    vs_view_unref(odd);
}

TEST(those_that_share_a_byte_wait_in_their_order, start, end)
{
    struct vs_view *even = make_vector(0, 8, 16), *all = make_view("\"disp\": 0");
    struct accessor reader = {.map = vs_view_map(even), .length = 80};
    struct accessor writer = {
        .map = vs_view_map(all), .position = 151, .length = 1, .writes = true};
    struct accessor late = {.map = vs_view_map(even), .position = 72, .length = 16};
    struct accessor beside = {.map = vs_view_map(even), .position = 0, .length = 72};

    begin(&reader);
    assert_true(gets_turn(&reader, true));
    begin(&writer);
    await_waits(1);
    assert_false(gets_turn(&writer, false));
    begin(&late); /* it does not overtake the writer */
    await_waits(2);
    assert_false(gets_turn(&late, false));
    begin(&beside);
    assert_true(gets_turn(&beside, true));
    finish(&reader);
    finish(&beside);
    assert_true(gets_turn(&writer, true));
    assert_false(gets_turn(&late, false));
    finish(&writer);
    finish(&late);
    vs_view_unref(even);
    vs_view_unref(all);
}

/* The first access has 60 runs of 8 bytes at a stride of 64. The second has two runs between those,
   and a third one that equals the last of them or lies behind it. The search must not go past the
   end of the first access, although its view has more runs. */
TEST(many_runs_conflict_with_few_only_within_their_access, start, end)
{
    struct vs_view *many = make_vector(0, 8, 64);

    for (int shared = 0; shared < 2; shared++) {
        struct vs_view *few = make_view("\"filetype\": {\"type\": \"indexed_block\", "
                                        "\"blocklength\": 8, \"displacements\": [8, 3208, %d]}",
                                        64 * (shared ? 59 : 62));
        struct accessor second = {
            .map = vs_view_map(few), .position = 0, .length = 24, .writes = true};
        struct mpiio_access first;

        assert_int_equal(mpiio_exclusion_begin(&accesses, vs_view_map(many), 0, 480, true, &first),
                         0);
        begin(&second);
        assert_int_equal(gets_turn(&second, !shared), !shared);
        mpiio_exclusion_end(&accesses, &first);
        assert_true(gets_turn(&second, true));
        finish(&second);
        vs_view_unref(few);
    }
    vs_view_unref(many);
}

TEST(an_empty_access_locks_nothing, start, end)
{
    struct vs_view *view = make_vector(0, 8, 16);
    struct mpiio_access all, mapped;

    assert_int_equal(mpiio_exclusion_begin(&accesses, NULL, 100, 0, true, &all), 0);
    assert_int_equal(mpiio_exclusion_begin(&accesses, vs_view_map(view), 100, 0, true, &mapped), 0);
    assert_int_equal(foreign_finds(file, 0, 1 << 20), F_UNLCK);
    mpiio_exclusion_end(&accesses, &mapped);
    mpiio_exclusion_end(&accesses, &all);
    vs_view_unref(view);
}

TEST(a_foreign_lock_is_waited_for, start, end)
{
    struct accessor append = {.position = 4, .length = INT64_MAX - 4, .writes = true};
    struct mpiio_exclusion_stats stats;
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1 << 20, .l_len = 1};
    char path[64];
    int other;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    other = open(path, O_RDWR);
    assert_true(other >= 0);
    assert_int_equal(fcntl(other, F_OFD_SETLK, &range), 0);
    begin(&append);
    await_lock_wait();
    assert_false(gets_turn(&append, false));
    range.l_type = F_UNLCK;
    assert_int_equal(fcntl(other, F_OFD_SETLK, &range), 0);
    assert_true(gets_turn(&append, true));
    assert_int_equal(foreign_finds(file, 0, 3), F_UNLCK);
    finish(&append);
    mpiio_exclusion_stats(&accesses, &stats);
    assert_int_equal(stats.lock_waits, 1);
    close(other);
}

/*
 * Random accesses by threads. Each byte has a counter: a reader increments one half of it, a writer
 * the other. So an access detects at once if it shares a byte with one that it excludes.
 */
#define BYTES   256
#define VIEWS   6
#define THREADS 6
#define ROUNDS  400

static struct vs_view *views[VIEWS];
static atomic_int inside[BYTES];
static atomic_bool wrong;

static void mark(const struct vs_map *map, int64_t position, int64_t length, int by, bool writes)
{
    struct vs_runs runs;
    struct vs_run run;

    vs_runs_start(&runs, map, position, length);
    while (vs_runs_next(&runs, &run)) {
        for (int64_t i = run.displacement; i < run.displacement + run.length; i++) {
            int before = atomic_fetch_add(&inside[i], by);

            if (by > 0 && (writes ? before != 0 : before >= 1 << 16))
                atomic_store(&wrong, true);
        }
    }
}

static void *access_at_random(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument;

    for (int i = 0; i < ROUNDS; i++) {
        const struct vs_map *map = vs_view_map(views[rand_r(&seed) % VIEWS]);
        int64_t position = rand_r(&seed) % 24, length = rand_r(&seed) % 16;
        bool writes = rand_r(&seed) % 2;
        struct mpiio_access access;

        if (mpiio_exclusion_begin(&accesses, map, position, length, writes, &access) != 0)
            atomic_store(&wrong, true);
        mark(map, position, length, writes ? 1 << 16 : 1, writes);
        if (rand_r(&seed) % 4 == 0)
            sched_yield();
        mark(map, position, length, writes ? -(1 << 16) : -1, writes);
        mpiio_exclusion_end(&accesses, &access);
    }
    return NULL;
}

TEST(random_accesses_exclude_each_other, start, end)
{
    static const char *const filetypes[VIEWS] = {
        "\"disp\": 0",
        "\"filetype\": {\"type\": \"vector\", \"count\": 2, \"blocklength\": 2, \"stride\": 3}",
        "\"filetype\": {\"type\": \"indexed_block\", \"blocklength\": 1, \"displacements\": [1, "
        "4]}",
        "\"disp\": 3, \"filetype\": {\"type\": \"vector\", \"count\": 3, \"blocklength\": 1, "
        "\"stride\": 2}",
        "\"filetype\": {\"type\": \"resized\", \"lb\": 0, \"extent\": 2, \"oldtype\": "
        "{\"type\": \"indexed_block\", \"blocklength\": 1, \"displacements\": [0, 5]}}",
        "\"disp\": 5",
    };
    pthread_t threads[THREADS];

    for (int i = 0; i < VIEWS; i++)
        views[i] = make_view("%s", filetypes[i]);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, access_at_random, (void *)(i + 1)), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_false(atomic_load(&wrong));
    for (int i = 0; i < VIEWS; i++)
        vs_view_unref(views[i]);
    assert_int_equal(foreign_finds(file, 0, 1 << 20), F_UNLCK);
}
