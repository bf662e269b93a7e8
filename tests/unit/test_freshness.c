/* SPDX-License-Identifier: MIT */
/*
 * Tests when the host's pages of a file are dropped. The program is linked with --wrap for the
 * clock, and for the system calls that write pages back and drop them.
 */
#include "slice_fixture.h"

#include "core/file/freshness.h"

static int64_t now = 1000; /* ms */
static int written, dropped;

WRAP(int64_t, mpiio_clock, void)
{
    return now;
}

WRAP(int, sync_file_range, int fd, off_t displacement, off_t length, unsigned int flags)
{
    assert_int_equal(displacement, 0);
    assert_int_equal(length, 0);
    assert_int_equal(flags, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                                SYNC_FILE_RANGE_WAIT_AFTER);
    written++;
    return 0;
}

WRAP(int, posix_fadvise64, int fd, off_t displacement, off_t length, int advice)
{
    assert_int_equal(displacement, 0);
    assert_int_equal(length, 0);
    assert_int_equal(advice, POSIX_FADV_DONTNEED);
    dropped++;
    assert_int_equal(dropped, written); /* dirty pages would not be dropped */
    return 0;
}

/* Changes the file's state as another host's write does. Way 0 changes its size and times, others
   change only its times. */
static void change_file(int fd, int way)
{
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1000, .tv_nsec = way + 1}};

    if (way == 0)
        assert_int_equal(ftruncate(fd, now), 0);
    assert_int_equal(futimens(fd, times), 0);
}

/* Refreshes the file. Returns true if its pages were dropped. */
static bool drops(struct mpiio_freshness *freshness, int fd, enum mpiio_coherence coherence)
{
    int before = dropped;

    assert_int_equal(mpiio_freshness_renew(freshness, fd, coherence), 0);
    return dropped > before;
}

TEST(pages_are_dropped_until_the_state_is_old)
{
    struct mpiio_freshness freshness = {.lock = PTHREAD_MUTEX_INITIALIZER};
    int fd = make_file();

    for (int way = 0; way < 3; way++) {
        change_file(fd, way);
        assert_true(drops(&freshness, fd, MPIIO_COHERENCE_CLOSE_TO_OPEN));
        now += MPIIO_FRESHNESS_AGE;
        assert_true(drops(&freshness, fd, MPIIO_COHERENCE_CLOSE_TO_OPEN));
        now++;
        /* Once they were dropped while the state was old, they need not be dropped again. */
        assert_true(drops(&freshness, fd, MPIIO_COHERENCE_CLOSE_TO_OPEN));
        for (int i = 0; i < 3; i++, now += i * MPIIO_FRESHNESS_AGE)
            assert_false(drops(&freshness, fd, MPIIO_COHERENCE_CLOSE_TO_OPEN));
        assert_true(drops(&freshness, fd, MPIIO_COHERENCE_NONE));
    }
    close(fd);
}

TEST(pages_of_a_local_file_are_not_dropped)
{
    static const enum mpiio_coherence kinds[] = {
        MPIIO_COHERENCE_LOCAL, MPIIO_COHERENCE_CLOSE_TO_OPEN, MPIIO_COHERENCE_NONE};
    struct opened opened = open_slice(O_RDONLY, NULL);

    for (int i = 0; i < 3; i++) {
        int before = dropped;

        mpiio_file_set_coherence(opened.store->file, kinds[i]);
        assert_int_equal(mpiio_file_refresh(opened.store->file), 0);
        assert_int_equal(dropped > before, kinds[i] != MPIIO_COHERENCE_LOCAL);
    }
    close_opened(&opened);
}

TEST(an_error_of_statx_is_returned)
{
    struct mpiio_freshness freshness = {.lock = PTHREAD_MUTEX_INITIALIZER};

    assert_int_equal(mpiio_freshness_renew(&freshness, -1, MPIIO_COHERENCE_CLOSE_TO_OPEN), -EBADF);
}
