/* SPDX-License-Identifier: MIT */
/*
 * The record of shared file pointers: what nodes append, others read, whatever a crash has left
 * behind. Several open records of one process are several nodes: their locks exclude each other.
 */

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "record_fixture.h"
#include "core/base/clock.h"
#include "pointers/record_private.h"

TEST_GROUP(make_folder, remove_folder)

/* Moves the pointer of view 1 by count, as a take does. Returns where it was, or an error. */
static int64_t take(struct node *node, int64_t count)
{
    struct mpiio_entry entry = {.kind = MPIIO_ENTRY_POSITION, .view = 1};
    int64_t position = 0;
    int error = mpiio_record_lock(&node->record, true);

    if (error == 0)
        error = mpiio_record_read(&node->record, &node->state);
    if (error == 0) {
        position = node->state.position[1];
        entry.value = (uint64_t)(position + count);
        assert_int_equal(mpiio_state_apply(&node->state, &entry), 0);
        error = mpiio_record_append(&node->record, &entry, 1);
    }
    if (error == 0)
        error = mpiio_record_shorten(&node->record, &node->state);
    mpiio_record_unlock(&node->record);
    return error != 0 ? error : position;
}

TEST(nodes_see_each_others_entries, begin_all, end_all)
{
    struct stat st;

    for (int i = 0; i < 60; i++)
        assert_int_equal(take(&nodes[i % NODES], 1), i);
    assert_int_equal(fstatat(folder_fd, ".f.mpiio-pointers", &st, 0), 0);
    assert_int_equal(st.st_mode, S_IFREG | 0640);
    /* Space for further entries is allocated in advance. */
    assert_true(st.st_size > nodes[0].record.at + 1000 * 40);
    assert_int_equal(mpiio_record_lock(&nodes[0].record, false), 0);
    nodes[1].record.timeout = 200;
    assert_int_equal(take(&nodes[1], 1), -ETIMEDOUT);
    nodes[1].record.timeout = LIMIT;
    mpiio_record_unlock(&nodes[0].record);
    assert_int_equal(take(&nodes[1], 1), 60);
}

/* A crash in the midst of a write: any part of three entries may have been stored. */
TEST(torn_entries_end_the_log, begin_all, end_all)
{
    struct mpiio_entry entries[3];
    uint8_t bytes[120];
    int64_t position = 5;

    assert_int_equal(take(&nodes[0], 5), 0);
    for (int i = 0; i < 3; i++)
        entries[i] = (struct mpiio_entry){MPIIO_ENTRY_POSITION, 0, 1, (uint64_t)(1000 + i)};
    for (size_t part = 0; part < sizeof(bytes) / 3; part++) {
        assert_int_equal(take(&nodes[1], 1), position++);
        assert_int_equal(mpiio_record_lock(&nodes[0].record, true), 0);
        assert_int_equal(mpiio_record_read(&nodes[0].record, &nodes[0].state), 0);
        assert_int_equal(mpiio_record_append(&nodes[0].record, entries, 3), 0);
        nodes[0].record.at -= sizeof(bytes);
        assert_int_equal(pread(nodes[0].record.fd, bytes, sizeof(bytes), nodes[0].record.at),
                         sizeof(bytes));
        /* The first entry is torn; those behind it are whole. */
        bytes[part] ^= 0x5a;
        assert_int_equal(pwrite(nodes[0].record.fd, bytes, sizeof(bytes), nodes[0].record.at),
                         sizeof(bytes));
        nodes[0].record.generation = 0;
        mpiio_record_unlock(&nodes[0].record);
        assert_int_equal(take(&nodes[2], 1), position++);
        assert_int_equal(take(&nodes[0], 1), position++);
    }
}

/* The log is replaced by a snapshot again and again; a node that was away for long follows. */
TEST(long_logs_are_replaced, begin_all, end_all)
{
    int64_t position = 0;
    struct stat st;

    assert_int_equal(take(&nodes[2], 1), position++);
    for (int round = 0; round < 5; round++) {
        uint64_t generation = nodes[0].record.generation;

        while (nodes[0].record.generation == generation || nodes[0].record.generation == 0)
            assert_int_equal(take(&nodes[rand() % 2], 1), position++);
        assert_int_equal(take(&nodes[1], 1), position++);
        /* Without the lock, as a node that waits for a turn reads. */
        assert_int_equal(mpiio_record_read(&nodes[2].record, &nodes[2].state), 0);
        assert_int_equal(nodes[2].state.position[1], position);
    }
    assert_int_equal(fstat(nodes[0].record.fd, &st), 0);
    assert_in_range(st.st_size, 1 << 20, 3 << 20);
    assert_int_equal(take(&nodes[2], 1), position);
}

/* Leftovers of a snapshot whose writer has died do not continue a shorter one at the same place. */
TEST(leftovers_of_a_snapshot_do_not_count, begin_all, end_all)
{
    const struct mpiio_entry back = {.kind = MPIIO_ENTRY_POSITION, .view = 1};
    struct stat st;
    uint8_t header[1024];
    int64_t position = 0;

    while (nodes[0].record.generation < 2)
        assert_int_equal(take(&nodes[0], 1), position++);
    while (nodes[0].record.generation == 2) {
        assert_int_equal(pread(nodes[0].record.fd, header, sizeof(header), 0), sizeof(header));
        assert_int_equal(take(&nodes[0], 1), position++);
    }
    /* The snapshot of generation 3 is there, with a position, but its header is not. */
    assert_int_equal(fstat(nodes[0].record.fd, &st), 0);
    assert_int_equal(pwrite(nodes[0].record.fd, header, sizeof(header), 0), sizeof(header));
    nodes[0].record.generation = 0;
    /* All pointers are at their beginning: the next snapshot has no entry. */
    assert_int_equal(mpiio_record_lock(&nodes[1].record, false), 0);
    assert_int_equal(mpiio_record_read(&nodes[1].record, &nodes[1].state), 0);
    assert_int_equal(nodes[1].state.position[1], position);
    assert_int_equal(mpiio_state_apply(&nodes[1].state, &back), 0);
    assert_int_equal(mpiio_record_append(&nodes[1].record, &back, 1), 0);
    assert_int_equal(mpiio_record_shorten(&nodes[1].record, &nodes[1].state), 0);
    assert_int_equal(nodes[1].record.generation, 3);
    mpiio_record_unlock(&nodes[1].record);
    assert_int_equal(take(&nodes[2], 1), 0);
}

/* A crash while a header is written leaves the one before it in force. */
TEST(a_torn_header_does_not_count, begin_all, end_all)
{
    uint8_t junk[56];

    assert_int_equal(take(&nodes[0], 7), 0);
    memset(junk, 0x5a, sizeof(junk));
    assert_int_equal(pwrite(nodes[0].record.fd, junk, sizeof(junk), 0), sizeof(junk));
    assert_int_equal(take(&nodes[1], 1), 7);
}

TEST(a_record_that_a_mount_left_is_replaced, begin_all, end_all)
{
    struct node other;

    begin_node(&other, 1, 2);
    assert_int_equal(take(&other, 9), 0);
    assert_int_equal(take(&nodes[0], 1), -EBUSY);
    mpiio_record_close(&other.record);
    assert_int_equal(take(&nodes[0], 1), 0);
    assert_int_equal(take(&nodes[1], 1), 1);
    /* The other mount does not go on in this one's record. */
    assert_int_equal(take(&other, 1), -EBUSY);
    end_node(&other);
}

/* Nodes that have joined go on together, whatever becomes of the name. */
TEST(a_record_that_was_removed_stays_in_use, begin_all, end_all)
{
    struct node other;

    for (int i = 0; i < NODES; i++)
        assert_int_equal(take(&nodes[i], 1), i);
    assert_int_equal(unlinkat(folder_fd, ".f.mpiio-pointers", 0), 0);
    begin_node(&other, 0, 2);
    assert_int_equal(take(&other, 1), 0);
    for (int i = 0; i < NODES; i++)
        assert_int_equal(take(&nodes[i], 1), NODES + i);
    end_node(&other);
}

TEST(a_failed_read_returns_the_error)
{
    const struct mpiio_record record = {.fd = -1};
    uint8_t byte;

    assert_int_equal(mpiio_record_pread(&record, &byte, 1, 0), -EBADF);
}

/* Only a node that may create the record makes one of an empty file. */
TEST(an_empty_file_is_no_record, begin_all, end_all)
{
    int fd = openat(folder_fd, ".f.mpiio-pointers", O_CREAT | O_RDWR, 0600);

    assert_int_equal(mpiio_record_lock(&nodes[1].record, false), -ENOENT);
    close(fd);
    assert_int_equal(take(&nodes[0], 1), 0);
    assert_int_equal(mpiio_record_lock(&nodes[1].record, false), 0);
}

TEST(another_file_of_that_name_is_left_alone, begin_all, end_all)
{
    int fd = openat(folder_fd, ".f.mpiio-pointers", O_CREAT | O_RDWR, 0600);

    assert_int_equal(write(fd, "text", 4), 4);
    assert_int_equal(take(&nodes[0], 1), -EEXIST);
    close(fd);
    unlinkat(folder_fd, ".f.mpiio-pointers", 0);
    assert_int_equal(symlinkat("elsewhere", folder_fd, ".f.mpiio-pointers"), 0);
    assert_int_equal(take(&nodes[0], 1), -ELOOP);
}

/* Node 0 creates the record; the others must find it, and see its lock. */
TEST(nodes_prove_that_they_share_it, begin_all, end_all)
{
    assert_int_equal(mpiio_record_prove(&nodes[1].record), -ENOENT);
    assert_int_equal(mpiio_record_lock(&nodes[0].record, true), 0);
    mpiio_record_unlock(&nodes[0].record);
    assert_int_equal(mpiio_record_prove(&nodes[1].record), 0);
    /* Without its lock, as if that were kept within its own host. */
    mpiio_record_close(&nodes[0].record);
    assert_int_equal(mpiio_record_prove(&nodes[2].record), -ENOLCK);
}

/* The lock of the node that waits for the record's lock as the first of those that do. */
static const struct flock next_place = {
    .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = ((off_t)1 << 61) - 1, .l_len = 1};

static int64_t taken_next;

/* Appends once it has the lock. */
static void *take_next(void *data)
{
    taken_next = take(data, 1);
    return NULL;
}

/* Returns true if another node is next. */
static bool has_next(const struct node *node)
{
    struct flock next = next_place;

    assert_int_equal(fcntl(node->record.fd, F_OFD_GETLK, &next), 0);
    return next.l_type != F_UNLCK;
}

/* A node may keep the lock for 20 ms, and others are first then. */
TEST(a_node_keeps_the_lock_for_a_while, begin_all, end_all)
{
    const struct mpiio_entry entry = {.kind = MPIIO_ENTRY_POSITION, .view = 1, .value = 100};
    uint64_t generation;
    pthread_t thread;

    assert_int_equal(take(&nodes[0], 2), 0);
    assert_false(mpiio_record_keeps(&nodes[0].record));
    assert_int_equal(mpiio_record_lock(&nodes[0].record, false), 0);
    assert_false(mpiio_record_keeps(&nodes[0].record));
    nodes[0].record.synced = true;
    nodes[0].record.since = mpiio_lease_clock() + LIMIT;
    assert_true(mpiio_record_keeps(&nodes[0].record));
    /* Not if the state must be read again, as after a failed snapshot. */
    generation = nodes[0].record.generation;
    nodes[0].record.generation = 0;
    assert_false(mpiio_record_keeps(&nodes[0].record));
    assert_false(mpiio_record_is_kept(&nodes[0].record));
    assert_int_equal(mpiio_record_append(&nodes[0].record, &entry, 1), -ECANCELED);
    nodes[0].record.generation = generation;
    assert_int_equal(pthread_create(&thread, NULL, take_next, &nodes[1]), 0);
    while (!has_next(&nodes[0]))
        sched_yield();
    nodes[0].record.since = mpiio_lease_clock() - 20;
    assert_false(mpiio_record_keeps(&nodes[0].record));
    mpiio_record_unlock(&nodes[0].record);
    assert_int_equal(take(&nodes[0], 1), 3);
    pthread_join(thread, NULL);
    assert_int_equal(taken_next, 2);
}

/* A node that is next may be frozen. The others get the lock all the same. */
TEST(a_frozen_node_that_is_next_blocks_nobody, begin_all, end_all)
{
    assert_int_equal(take(&nodes[0], 1), 0);
    assert_int_equal(take(&nodes[1], 1), 1);
    assert_int_equal(fcntl(nodes[1].record.fd, F_OFD_SETLK, &next_place), 0);
    nodes[0].record.yields = true;
    assert_int_equal(take(&nodes[0], 1), 2);
}

TEST(heartbeats_and_ends_are_seen, begin_all, end_all)
{
    for (int i = 0; i < 2; i++)
        assert_int_equal(take(&nodes[i], 1), i);
    assert_int_equal(mpiio_record_beats(&nodes[0].record, 1), 0);
    assert_int_equal(mpiio_record_beat(&nodes[1].record), 0);
    assert_int_equal(mpiio_record_beats(&nodes[0].record, 1), 1);
    assert_true(mpiio_record_has_node(&nodes[0].record, 1));
    assert_false(mpiio_record_has_node(&nodes[0].record, 2));
    mpiio_record_close(&nodes[1].record);
    assert_false(mpiio_record_has_node(&nodes[0].record, 1));
}

/* A process that takes, and reports each take, until it is killed. */
static pid_t start_taker(int number, int pipe)
{
    pid_t child = fork();
    struct node node;
    int64_t position;

    if (child != 0)
        return child;
    begin_node(&node, number, 1);
    for (;;) {
        position = take(&node, 1);
        if (position < 0)
            _exit(1);
        if (position >= 0 && write(pipe, &position, sizeof(position)) != sizeof(position))
            _exit(2);
    }
}

/* Nothing that was reported as taken is taken twice, whenever nodes are killed or stopped. */
TEST(killed_nodes_lose_nothing, begin_all, end_all)
{
    static bool taken[1 << 20];
    pid_t child[2];
    int pipes[2], status;
    int64_t position, last = -1;

    memset(taken, 0, sizeof(taken));
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(fcntl(pipes[1], F_SETPIPE_SZ, 1 << 20), 1 << 20);
    for (int round = 0; round < 30; round++) {
        for (int i = 0; i < 2; i++)
            child[i] = start_taker(i, pipes[1]);
        usleep(1000 + (useconds_t)(rand() % 20000));
        kill(child[0], SIGSTOP);
        usleep(1000);
        kill(child[1], SIGKILL);
        kill(child[0], SIGKILL);
        for (int i = 0; i < 2; i++) {
            waitpid(child[i], &status, 0);
            assert_true(WIFSIGNALED(status));
        }
        fcntl(pipes[0], F_SETFL, O_NONBLOCK);
        while (read(pipes[0], &position, sizeof(position)) == sizeof(position)) {
            assert_in_range(position, 0, sizeof(taken) - 1);
            assert_false(taken[position]);
            taken[position] = true;
            last = position > last ? position : last;
        }
        position = take(&nodes[2], 1);
        assert_true(position > last);
        taken[position] = true;
        last = position;
    }
    close(pipes[0]);
    close(pipes[1]);
}
