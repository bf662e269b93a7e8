/* SPDX-License-Identifier: MIT */
/* Tests the requests of mpiio-run's library: for grants that wait for drops, and reports of
   writes. */
#include "slice_fixture.h"

#include <sys/mman.h>

#include "fusefs/kernel/grants.h"
#include "fusefs/kernel/mode.h"
#include "fusefs/kernel/sync.h"
#include "fusefs/requests/handle_ops.h"
#include "fusefs/requests/requests.h"
#include "fusefs/session.h"

static struct fs_session session;
static struct vs_view *common[1];

/* The calls of the functions below, which replace the daemon's. */
static struct {
    struct fs_drop drops[4];
    int count;
    struct mpiio_grant_request answer; /* the last one */
    int error;
    int64_t searched; /* length of the range whose bytes other slices may show */
} told;

const struct fs_handle_ops fs_shared_ops = {.grantable = true};
static const struct fs_handle_ops slice_ops = {.grantable = true};

int fs_drop_queue(struct fs_dropper *notifier, const struct fs_drop *drop)
{
    told.drops[told.count++] = *drop;
    return 0;
}

size_t fs_overlaps_drop(struct fs_overlaps *overlaps, struct fs_slice *slice, int64_t offset,
                        int64_t length)
{
    told.searched = length;
    return 0;
}

bool fs_overlaps_may_be_disjoint(const struct fs_overlaps *overlaps, size_t view)
{
    return true;
}

int fs_overlaps_disjoint(struct fs_overlaps *overlaps, size_t view, bool *disjoint)
{
    *disjoint = true;
    return 0;
}

bool fs_passthrough_is_on(const struct fs_passthrough *passthrough)
{
    return false;
}

bool fs_atomic_is_on(const struct fs_atomic *atomic)
{
    return false;
}

void fs_sync_written(struct fs_durable *durable, struct fs_handle *handle)
{
}

void fs_workers_pause(struct fs_workers *workers)
{
}

void fs_workers_resume(struct fs_workers *workers)
{
}

void *fuse_req_userdata(fuse_req_t request)
{
    return &session;
}

const struct fuse_ctx *fuse_req_ctx(fuse_req_t request)
{
    static struct fuse_ctx context;

    context.uid = geteuid();
    return &context;
}

int fuse_reply_err(fuse_req_t request, int error)
{
    told.error = error;
    return 0;
}

int fuse_reply_ioctl(fuse_req_t request, int result, const void *answer, size_t size)
{
    if (size == sizeof(told.answer))
        memcpy(&told.answer, answer, size);
    return 0;
}

static struct fs_slice *slice;
static struct fs_handle handle; /* an open file of the slice, whose pages the kernel has */

static int setup(void **state)
{
    static const struct mpiio_grant_mount mount;
    struct vs_error error = {0};
    int fd = make_file();

    memset(&told, 0, sizeof(told));
    session = (struct fs_session){.mode = FS_MODE_SHARED};
    session.spec = spec_from("{'viewspec': 1, 'file': 'f', 'ranks': 2, 'view': "
                             "{'etype': 'int', 'filetype': {'type': 'scatter'}}}");
    session.store = open_store_for(fd, O_RDWR);
    close(fd);
    fs_tree_init(&session.tree, session.spec, false);
    session.grants.page = mpiio_grant_page_new(&mount, "", 0, &session.grants.memory);
    assert_non_null(session.grants.page);
    session.grants.spares = MPIIO_GRANT_WORDS;
    assert_int_equal(fs_slices_init(&session.slices, &session.tree, session.store, common,
                                    MPIIO_NARROW_REFUSE, 1),
                     0);
    assert_int_equal(
        fs_slices_get(&session.slices, (struct fs_node){.kind = FS_SLICE}, &slice, &error), 0);
    handle = (struct fs_handle){.ops = &slice_ops, .slice = slice, .reads = true, .writes = true};
    assert_int_equal(fs_handle_join(&session.slices, &handle, slice->inode, 1), 0);
    fs_handle_holds(&session.slices, &handle);
    fs_grants_paged(&session, slice);
    return 0;
}

static int teardown(void **state)
{
    fs_grants_leave(&session, &handle);
    fs_handle_leave(&session.slices, &handle);
    fs_slices_put(&session.slices, slice);
    fs_slices_free(&session.slices);
    munmap(session.grants.page, sizeof(*session.grants.page));
    close(session.grants.memory);
    mpiio_store_close(session.store);
    vs_spec_free(session.spec);
    return 0;
}

static void request(struct fs_handle *from, unsigned command, const void *in, size_t size)
{
    struct fuse_file_info info = {.fh = (uintptr_t)from};

    told.error = 0;
    fs_ioctl(NULL, slice->inode, command, NULL, &info, 0, in, size, size);
}

static void ask(uint64_t nonce)
{
    const struct mpiio_grant_request asked = {.nonce = nonce};

    request(&handle, MPIIO_GRANT_ASK, &asked, sizeof(asked));
}

/* Carries out the drop of that number, and returns the rights that the answer grants. */
static uint32_t granted_after(int number, uint64_t nonce, int error)
{
    struct mpiio_grant grant;

    memset(&told.answer, 0, sizeof(told.answer));
    told.drops[number].done(&session, &told.drops[number], error);
    if (told.answer.why[0] != 0 ||
        !mpiio_grant_take(session.grants.page, told.answer.slot, nonce, &grant))
        return 0;
    return grant.rights;
}

/* Two processes have one open file, and both ask before the kernel has invalidated its pages. */
TEST(two_ask_at_once, setup, teardown)
{
    ask(11);
    ask(22);
    assert_int_equal(told.count, 2);
    assert_int_equal(granted_after(0, 11, 0), MPIIO_GRANT_BOTH);
    assert_int_equal(granted_after(1, 22, 0), MPIIO_GRANT_BOTH);
}

/* The first drop does not cover pages that were read after it was queued. */
TEST(pages_between_the_drops, setup, teardown)
{
    ask(11);
    fs_grants_paged(&session, slice);
    ask(22);
    assert_int_equal(granted_after(0, 11, 0), 0);
    assert_int_equal(granted_after(1, 22, 0), MPIIO_GRANT_BOTH);
}

TEST(a_drop_that_fails, setup, teardown)
{
    ask(11);
    assert_int_equal(granted_after(0, 11, -EIO), 0);
}

/* A search for the bytes of a range without an end could take for ever. */
TEST(reports_have_an_end, setup, teardown)
{
    struct fs_handle shared = {.ops = &fs_shared_ops, .slice = slice};
    struct mpiio_grant_range range = {.offset = 1, .length = MPIIO_GRANT_RANGE_MAX};

    request(&shared, MPIIO_GRANT_WROTE, &range, sizeof(range));
    assert_int_equal(told.error, 0);
    assert_int_equal(told.searched, MPIIO_GRANT_RANGE_MAX);
    told.searched = 0;
    range.length = INT64_MAX - 1;
    request(&shared, MPIIO_GRANT_WROTE, &range, sizeof(range));
    assert_int_equal(told.error, EINVAL);
    assert_int_equal(told.searched, 0);
}
