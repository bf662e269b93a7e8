/* SPDX-License-Identifier: MIT */
/*
 * Tests accesses of atomic mode. Accesses that share bytes exclude each other, and others do not.
 * Other processes see a lock from an access's first byte to its last.
 */
#include <sched.h>
#include <stdatomic.h>

#include "exclusion_fixture.h"
#include "foreign_lock.h"
#include "threads.h"

/* Returns true once the access has its turn, or false if it still waits after a while. */
static bool gets_turn(struct accessor *accessor, bool expected)
{
    for (int i = 0; i < (expected ? 100000 : 150) && !atomic_load(&accessor->has); i++)
        pause_a_moment();
    return atomic_load(&accessor->has);
}

/* Begins an access, which must get its turn. */
static void begin_at_once(struct accessor *accessor)
{
    begin(accessor);
    assert_true(gets_turn(accessor, true));
}

/* Waits until count accesses have had to wait for others. */
static void await_waits(uint64_t count)
{
    struct mpiio_exclusion_stats stats = {0};

    for (int i = 0; i < 100000 && stats.waits < count; i++) {
        pause_a_moment();
        mpiio_exclusion_stats(&accesses, &stats);
    }
    assert_int_equal(stats.waits, count);
}

/* Waits until a process waits for a lock of the file. /proc/locks marks that with an arrow. */
static void await_lock_wait(void)
{
    char line[256], inode[32];
    bool found = false;

    snprintf(inode, sizeof(inode), ":%ju ", (uintmax_t)stat_of(file).st_ino);
    for (int i = 0; i < 100000 && !found; i++) {
        FILE *locks = fopen("/proc/locks", "r");
        assert_non_null(locks);
        while (!found && fgets(line, sizeof(line), locks))
            found = strstr(line, "->") && strstr(line, inode);
        fclose(locks);
        pause_a_moment();
    }
    assert_true(found);
}

TEST(interleaved_writers_hold_one_lock_together, start, end)
{
    struct vs_view *even = make_vector(0, 8, 16), *odd = make_vector(8, 8, 16);
    struct accessor a = {.map = vs_view_map(even), .length = 800, .writes = true};
    struct accessor b = {.map = vs_view_map(odd), .position = 80, .length = 800, .writes = true};
    struct accessor reader = {.map = vs_view_map(odd), .position = 960, .length = 8};
    struct mpiio_exclusion_stats stats;

    begin_at_once(&a);
    assert_int_equal(foreign_finds(file, 0, 0), F_WRLCK);
    assert_int_equal(foreign_finds(file, 1591, 1591), F_WRLCK);
    assert_int_equal(foreign_finds(file, 1592, 1 << 20), F_UNLCK);
    begin_at_once(&b);
    begin_at_once(&reader);
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
    struct vs_view *even = make_vector(0, 8, 16), *all = make_view("'disp': 0");
    struct accessor reader = {.map = vs_view_map(even), .length = 80};
    struct accessor writer = {
        .map = vs_view_map(all), .position = 151, .length = 1, .writes = true};
    struct accessor late = {.map = vs_view_map(even), .position = 72, .length = 16};
    struct accessor beside = {.map = vs_view_map(even), .position = 0, .length = 72};

    begin_at_once(&reader);
    begin(&writer);
    await_waits(1);
    assert_false(gets_turn(&writer, false));
    begin(&late); /* it does not overtake the writer */
    await_waits(2);
    assert_false(gets_turn(&late, false));
    begin_at_once(&beside);
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
        struct vs_view *few = make_view("'filetype': {'type': 'indexed_block', 'blocklength': 8, "
                                        "'displacements': [8, 3208, %d]}",
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
    int other = open_again(file);

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
#define BYTES  256
#define ROUNDS 400

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
    unsigned seed = *(unsigned *)argument;

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
    unsigned seeds[] = {1, 2, 3, 4, 5, 6};

    make_views();
    run_threads(6, access_at_random, seeds, sizeof(*seeds));
    assert_false(atomic_load(&wrong));
    unref_views(views, VIEWS);
    assert_int_equal(foreign_finds(file, 0, 1 << 20), F_UNLCK);
}
