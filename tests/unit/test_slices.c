/* SPDX-License-Identifier: MIT */
/* Tests the daemon's table of slices: one for each node, kept for a while, and its inode
   numbers. */
#include "slice_fixture.h"
#include "threads.h"

#include "fusefs/names/handle.h"

#define RANKS 40

static struct model {
    struct vs_spec *spec;
    struct mpiio_store *store;
    struct vs_view *common[1];
    struct fs_tree tree;
    struct fs_slices slices;
} model;

/* Each rank has a view of its own, with a text so long that few slices are kept. */
static int setup(void **state)
{
    int fd = make_file();

    model.spec =
        spec_from("{'viewspec': 1, 'file': 'f', 'ranks': 40, 'view': {'etype': 'double', "
                  "'disp': '100 / (39 - rank) + rank * 0', 'filetype': {'type': 'scatter'}}}");
    model.store = open_store_for(fd, O_RDWR);
    close(fd);
    fs_tree_init(&model.tree, model.spec, true);
    return fs_slices_init(&model.slices, &model.tree, model.store, model.common,
                          MPIIO_NARROW_REFUSE, 100 << 20);
}

static int teardown(void **state)
{
    fs_slices_free(&model.slices);
    mpiio_store_close(model.store);
    vs_spec_free(model.spec);
    return 0;
}

static struct fs_slice *get(int64_t rank, bool npy)
{
    struct fs_node node = {.kind = FS_SLICE, .rank = rank, .format = npy ? FS_NPY : FS_PLAIN};
    struct vs_error error = {0};
    struct fs_slice *slice;

    assert_int_equal(fs_slices_get(&model.slices, node, &slice, &error), 0);
    return slice;
}

TEST(one_of_each, setup, teardown)
{
    struct fs_slice *slice = get(3, false), *npy = get(3, true);

    assert_ptr_equal(get(3, false), slice);
    assert_ptr_equal(fs_slices_ref(&model.slices, slice), slice);
    assert_ptr_not_equal(npy, slice);
    assert_true(npy->header > 0 && slice->header == 0);
    assert_int_equal(npy->data, slice->inode);
    assert_int_equal(slice->entry.users, 3);
    for (int i = 0; i < 3; i++)
        fs_slices_put(&model.slices, slice);
    fs_slices_put(&model.slices, npy);
    assert_int_equal(model.slices.table.idle, 2);
    assert_ptr_equal(get(3, false), slice);
    assert_int_equal(model.slices.table.idle, 1);
    fs_slices_put(&model.slices, slice);
}

/* The least recently used slices are dropped first. Slices in use stay, however many there are. */
TEST(some_are_kept, setup, teardown)
{
    struct fs_slice *used = get(0, false), *slices[RANKS];
    size_t limit = model.slices.idle_limit;

    assert_int_equal(limit, 16);
    for (int64_t rank = 1; rank <= (int64_t)limit; rank++)
        fs_slices_put(&model.slices, slices[rank] = get(rank, false));
    /* Rank 1 is used again, so rank 2 is the least recently used. */
    fs_slices_put(&model.slices, get(1, false));
    assert_int_equal(model.slices.table.idle, limit);
    assert_int_equal(model.slices.table.oldest->key, slices[2]->inode);
    fs_slices_put(&model.slices, get((int64_t)limit + 1, false));
    assert_int_equal(model.slices.table.idle, limit);
    assert_ptr_equal(model.slices.table.oldest, &slices[3]->entry);
    assert_ptr_equal(get(0, false), used);
    fs_slices_put(&model.slices, used);
    fs_slices_put(&model.slices, used);
    assert_int_equal(model.slices.table.idle, limit);
}

TEST(wrong_views, setup, teardown)
{
    struct vs_error error = {0};
    struct fs_node node = {.kind = FS_SLICE, .rank = RANKS - 1}; /* its view divides by zero */
    struct fs_slice *slice = NULL;

    assert_int_equal(fs_slices_get(&model.slices, node, &slice, &error), -EINVAL);
    assert_non_null(strstr(error.reason, "zero"));
    assert_null(slice);
    assert_int_equal(model.slices.table.idle, 0);
}

TEST(new_numbers, setup, teardown)
{
    struct fs_slice *slice = get(1, false), *other = get(2, false);
    struct fs_version version = {.size = 1, .settled = true};
    struct fs_handle handle = {.slice = slice, .writes = true};
    uint64_t first, again;

    first = fs_slices_number(&model.slices, slice, &version);
    assert_int_equal(fs_slices_number(&model.slices, slice, &version), first);
    /* An open slice keeps its number, whatever happens to the file. Other slices get new
       numbers. */
    assert_int_equal(fs_handle_join(&model.slices, &handle, first, 1), 0);
    again = fs_slices_number(&model.slices, other, &version);
    version.size++;
    assert_int_equal(fs_slices_number(&model.slices, slice, &version), first);
    assert_int_not_equal(fs_slices_number(&model.slices, other, &version), again);
    assert_true(fs_handle_leave(&model.slices, &handle));
    assert_int_not_equal(fs_slices_number(&model.slices, slice, &version), first);
    /* A version that is not settled never equals another one. */
    version.settled = false;
    first = fs_slices_number(&model.slices, slice, &version);
    assert_int_not_equal(fs_slices_number(&model.slices, slice, &version), first);
    fs_slices_put(&model.slices, slice);
    fs_slices_put(&model.slices, other);
}

TEST(those_that_are_written, setup, teardown)
{
    struct fs_slice *slices[3] = {get(0, false), get(1, false), get(2, true)};
    struct fs_slice_list list;
    struct fs_handle handles[4] = {{.slice = slices[0], .reads = true},
                                   {.slice = slices[0], .writes = true},
                                   {.slice = slices[2], .reads = true},
                                   {.slice = slices[0], .writes = true}};

    for (int i = 0; i < 4; i++)
        assert_int_equal(fs_handle_join(&model.slices, &handles[i], handles[i].slice->inode, i + 1),
                         0);
    assert_int_equal(fs_slices_counts(&model.slices, slices[0]).writers, 2);
    assert_int_equal(fs_slices_counts(&model.slices, slices[1]).writers, 0);
    assert_int_equal(fs_slices_counts(&model.slices, slices[2]).writers, 0);
    assert_int_equal(fs_slices_written(&model.slices, &list), 0);
    assert_int_equal(list.count, 1);
    assert_ptr_equal(list.slices[0], slices[0]);
    assert_int_equal(slices[0]->entry.users, 2);
    fs_slices_put(&model.slices, list.slices[0]);
    free(list.slices);
    assert_false(fs_handle_leave(&model.slices, &handles[1]));
    assert_false(fs_handle_leave(&model.slices, &handles[0]));
    assert_true(fs_handle_leave(&model.slices, &handles[3]));
    assert_int_equal(fs_slices_counts(&model.slices, slices[0]).writers, 0);
    assert_false(fs_handle_leave(&model.slices, &handles[2]));
    for (int i = 0; i < 3; i++)
        fs_slices_put(&model.slices, slices[i]);
}

/* The waits that were reported, and those in progress. */
struct waits {
    int begun, under_way;
};

static void on_wait(void *data, bool begins)
{
    struct waits *waits = data;

    waits->begun += begins;
    waits->under_way += begins ? 1 : -1;
}

/* A wait must be reported, because another thread may have to answer the release first. */
TEST(waits_for_a_release, setup, teardown)
{
    struct fs_slice *slice = get(1, false);
    struct fs_handle handle = {.slice = slice, .writes = true};
    struct waits waits = {0};

    assert_int_equal(fs_handle_join(&model.slices, &handle, slice->inode, 1), 0);
    fs_handle_await_release(&model.slices, slice, on_wait, &waits);
    assert_int_equal(waits.begun, 0);
    fs_handle_flushed(&model.slices, &handle);
    fs_handle_await_release(&model.slices, slice, on_wait, &waits);
    assert_int_equal(waits.begun, 1);
    assert_int_equal(waits.under_way, 0);
    assert_true(fs_handle_leave(&model.slices, &handle));
    fs_handle_await_release(&model.slices, slice, on_wait, &waits);
    assert_int_equal(waits.begun, 1);
    fs_slices_put(&model.slices, slice);
}

static void *use_all(void *data)
{
    for (int round = 0; round < 30; round++)
        for (int64_t rank = 0; rank < RANKS - 1; rank++)
            fs_slices_put(&model.slices, get((rank * 7 + round) % (RANKS - 1), rank % 2 != 0));
    return NULL;
}

/* Several threads get and release the same slices. Afterwards no more than the limit are kept,
   and none twice. */
TEST(threads, setup, teardown)
{
    size_t count = 0;

    run_threads(4, use_all, &model, 0);
    for (size_t i = 0; i < MPIIO_LRU_BUCKETS; i++)
        for (struct mpiio_lru_entry *entry = model.slices.table.buckets[i]; entry != NULL;
             entry = entry->next) {
            count += entry->users == 0;
            for (struct mpiio_lru_entry *twin = entry->next; twin != NULL; twin = twin->next)
                assert_true(twin->key != entry->key);
        }
    assert_int_equal(count, model.slices.table.idle);
    assert_int_equal(count, model.slices.idle_limit);
}
