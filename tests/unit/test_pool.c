/* SPDX-License-Identifier: MIT */
#include "pool_fixture.h"

#include "random_views.h"
#include "threads.h"

/*
 * Tests pools of several nodes in one process against the file itself: what they read, how often
 * they read storage, and what happens when the file changes or homes fail.
 */

#define MIB ((int64_t)1 << 20)

static struct vs_view *half; /* every other word of the file */

/* Copies the bytes of a map from the file, run by run. */
static void by_hand(const struct vs_map *map, int64_t position, size_t length, char *buffer)
{
    struct vs_runs runs;
    struct vs_run run;

    vs_runs_start(&runs, map, position, (int64_t)length);
    while (vs_runs_next(&runs, &run)) {
        memcpy(buffer, (char *)fake.words + run.displacement, (size_t)run.length);
        buffer += run.length;
    }
}

/* Reads a slice on a node from end to end. Returns how many bytes the pool did not serve. */
static int64_t read_slice(int node, struct vs_view *view)
{
    const size_t step = (size_t)MIB;
    int64_t size = vs_view_slice_size(view, fake.size), passed = 0;
    char *got = malloc(step), *want = malloc(step);

    assert_true(got != NULL && want != NULL);
    for (int64_t at = 0; at < size; at += (int64_t)step) {
        size_t length = size - at < (int64_t)step ? (size_t)(size - at) : step;

        if (!pool_read(nodes.pool[node], view, at, length, got)) {
            passed += (int64_t)length;
            continue;
        }
        by_hand(vs_view_map(view), at, length, want);
        assert_memory_equal(got, want, length);
    }
    free(got);
    free(want);
    return passed;
}

struct reader {
    int node;
    struct vs_view *view;
    int64_t passed;
};

static void *read_all(void *data)
{
    struct reader *reader = data;

    reader->passed = read_slice(reader->node, reader->view);
    return NULL;
}

/* All nodes read their slices at the same time. */
static void read_together(struct vs_view **views)
{
    struct reader readers[NODES_MAX];

    for (int i = 0; i < nodes.count; i++)
        readers[i] = (struct reader){.node = i, .view = views[i]};
    run_threads(nodes.count, read_all, readers, sizeof(*readers));
    for (int i = 0; i < nodes.count; i++)
        assert_int_equal(readers[i].passed, 0);
}

/* Returns how many bytes of the slices have a home other than their reader. */
static uint64_t foreign(void)
{
    uint64_t words = 0;
    int home = 0;

    for (int64_t word = 0; word < WORDS(fake.size); word++) {
        if (word % WORDS(MIB) == 0)
            home = mpiio_homes_node(&nodes.homes, word / WORDS(MIB));
        words += home != word % nodes.count;
    }
    return 8 * words;
}

/* The nodes read the file twice, each its own words. Returns the bytes that nodes have sent to
   each other. */
static uint64_t check_together(uint64_t blocks)
{
    struct vs_view *views[NODES_MAX];
    struct mpiio_pool_stats sum;

    for (int i = 0; i < nodes.count; i++)
        views[i] = make_vector(8 * i, 8, 8 * nodes.count);
    atomic_store(&fake.read, 0);
    for (uint64_t again = 1; again <= 2; again++) {
        read_together(views);
        sum = stats_sum();
        assert_int_equal(atomic_load(&fake.read), fake.size);
        assert_int_equal(sum.storage_bytes, fake.size);
        assert_int_equal(sum.blocks, blocks);
        assert_int_equal(sum.received_bytes, sum.sent_bytes);
        assert_int_equal(sum.passed, 0);
    }
    for (int i = 0; i < nodes.count; i++)
        vs_view_unref(views[i]);
    return sum.sent_bytes;
}

TEST(what_nodes_read_together_is_read_once)
{
    make_fake(13 * MIB + 8 * 4321);
    for (int count = 1; count <= NODES_MAX; count++) {
        make_nodes(count, 64 * MIB);
        assert_int_equal(check_together(4), 2 * foreign());
    }
}

/* Each node reads the blocks from storage that it also stores, even if stripes are short. */
TEST(who_stores_a_block_reads_it)
{
    static const struct {
        int64_t unit, blocks;
    } stripes[] = {{MIB, 14}, {2 * MIB, 7}, {3 * MIB, 14}, {4 * MIB, 4}, {8 * MIB, 4}};

    make_fake(13 * MIB + 8 * 4321);
    for (size_t i = 0; i < sizeof(stripes) / sizeof(*stripes); i++)
        for (int count = 2; count <= NODES_MAX; count++) {
            struct mpiio_homes homes = mpiio_homes_of(stripes[i].unit, 2 * count, count);

            make_nodes_of(homes, 64 * MIB);
            assert_int_equal(check_together((uint64_t)stripes[i].blocks), 2 * foreign());
            for (int node = 0; node < count; node++) {
                int64_t own = 0;

                for (int64_t at = 0; at < fake.size; at += MIB)
                    if (mpiio_homes_node(&homes, at / MIB) == node)
                        own += fake.size - at < MIB ? fake.size - at : MIB;
                assert_int_equal(stats_of(nodes.pool[node]).storage_bytes, own);
            }
        }
}

/* The nodes read a file together. Each must read the same share of it from storage. */
static void check_even(struct mpiio_homes homes, int64_t size)
{
    make_fake(size);
    make_nodes_of(homes, size);
    check_together((uint64_t)(size / MPIIO_POOL_BLOCK));
    for (int node = 0; node < nodes.count; node++)
        assert_int_equal(stats_of(nodes.pool[node]).storage_bytes, size / nodes.count);
}

/* A single node stores a file that is on one server. The pool still uses the memory of all
   nodes. */
TEST(a_file_on_one_server_is_in_the_memory_of_all)
{
    check_even(mpiio_homes_of(MIB, 1, 4), 16 * MIB);
}

/* One node stores a stripe of 32 MiB. The pool divides it, so that readers of one region do not
   all ask the same node. */
TEST(long_stripes_are_spread)
{
    check_even(mpiio_homes_of(32 * MIB, 0, 3), 48 * MIB);
}

/* The pool returns the right bytes for any view and any range. */
TEST(random_requests_are_right)
{
    char *got = malloc((size_t)(2 * MIB)), *want = malloc((size_t)(2 * MIB));
    int served = 0;

    make_fake(21 * MIB + 8 * 999);
    make_nodes(3, 24 * MIB);
    for (int i = 0; i < 40; i++) {
        struct vs_view *view = random_view(i);
        int64_t size = vs_view_slice_size(view, fake.size);
        int64_t at = 0;

        for (int j = 0; j < 8 && size > 0; j++) {
            int64_t most = below(2) ? 2 * MIB : 1 + below(100000);
            int64_t length = 1 + rand() % (most < size - at ? most : size - at);

            if (pool_read(nodes.pool[below(3)], view, at, (size_t)length, got)) {
                by_hand(vs_view_map(view), at, (size_t)length, want);
                assert_memory_equal(got, want, (size_t)length);
                served++;
            }
            at = below(3) ? at + length : rand() % size;
            at = at < size ? at : 0;
        }
        vs_view_unref(view);
    }
    assert_true(served > 50);
    free(got);
    free(want);
}

TEST(short_reads_here_and_there_pass_by)
{
    char buffer[4096];

    make_fake(64 * MIB);
    make_nodes(2, 64 * MIB);
    for (int64_t i = 1; i <= 10; i++)
        assert_false(
            pool_read(nodes.pool[0], half, (11 - i) * 5 * MIB / 2, sizeof(buffer), buffer));
    assert_int_equal(atomic_load(&fake.read), 0);
}

/* Files larger than the pool stream through it. Its memory stays within the limit. */
TEST(a_small_pool_streams)
{
    struct vs_view *views[2] = {half, make_vector(8, 8, 16)};

    make_fake(48 * MIB);
    make_nodes(2, 16 * MIB);
    read_together(views);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(stats_of(nodes.pool[i]).size, 16 * MIB);
        assert_true(stats_of(nodes.pool[i]).held <= 16 * MIB);
    }
    vs_view_unref(views[1]);
}

/* A file that changes. */

struct changer {
    _Atomic uint64_t done; /* the last version that has been written completely */
    _Atomic bool stop;
};

/* Writes a new version piece by piece, as a file is written while others read it. */
static void change(bool epoch)
{
    uint64_t version;

    pthread_rwlock_wrlock(&fake.lock);
    version = fake.version + 1;
    fake.changing = true;
    pthread_rwlock_unlock(&fake.lock);
    for (int64_t first = 0; first < WORDS(fake.size); first += 65536) {
        pthread_rwlock_wrlock(&fake.lock);
        for (int64_t i = first; i < first + 65536 && i < WORDS(fake.size); i++)
            fake.words[i] = fake_word(i, version);
        pthread_rwlock_unlock(&fake.lock);
    }
    pthread_rwlock_wrlock(&fake.lock);
    fake.version = version;
    fake.epoch += epoch;
    fake.changing = false;
    pthread_rwlock_unlock(&fake.lock);
}

static void *keep_changing(void *data)
{
    struct changer *changer = data;

    while (!atomic_load(&changer->stop)) {
        change(rand() % 2);
        atomic_store(&changer->done, fake.version);
        usleep((useconds_t)(1 + rand() % 10) * 1000);
    }
    return NULL;
}

/* Checks words of a slice that were read after version least was complete. */
static void check_words(const uint64_t *words, size_t count, int64_t first, int step,
                        uint64_t least)
{
    size_t wrong = 0;

    for (size_t i = 0; i < count; i++) {
        uint64_t version = words[i] & 0xffff;

        wrong += version < least || words[i] != fake_word(first + (int64_t)i * step, version);
    }
    assert_int_equal(wrong, 0);
}

struct follower {
    int node;
    struct changer *changer;
    int served;
};

static void *follow(void *data)
{
    struct follower *self = data;
    int ranks = nodes.count;
    struct vs_view *view = make_vector(8 * self->node, 8, 8 * ranks);
    size_t length = (size_t)MIB / 4;
    uint64_t *words = malloc(length);

    for (int i = 0; self->served < 40; i++) {
        int64_t at = (int64_t)length * (i % 6);
        uint64_t least = atomic_load(&self->changer->done);

        if (!pool_read(nodes.pool[self->node], view, at, length, words))
            continue;
        self->served++;
        check_words(words, length / 8, self->node + at / 8 * ranks, ranks, least);
    }
    free(words);
    vs_view_unref(view);
    return NULL;
}

TEST(what_was_written_is_read_by_all_from_then_on)
{
    struct changer changer = {.done = 1};
    struct follower followers[3];
    pthread_t changes;

    make_fake(5 * MIB);
    make_nodes(3, 32 * MIB);
    start_threads(&changes, 1, keep_changing, &changer, 0);
    for (int i = 0; i < 3; i++)
        followers[i] = (struct follower){.node = i, .changer = &changer};
    run_threads(3, follow, followers, sizeof(*followers));
    atomic_store(&changer.stop, true);
    join_threads(&changes, 1);
}

TEST(what_storage_does_not_give_is_not_there)
{
    make_fake(9 * MIB);
    make_nodes(2, 32 * MIB);
    set_reads(-EIO, INT64_MAX);
    assert_true(read_slice(0, half) == 9 * MIB / 2);
    /* The file is shorter than its size claims, so no home can read the second block. */
    set_reads(0, 5 * MIB);
    assert_true(read_slice(0, half) > 0);
    set_reads(0, INT64_MAX);
    assert_int_equal(read_slice(0, half), 0);
    /* A request that reaches past the end. */
    assert_false(pool_read(nodes.pool[0], half, 4 * MIB, (size_t)MIB, (char[MIB]){0}));
}

/* One of many threads of a node. */
struct caller {
    struct vs_view *view;
    int64_t position;
    int refused; /* reads that the pool did not serve */
};

static void *read_again(void *data)
{
    struct caller *self = data;
    char *buffer = malloc((size_t)(4 * MIB));

    for (int i = 0; i < 10; i++)
        self->refused +=
            !pool_read(nodes.pool[2], self->view, self->position, (size_t)(4 * MIB), buffer);
    free(buffer);
    return NULL;
}

/* Half of the requests start at a block of home 0 and continue to home 1; the others go the
   other way. A home serves few connections from a node, so requests that held one while they
   wait for the other could deadlock. */
TEST(requests_of_the_same_homes_do_not_block_each_other)
{
    struct vs_view *view = make_vector(0, 8, 32);
    struct caller callers[12];

    make_fake(32 * MIB);
    make_nodes(3, 64 * MIB);
    for (int i = 0; i < 12; i++)
        callers[i] = (struct caller){view, i % 2 * MIB, 0};
    run_threads(12, read_again, callers, sizeof(*callers));
    for (int i = 0; i < 12; i++)
        assert_int_equal(callers[i].refused, 0);
    vs_view_unref(view);
}

/* Homes that fail. */

TEST(who_is_alone_reads_by_itself)
{
    make_fake(24 * MIB);
    make_nodes(3, 32 * MIB);
    assert_int_equal(read_slice(0, half), 0);
    leave(2);
    leave(2);
    assert_int_equal(read_slice(2, half), 12 * MIB);
    /* The others have lost a third of the blocks. Each request that needs one of them reads
       storage instead. */
    assert_true(read_slice(0, half) >= 4 * MIB);
    free_node(1);
    assert_true(read_slice(0, half) >= 8 * MIB);
}

/* Nodes read while a home exits or fails, at any moment. */
TEST(a_home_that_dies_meanwhile)
{
    make_fake(20 * MIB);
    for (int i = 0; i < 12; i++) {
        struct reader reader = {.node = 0, .view = half};
        pthread_t thread;

        make_nodes(2, 32 * MIB);
        assert_int_equal(pthread_create(&thread, NULL, read_all, &reader), 0);
        usleep((useconds_t)(rand() % 8) * 1000);
        if (i % 2)
            free_node(1);
        else
            leave(i / 2 % 2);
        pthread_join(thread, NULL);
    }
}

BEFORE_TESTS
{
    srand(20);
    half = make_vector(0, 8, 16);
}
