/* SPDX-License-Identifier: MIT */
/*
 * Shared file pointers of several nodes, which are threads here: what each takes, and who dies; and
 * shares in the order of ranks, which come to any node.
 */

#include <sched.h>
#include <stdatomic.h>

#include "folder_fixture.h"
#include "pointers/ordered.h"
#include "pointers/pointers.h"
#include "pointers/request.h"
#include "threads.h"

#define NODES    4
#define VIEWS    2
#define TAKERS   8
#define ETYPES   4000
#define PATIENCE 4000 /* ms */

/* The byte of the record that is its lock (record_file.c). */
#define RECORD_NAME    ".f.mpiio-pointers"
#define RECORD_LOCK_AT ((off_t)1 << 61)

#define RANKS  5
#define LINES  40
#define RECORD 8

static struct mpiio_pointers *node[NODES];
static struct mpiio_ordered *ordered[NODES];
static char file[RANKS * LINES * RECORD + RECORD];
static int nodes;
static atomic_int owner[ETYPES + 1]; /* how often it was given */
static atomic_int taken;

static int open_share(void *number, size_t view, int64_t rank, uint64_t *share)
{
    return mpiio_pointers_open(node[(intptr_t)number], view, rank, share);
}

static int end_share(void *number, size_t view, uint64_t share, uint64_t *turn)
{
    return mpiio_pointers_over(node[(intptr_t)number], view, share, turn);
}

/* Set by the test in which all nodes leave at once. */
static bool all_leave;
static _Atomic bool zero_has_ended;
static _Atomic int stores;

static void leave(void *number)
{
    if (node[(intptr_t)number] != NULL)
        mpiio_pointers_leave(node[(intptr_t)number], all_leave);
}

static bool is_all_over(void *number)
{
    return node[(intptr_t)number] == NULL || mpiio_pointers_are_over(node[(intptr_t)number]);
}

/* Node 0 must not have ended yet. */
static void store(void *number)
{
    usleep(50000);
    assert_true((intptr_t)number == 0 || !all_leave || !atomic_load(&zero_has_ended));
    atomic_fetch_add(&stores, 1);
}

/* The next takes of place fail, because another descriptor of the record holds its lock: NULL, or
   the calls of place so far. */
static _Atomic int *locked_calls;

/* Locks the record before the first call of place, and unlocks it before the second. */
static void lock_or_unlock(int call)
{
    static int fd;
    struct flock lock = {.l_type = F_WRLCK, .l_start = RECORD_LOCK_AT, .l_len = 1};

    if (call == 0) {
        fd = openat(folder_fd, RECORD_NAME, O_RDWR | O_CLOEXEC);
        assert_int_equal(fcntl(fd, F_OFD_SETLKW, &lock), 0);
    } else if (call == 1) {
        close(fd);
    }
}

static int place(void *number, size_t view, uint64_t share, const void *buffer, size_t length,
                 struct mpiio_ordered_waiter *waiter)
{
    int64_t position, got;

    if (locked_calls != NULL)
        lock_or_unlock((*locked_calls)++);
    got = mpiio_pointers_take(node[(intptr_t)number], view, share, (int64_t)length, sizeof(file),
                              &position);
    if (got == -ETIMEDOUT)
        return MPIIO_ORDERED_LATER;
    if (got < 0)
        return (int)got;
    if (got != (int64_t)length)
        return -EFBIG;
    memcpy(file + position, buffer, length);
    return 0;
}

static void tell_turn(void *number, size_t view, uint64_t turn, bool own)
{
    mpiio_ordered_turn(ordered[(intptr_t)number], view, turn, own);
}

/* The number of lines that all nodes have logged, and the last of them. */
static _Atomic int lines;
static char last_line[256];

static void note_line(void *number, enum mpiio_log_level level, const char *line)
{
    assert_int_equal(level, MPIIO_LOG_ERROR);
    snprintf(last_line, sizeof(last_line), "%s", line);
    atomic_fetch_add(&lines, 1);
}

/* Starts the part that keeps waiting bytes on a node; 10 records at most. */
static void start_ordered(int number)
{
    static const int64_t etype[VIEWS] = {1, 1};
    void *data = (void *)(intptr_t)number;
    const struct mpiio_ordered_options options = {
        .views = VIEWS,
        .etype = etype,
        .memory = 10 * RECORD,
        .turns = {open_share, end_share, leave, is_all_over, data},
        .place = place,
        .store = store,
        .data = data};

    assert_int_equal(mpiio_ordered_new(&options, &ordered[number]), 0);
    assert_int_equal(mpiio_ordered_start(ordered[number]), 0);
}

/* The last node that has exited has removed the record. */
TEST_GROUP(make_folder, remove_folder)

static void start(int count)
{
    static const int64_t begin[VIEWS] = {0, 40};
    const struct mpiio_record record = {.folder = folder_fd,
                                        .name = RECORD_NAME,
                                        .identity = {1},
                                        .coherence = MPIIO_COHERENCE_LOCAL,
                                        .shared = {.st_mode = S_IFREG | 0600}};

    nodes = count;
    for (int i = 0; i < nodes; i++) {
        const struct mpiio_pointers_options options = {.count = VIEWS,
                                                       .start = begin,
                                                       .node = i,
                                                       .nodes = nodes,
                                                       .ranks = RANKS,
                                                       .timeout = PATIENCE,
                                                       .turn = tell_turn,
                                                       .log = note_line,
                                                       .data = (void *)(intptr_t)i};

        start_ordered(i);
        assert_int_equal(mpiio_pointers_new(&options, &node[i]), 0);
        assert_int_equal(mpiio_pointers_meet(node[i], &record), 0);
    }
    for (int i = 0; i < nodes; i++)
        assert_int_equal(mpiio_pointers_start(node[i]), 0);
    atomic_store(&taken, 0);
    for (int i = 0; i <= ETYPES; i++)
        atomic_store(&owner[i], 0);
}

static void end(void)
{
    for (int i = 0; i < nodes; i++)
        mpiio_ordered_finish(ordered[i], NULL, NULL);
    for (int i = 0; i < nodes; i++)
        mpiio_pointers_free(node[i]);
    for (int i = 0; i < nodes; i++)
        mpiio_ordered_free(ordered[i]);
}

/* Checks that a take of etypes on a node gives all of them, at a position. */
static void expect_take(int number, size_t view, int64_t count, int64_t expected)
{
    int64_t position;

    assert_int_equal(mpiio_pointers_take(node[number], view, MPIIO_POINTERS_ANYBODY, count,
                                         INT64_MAX, &position),
                     count);
    assert_int_equal(position, expected);
}

static void expect_position(int number, size_t view, int64_t expected)
{
    int64_t position;
    uint64_t turn;

    assert_int_equal(mpiio_pointers_get(node[number], view, &position, &turn), 0);
    assert_int_equal(position, expected);
}

/* A node exits. */
static void end_node(int number)
{
    mpiio_pointers_free(node[number]);
    node[number] = NULL;
}

/* Takes on a node, whose number is passed, until nothing is left or too much was taken. */
static void *take_all(void *number)
{
    struct mpiio_pointers *own = node[*(int *)number];
    int64_t got, position = 0;

    while ((got = mpiio_pointers_take(own, 0, MPIIO_POINTERS_ANYBODY, 1 + position % 3, ETYPES,
                                      &position)) > 0) {
        for (int64_t i = position; i < position + got; i++)
            atomic_fetch_add(&owner[i], 1);
        atomic_fetch_add(&taken, (int)got);
    }
    return (void *)(intptr_t)got;
}

/* On each node from first on takers begin. */
static void begin_takers(pthread_t *thread, int first)
{
    static int numbers[TAKERS];

    for (int i = 0; i < TAKERS; i++)
        numbers[i] = first + i % (nodes - first);
    start_threads(thread, TAKERS, take_all, numbers, sizeof(*numbers));
}

static void await_takers(pthread_t *thread)
{
    join_threads(thread, TAKERS);
    for (int i = 0; i < ETYPES; i++)
        if (atomic_load(&owner[i]) != 1)
            fail_msg("etype %d was given %d times", i, atomic_load(&owner[i]));
}

TEST(each_is_given_once)
{
    pthread_t thread[TAKERS];

    start(NODES);
    begin_takers(thread, 0);
    await_takers(thread);
    end();
}

/* Etypes that a node had taken stay taken. */
TEST(the_first_node_exits)
{
    pthread_t thread[TAKERS];

    start(NODES);
    expect_take(0, 1, 7, 40);
    begin_takers(thread, 1);
    while (atomic_load(&taken) < ETYPES / 4)
        sched_yield();
    end_node(0);
    await_takers(thread);
    expect_take(3, 1, 1, 47);
    end();
}

/* One after the other, down to a single node. */
TEST(all_but_one_die)
{
    start(3);
    for (int i = 0; i < 3; i++) {
        expect_take(2, 0, 5, 10 * i);
        expect_take(i, 0, 5, 10 * i + 5);
        if (i < 2)
            end_node(i);
    }
    end();
}

/* A position that is set holds for all nodes, also a lower one, and remains when a node exits. */
TEST(set_and_get)
{
    int64_t position;

    start(NODES);
    expect_position(2, 1, 40);
    assert_int_equal(mpiio_pointers_take(node[1], 1, MPIIO_POINTERS_ANYBODY, 1000, 90, &position),
                     50);
    assert_int_equal(mpiio_pointers_take(node[1], 1, MPIIO_POINTERS_ANYBODY, 1, 90, &position), 0);
    assert_int_equal(mpiio_pointers_set(node[3], 1, 12), 0);
    assert_int_equal(mpiio_pointers_set(node[3], 1, -1), -EINVAL);
    end_node(0);
    expect_position(1, 1, 12);
    expect_position(2, 0, 0);
    end();
}

/* A rank, which comes to the nodes from first on, and puts a record a round. */
struct rank {
    int rank, first;
    unsigned seed;
};

static void *put_records(void *data)
{
    struct rank *self = data;
    struct mpiio_ordered_waiter waiter = {0};
    struct mpiio_share *share;
    char record[RECORD + 1];

    for (int line = 0; line < LINES; line++) {
        int to = self->first + rand_r(&self->seed) % (nodes - self->first);

        snprintf(record, sizeof(record), "%3d %3d\n", line, self->rank);
        for (int i = rand_r(&self->seed) % 50; i > 0; i--)
            sched_yield();
        if (mpiio_ordered_open(ordered[to], 0, self->rank, &share) != 0 ||
            mpiio_share_write(share, record, RECORD, &waiter) != RECORD)
            abort();
        mpiio_share_close(share);
    }
    return NULL;
}

/* Ranks put all records at the nodes from first on. If that is 1, node 0 exits meanwhile. */
static void put_all(int first)
{
    bool dies = first > 0;
    struct mpiio_ordered_stats stats;
    struct rank all[RANKS];
    pthread_t threads[RANKS];
    char record[RECORD + 1];
    uint64_t shares;

    memset(file, 0, sizeof(file));
    for (int i = 0; i < RANKS; i++)
        all[i] = (struct rank){.rank = i, .first = first, .seed = (unsigned)i};
    start_threads(threads, RANKS, put_records, all, sizeof(*all));
    do {
        shares = 0;
        for (int i = first; i < nodes; i++) {
            mpiio_ordered_get_stats(ordered[i], &stats);
            shares += stats.shares;
        }
        if (dies && shares > RANKS * LINES / 3) {
            end_node(0);
            dies = false;
        }
        sched_yield();
    } while (shares < RANKS * LINES);
    join_threads(threads, RANKS);
    for (int i = 0; i < RANKS * LINES; i++) {
        snprintf(record, sizeof(record), "%3d %3d\n", i / RANKS, i % RANKS);
        assert_memory_equal(file + (size_t)i * RECORD, record, RECORD);
    }
}

TEST(shares_are_in_order)
{
    start(NODES);
    put_all(0);
    end();
}

TEST(a_node_without_contributions_exits)
{
    start(NODES);
    put_all(1);
    end();
}

/* A contribution that cannot be placed while the record is locked is placed afterwards, at its
   place, and once. */
TEST(a_lock_that_is_not_released_in_time)
{
    struct mpiio_ordered_waiter waiter = {0};
    struct mpiio_ordered_stats stats;
    struct mpiio_share *zero, *one;
    _Atomic int calls = 0;

    atomic_store(&lines, 0);
    locked_calls = &calls; /* before the threads start, and until they have ended */
    start(2);
    memset(file, 0, sizeof(file));
    assert_int_equal(mpiio_ordered_open(ordered[0], 0, 0, &zero), 0);
    assert_int_equal(mpiio_ordered_open(ordered[1], 0, 1, &one), 0);
    assert_int_equal(mpiio_share_write(one, "held", 4, &waiter), 4);
    mpiio_share_close(one);
    mpiio_share_close(zero);
    do {
        usleep(1000);
        mpiio_ordered_get_stats(ordered[1], &stats);
    } while (stats.shares == 0);
    assert_int_equal(calls, 2);
    assert_int_equal(stats.lost, 0);
    assert_memory_equal(file, "held", 5);
    end();
    assert_int_equal(atomic_load(&lines), 1);
    assert_non_null(strstr(last_line, "another node does not release its lock"));
    locked_calls = NULL;
}

/* Other failures of the record are EIO, and the log has the reason. */
TEST(programs_get_errors_that_their_users_can_fix)
{
    static const int shown[] = {-EACCES, -EROFS, -ENOSPC, -ENOMEM},
                     hidden[] = {-EPERM, -EBUSY, -ESTALE, -EIO};

    for (enum mpiio_request_kind kind = MPIIO_REQUEST_GET; kind <= MPIIO_REQUEST_EXIT; kind++) {
        struct mpiio_request request = {.kind = kind};
        int waited = kind == MPIIO_REQUEST_TAKE ? -ETIMEDOUT : -EIO;

        for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++) {
            assert_int_equal(mpiio_request_error(&request, shown[i]), shown[i]);
            assert_int_equal(mpiio_request_error(&request, hidden[i]), -EIO);
        }
        assert_int_equal(mpiio_request_error(&request, -ETIMEDOUT), waited);
        assert_int_equal(mpiio_request_error(&request, -ECANCELED), waited);
    }
}

static void *finish_node(void *number)
{
    mpiio_ordered_finish(ordered[*(int *)number], NULL, NULL);
    if (*(int *)number == 0)
        atomic_store(&zero_has_ended, true);
    return NULL;
}

/* A node that all leave with ends when the others have placed and stored what waited there. */
TEST(all_leave_together)
{
    struct mpiio_ordered_waiter waiter = {0};
    struct mpiio_share *share[2];
    int numbers[] = {0, 1, 2};

    start(3);
    all_leave = true;
    memset(file, 0, sizeof(file));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(mpiio_ordered_open(ordered[1 + i], 0, 3 - i, &share[i]), 0);
        assert_int_equal(mpiio_share_write(share[i], i == 0 ? "last" : "left", 4, &waiter), 4);
        mpiio_share_close(share[i]);
    }
    /* Each node closes what is open before any node leaves. */
    for (int i = 0; i < 3; i++)
        mpiio_ordered_close(ordered[i]);
    run_threads(3, finish_node, numbers, sizeof(*numbers));
    all_leave = false;
    assert_int_equal(atomic_load(&stores), 2);
    assert_memory_equal(file, "leftlast", 9);
    end();
}
