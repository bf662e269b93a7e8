/* SPDX-License-Identifier: MIT */
/* Tests stale pages of a slice, which must be dropped before a write is answered. */

#include "unit.h"
#include "fusefs/names/stale.h"

#define NOW  1000000 /* ms */
#define LATE (NOW + 3600000)
#define ALL  INT64_MAX

static struct fs_stale stale;
static struct fs_stale_range list[FS_STALE_MAX];
static int64_t page;
static bool sure;
static struct fs_stale_range drop; /* that is in progress */

static int setup(void **state)
{
    page = sysconf(_SC_PAGESIZE);
    sure = false;
    fs_stale_init(&stale);
    fs_stale_join(&stale, NOW);
    return 0;
}

static int teardown(void **state)
{
    fs_stale_leave(&stale);
    fs_stale_free(&stale);
    return 0;
}

static void begin_drop(int64_t start, int64_t end)
{
    drop = (struct fs_stale_range){.start = start, .end = end};
    fs_stale_drop_begin(&stale, &drop);
}

static void end_drop(void)
{
    assert_false(fs_stale_drop_end(&stale, &drop, false));
}

static void drop_all(void)
{
    begin_drop(0, ALL);
    end_drop();
}

static void read_pages(int64_t number, int64_t count)
{
    struct fs_stale_read read;

    fs_stale_read_begin(&stale, &read, number * page, (size_t)(count * page));
    fs_stale_read_end(&stale, &read);
}

static void read_page(int64_t number)
{
    read_pages(number, 1);
}

/* Returns how many ranges must be dropped before a write of 8 bytes into this page is answered. */
static size_t stored(int64_t number)
{
    return fs_stale_find(&stale, number * page + 16, 8, LATE, 0, list, &sure);
}

static void write_page(int64_t number)
{
    fs_stale_stored(&stale);
    stored(number);
    fs_stale_answered(&stale, LATE);
}

TEST(nothing_is_noted_without_a_drop, setup, teardown)
{
    read_page(3);
    assert_int_equal(stale.count, 0);
    assert_int_equal(stored(3), 0);
}

TEST(nothing_is_noted_without_a_writer, setup, teardown)
{
    fs_stale_leave(&stale);
    drop_all();
    read_page(3);
    assert_int_equal(stale.count, 0);
    fs_stale_join(&stale, NOW);
    assert_int_equal(stored(3), 0);
}

TEST(a_page_is_read_behind_a_drop, setup, teardown)
{
    drop_all();
    read_page(3);
    read_page(5);
    assert_int_equal(stored(3), 1);
    assert_true(sure);
    assert_int_equal(list[0].start, 3 * page);
    assert_int_equal(list[0].end, 4 * page);
    assert_int_equal(stored(4), 0);
}

/* After the answer no page counts as stale, because the kernel copies later writes into pages in
   their current state. */
TEST(an_answer_ends_it, setup, teardown)
{
    drop_all();
    read_page(3);
    write_page(4);
    assert_int_equal(stored(3), 0);
    read_page(3);
    assert_int_equal(stale.count, 0);
}

TEST(a_later_drop_ends_it, setup, teardown)
{
    drop_all();
    read_page(3);
    read_page(4);
    begin_drop(4 * page, 5 * page);
    end_drop();
    assert_int_equal(stored(4), 0);
    assert_int_equal(stored(3), 1);
    drop_all();
    assert_int_equal(stored(3), 0);
}

/* The drop may have passed before the page was read. Or it waited for that page and dropped it. */
TEST(a_read_in_the_middle_of_a_drop_has_it_repeated, setup, teardown)
{
    begin_drop(0, ALL);
    read_page(3);
    assert_true(fs_stale_drop_end(&stale, &drop, false));
    assert_int_equal(drop.start, 3 * page);
    assert_int_equal(drop.end, 4 * page);
    assert_int_equal(stored(3), 1); /* the second drop is in progress */
    assert_false(sure);
    end_drop();
    assert_int_equal(stored(3), 0);
}

TEST(a_drop_that_is_not_repeated_leaves_it_unsure, setup, teardown)
{
    begin_drop(0, ALL);
    read_page(3);
    assert_false(fs_stale_drop_end(&stale, &drop, true));
    assert_int_equal(stored(3), 1);
    assert_false(sure);
}

static void *end_drop_later(void *unused)
{
    return fs_stale_drop_end(&stale, &drop, false) ? &drop : NULL;
}

/* Waits for a drop in progress. A page that it has dropped, and that the kernel has copied bytes
   to since, stays locked until the answer. */
TEST(a_drop_under_way_is_waited_for, setup, teardown)
{
    pthread_t thread;
    void *repeats;

    drop_all();
    read_page(3);
    begin_drop(0, ALL);
    assert_int_equal(pthread_create(&thread, NULL, end_drop_later, NULL), 0);
    assert_int_equal(fs_stale_find(&stale, 3 * page, 8, LATE, INT64_MAX / 1000000, list, &sure), 0);
    assert_int_equal(pthread_join(thread, &repeats), 0);
    assert_null(repeats);
    assert_int_equal(stale.running, 0);
}

TEST(a_read_that_is_under_way_counts, setup, teardown)
{
    struct fs_stale_read early, read;

    fs_stale_read_begin(&stale, &early, 2 * page, (size_t)page); /* begins before the drop */
    drop_all();
    fs_stale_read_begin(&stale, &read, 3 * page, (size_t)page);
    fs_stale_read_end(&stale, &early);
    assert_int_equal(stored(2), 0);
    assert_int_equal(stored(3), 1);
    fs_stale_answered(&stale, LATE);
    fs_stale_read_end(&stale, &read);
    assert_int_equal(stale.count, 0);
}

TEST(what_is_read_once_it_is_stored_is_right, setup, teardown)
{
    drop_all();
    assert_true(fs_stale_stored(&stale));
    read_page(3);
    assert_int_equal(stored(3), 0);
    fs_stale_answered(&stale, LATE);
    drop_all();
    read_page(3);
    assert_int_equal(stored(3), 1);
}

TEST(a_drop_that_is_not_over_counts_for_the_next_write, setup, teardown)
{
    begin_drop(0, page);
    write_page(3);
    read_page(3);
    assert_int_equal(stored(3), 1);
    end_drop();
    write_page(3);
    read_page(3);
    assert_int_equal(stored(3), 0);
}

TEST(the_kernel_may_drop_by_itself, setup, teardown)
{
    fs_stale_drop_expected(&stale, NOW);
    read_page(3);
    assert_int_equal(fs_stale_find(&stale, 3 * page, 1, NOW, 0, list, &sure), 1);
    assert_false(sure);
    fs_stale_answered(&stale, NOW);
    read_page(3);
    assert_int_equal(fs_stale_find(&stale, 3 * page, 1, NOW, 0, list, &sure), 1);
    fs_stale_answered(&stale, LATE);
    read_page(3);
    assert_int_equal(stored(3), 0);
}

TEST(one_who_joins_finds_drops_under_way, setup, teardown)
{
    fs_stale_leave(&stale);
    begin_drop(0, page);
    fs_stale_join(&stale, NOW);
    read_page(3);
    assert_int_equal(stored(3), 1);
    end_drop();
}

TEST(one_who_joins_behind_an_open_finds_its_drop, setup, teardown)
{
    fs_stale_leave(&stale);
    assert_false(fs_stale_opened(&stale, 0, NOW));
    fs_stale_join(&stale, NOW + 1);
    read_page(3);
    assert_int_equal(fs_stale_find(&stale, 3 * page, 1, NOW + 1, 0, list, &sure), 1);
    assert_false(sure);
    fs_stale_answered(&stale, LATE);
    read_page(3);
    assert_int_equal(stored(3), 0);
}

/* The first writer's open drops the pages before it writes. A second one may find that drop in
   progress. */
TEST(two_who_join_find_the_drop_of_the_first, setup, teardown)
{
    assert_false(fs_stale_opened(&stale, 1, NOW));
    read_page(3);
    assert_int_equal(stored(3), 0);
    fs_stale_join(&stale, NOW + 1);
    read_page(3);
    assert_int_equal(stored(3), 1);
    assert_true(fs_stale_opened(&stale, 1, NOW + 2));
    fs_stale_leave(&stale);
}

TEST(ranges_are_cut_to_the_pages_of_the_write, setup, teardown)
{
    drop_all();
    read_pages(0, 10);
    assert_int_equal(fs_stale_find(&stale, 3 * page - 1, (size_t)page + 2, LATE, 0, list, &sure),
                     1);
    assert_int_equal(list[0].start, 2 * page);
    assert_int_equal(list[0].end, 5 * page);
}

TEST(none_of_many_is_forgotten, setup, teardown)
{
    drop_all();
    for (int64_t i = 0; i < 10 * FS_STALE_MAX; i++)
        read_page(2 * i);
    for (int64_t i = 0; i < 10 * FS_STALE_MAX; i++)
        assert_int_equal(stored(2 * i), 1);
    assert_false(sure);
}
