/* SPDX-License-Identifier: MIT */
/* Tests the replies to the kernel in each mode of a mount: to opens, writes and fsync. */
#include <fcntl.h>

#include "unit.h"
#include "fusefs/kernel/mode.h"
#include "fusefs/kernel/drop.h"
#include "fusefs/kernel/sync.h"
#include "fusefs/session.h"

#define HEADER 64

/* The arguments and results of functions that replace the daemon's. */
static struct {
    struct fs_version now;
    int version_error, notifier_error;
    size_t overlapping;
    int64_t start, length; /* of the query for overlaps; 0: no query */
    int dropped, later;    /* replies that the notifier took over */
    struct fs_drop last;
    size_t answered; /* bytes, replied at once */
    int reply;       /* to an fsync */
} told;

int fs_version_now(struct fs_session *session, struct fs_version *version)
{
    *version = told.now;
    return told.version_error;
}

size_t fs_overlaps_drop(struct fs_overlaps *overlaps, struct fs_slice *slice, int64_t offset,
                        int64_t length)
{
    told.start = offset;
    told.length = length;
    return told.overlapping;
}

/* A drop of all pages belongs to an fsync, another one to a write. */
int fs_drop_queue(struct fs_dropper *notifier, const struct fs_drop *drop)
{
    told.dropped += drop->length == 0;
    told.later += drop->length != 0;
    told.last = *drop;
    return told.notifier_error;
}

int fuse_reply_write(fuse_req_t request, size_t count)
{
    told.answered = count;
    return 0;
}

int fuse_reply_err(fuse_req_t request, int error)
{
    told.reply = error;
    return 0;
}

void fs_workers_waits(void *workers, bool waits)
{
}

bool fs_atomic_is_on(const struct fs_atomic *atomic)
{
    return atomic_load(&atomic->on);
}

static struct fs_session session;
static struct fs_slice slice;

static int setup(void **state)
{
    memset(&told, 0, sizeof(told));
    told.now = (struct fs_version){.size = 1, .settled = true};
    session = (struct fs_session){.slices.lock = PTHREAD_MUTEX_INITIALIZER};
    slice = (struct fs_slice){.inode = 77, .filled = told.now, .header = HEADER};
    return 0;
}

/* If opened() gets reader, another handle has the slice open for reading; if updater is true,
   also for writing. */
static bool updater;

static struct fuse_file_info opened(enum fs_mode mode, int flags, bool reader)
{
    struct fs_handle handle = {.slice = &slice,
                               .version = told.now,
                               .reads = (flags & O_ACCMODE) != O_WRONLY,
                               .writes = (flags & O_ACCMODE) != O_RDONLY};
    struct fuse_file_info info = {.flags = flags};

    slice.counts.readers = handle.reads + reader;
    slice.counts.updaters = reader && updater;
    session.mode = mode;
    fs_mode_open(&session, &handle, &info);
    slice.counts.readers = slice.counts.updaters = 0;
    return info;
}

TEST(opens, setup)
{
    assert_false(opened(FS_MODE_SHARED, O_RDONLY, false).direct_io);
    assert_true(opened(FS_MODE_SHARED, O_WRONLY, false).direct_io);
    assert_true(opened(FS_MODE_SHARED, O_WRONLY, true).direct_io);
    assert_false(opened(FS_MODE_SHARED, O_RDWR, false).direct_io);
    assert_true(opened(FS_MODE_SHARED, O_RDWR | O_APPEND, true).direct_io);
    assert_false(opened(FS_MODE_SHARED, O_RDONLY | O_APPEND, true).direct_io);
    assert_true(opened(FS_MODE_SHARED, O_RDONLY, false).keep_cache);
    assert_false(opened(FS_MODE_UNIQUE, O_WRONLY | O_APPEND, false).direct_io);
    assert_true(opened(FS_MODE_DIRECT, O_RDONLY, false).direct_io);
    assert_true(opened(FS_MODE_DIRECT, O_RDWR, true).direct_io);
    assert_true(opened(FS_MODE_DIRECT, O_WRONLY, true).direct_io);
    updater = true;
    assert_false(opened(FS_MODE_SHARED, O_WRONLY, true).direct_io);
    assert_true(opened(FS_MODE_SHARED, O_WRONLY, false).direct_io);
    updater = false;
    told.now.size = 2;
    assert_false(opened(FS_MODE_SHARED, O_RDONLY, false).keep_cache);
    assert_true(opened(FS_MODE_UNIQUE, O_RDONLY, false).keep_cache);
}

static int refreshed(enum fs_mode mode)
{
    struct fs_handle handle = {.slice = &slice};

    session.mode = mode;
    return fs_mode_refresh(&session, NULL, &handle);
}

TEST(refreshes, setup)
{
    assert_int_equal(refreshed(FS_MODE_SHARED), 0);
    assert_int_equal(told.dropped, 0);
    told.now.size = 2;
    assert_int_equal(refreshed(FS_MODE_SHARED), 1);
    assert_int_equal(told.dropped, 1);
    /* Only after a successful drop are the pages known to be of the version. */
    told.last.done(&session, &told.last, -EIO);
    assert_int_equal(told.reply, EIO);
    assert_int_equal(slice.filled.size, 1);
    told.last.done(&session, &told.last, 0);
    assert_int_equal(told.reply, 0);
    assert_int_equal(slice.filled.size, 2);
    told.now.size = 3;
    assert_int_equal(refreshed(FS_MODE_DIRECT), 1);
    assert_int_equal(atomic_load(&session.prefetchers.stored), 3); /* one for each fsync */
    told.dropped = 1;
    told.notifier_error = -ENOTCONN;
    assert_int_equal(refreshed(FS_MODE_SHARED), -ENOTCONN);
    told.version_error = -EIO;
    assert_int_equal(refreshed(FS_MODE_SHARED), -EIO);
    assert_int_equal(told.dropped, 2);
}

/* Writes size bytes at offset through a handle of the only slice. */
static void wrote(enum fs_mode mode, bool direct, bool reader, off_t offset, size_t size)
{
    struct fs_handle handle = {.slice = &slice, .writes = true, .direct = direct, .reads = reader};

    told.start = told.length = told.later = 0;
    told.answered = 0;
    slice.counts.readers = reader;
    session.mode = mode;
    fs_mode_wrote(&session, NULL, &handle, offset, size, direct);
    slice.counts.readers = 0;
}

TEST(answers_writes, setup)
{
    wrote(FS_MODE_SHARED, true, false, HEADER + 100, 50);
    assert_int_equal(told.start, 100);
    assert_int_equal(told.length, 50);
    assert_int_equal(told.answered, 50);
    /* The header's bytes are not in the file. */
    wrote(FS_MODE_SHARED, true, false, 0, HEADER + 10);
    assert_int_equal(told.start, 0);
    assert_int_equal(told.length, 10);
    wrote(FS_MODE_SHARED, true, false, 0, HEADER);
    assert_int_equal(told.length, 0);
    assert_int_equal(told.answered, HEADER);
    /* A write past the page cache is answered once pages are dropped: those of its slice, if
       that has readers, or those of overlapping slices. */
    wrote(FS_MODE_SHARED, true, true, HEADER, 50);
    assert_int_equal(told.later, 1);
    assert_int_equal(told.answered, 0);
    told.last.done(&session, &told.last, 0);
    assert_int_equal(told.answered, 50);
    told.overlapping = 1;
    wrote(FS_MODE_SHARED, true, false, HEADER, 50);
    assert_int_equal(told.later, 1);
    wrote(FS_MODE_SHARED, false, true, HEADER, 50);
    assert_int_equal(told.later, 0);
    assert_int_equal(told.answered, 50);
    /* If the notifier cannot send a notification later, the kernel is notified now. */
    told.notifier_error = -ENOMEM;
    wrote(FS_MODE_SHARED, true, false, HEADER, 50);
    assert_int_equal(told.answered, 50);
}

/* If there are no pages, none are dropped, and the reply is immediate. */
TEST(answers_at_once, setup)
{
    told.overlapping = 1;
    atomic_store(&session.atomic.on, true);
    wrote(FS_MODE_SHARED, true, true, HEADER, 50);
    assert_int_equal(told.length, 0);
    assert_int_equal(told.later, 0);
    assert_int_equal(told.answered, 50);
    /* The kernel may have mapped pages. */
    wrote(FS_MODE_DIRECT, true, true, HEADER, 50);
    assert_int_equal(told.length, 50);
}

TEST(unique_refreshes_nothing, setup)
{
    told.now.size = 2;
    assert_int_equal(refreshed(FS_MODE_UNIQUE), 0);
    assert_int_equal(told.dropped, 0);
    told.overlapping = 1;
    wrote(FS_MODE_UNIQUE, true, true, HEADER, 50);
    assert_int_equal(told.length, 0);
    assert_int_equal(told.answered, 50);
}

TEST(numbers, setup)
{
    fuse_ino_t first = 0, again = 0;

    assert_int_equal(fs_mode_number(&session, &slice, &first), 0);
    assert_int_equal(first, 0);
    session.mode = FS_MODE_UNIQUE;
    assert_int_equal(fs_mode_number(&session, &slice, &first), 0);
    assert_int_equal(fs_mode_number(&session, &slice, &again), 0);
    assert_int_equal(first, again);
    told.now.size = 2;
    assert_int_equal(fs_mode_number(&session, &slice, &again), 0);
    assert_int_not_equal(first, again);
    told.version_error = -EIO;
    assert_int_equal(fs_mode_number(&session, &slice, &again), -EIO);
}
