/* SPDX-License-Identifier: MIT */
/*
 * The positions of shared file pointers in memory that processes share: takes by other processes
 * beside those of the pointers, invalid positions, and memory that must not be trusted.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "unit.h"
#include "core/base/grant.h"
#include "pointers/pointers.h"

#define VIEWS  3
#define TAKERS 6
#define ETYPES 60000

static struct mpiio_pointers *pointers;
static _Atomic int64_t *words;
static int memory;

static ino_t inode_of(int fd)
{
    struct stat st;

    assert_int_equal(fstat(fd, &st), 0);
    return st.st_ino;
}

static int make_pointers(void **state)
{
    static const int64_t start[VIEWS] = {0, 40, 0};
    struct mpiio_pointers_options options = {.count = VIEWS, .start = start, .nodes = 1};

    words = mpiio_positions_new(VIEWS, &memory);
    assert_non_null(words);
    options.positions = words;
    return mpiio_pointers_new(&options, &pointers);
}

static int end(void **state)
{
    mpiio_pointers_free(pointers);
    munmap(words, VIEWS * sizeof(*words));
    return close(memory);
}

/* Counts each etype that this process takes of view 0 in owner, and exits. */
static void take_all(bool by_words, atomic_uchar *owner)
{
    _Atomic int64_t *mapped = mpiio_positions_map(getppid(), memory, inode_of(memory), VIEWS);
    int64_t position = 0, got, last = -1;

    if (mapped == NULL)
        _exit(1);
    do {
        int64_t count = 1 + position % 3;

        got = by_words ? mpiio_position_take(mapped, count, ETYPES, &position)
                       : mpiio_pointers_take(pointers, 0, MPIIO_POINTERS_ANYBODY, count, ETYPES,
                                             &position);
        if (got < 0 || got > count || (got > 0 && position <= last))
            _exit(2);
        for (int64_t i = position; i < position + got; i++)
            atomic_fetch_add(&owner[i], 1);
        last = position;
    } while (got > 0);
    _exit(0);
}

/* Half of the processes use the words, half the pointers, as the daemon does. */
TEST(each_etype_is_taken_once, make_pointers, end)
{
    atomic_uchar *owner =
        mmap(NULL, ETYPES + 3, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int64_t position;
    uint64_t turn;
    int status;

    for (int i = 0; i < TAKERS; i++)
        if (fork() == 0)
            take_all(i % 2 == 0, owner);
    for (int i = 0; i < TAKERS; i++) {
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    for (int i = 0; i < ETYPES + 3; i++)
        assert_int_equal(atomic_load(&owner[i]), i < ETYPES);
    assert_int_equal(mpiio_pointers_get(pointers, 0, &position, &turn), 0);
    assert_int_equal(position, ETYPES);
    munmap(owner, ETYPES + 3);
}

TEST(the_words_are_the_positions, make_pointers, end)
{
    int64_t position;
    uint64_t turn;

    assert_int_equal(atomic_load(&words[1]), 40);
    assert_int_equal(mpiio_position_take(&words[1], 5, 43, &position), 3);
    assert_int_equal(position, 40);
    assert_int_equal(mpiio_position_take(&words[1], 5, 43, &position), 0);
    assert_int_equal(mpiio_position_take(&words[1], 5, 12, &position), 0);
    assert_int_equal(mpiio_pointers_take(pointers, 1, MPIIO_POINTERS_ANYBODY, 2, 100, &position),
                     2);
    assert_int_equal(position, 43);
    assert_int_equal(mpiio_pointers_set(pointers, 1, 7), 0);
    assert_int_equal(mpiio_position_take(&words[1], 1, 100, &position), 1);
    assert_int_equal(position, 7);
    assert_int_equal(mpiio_pointers_get(pointers, 1, &position, &turn), 0);
    assert_int_equal(position, 8);
    assert_int_equal(atomic_load(&words[0]) + atomic_load(&words[2]), 0);
}

/* Any program of the user can write to the words. */
TEST(invalid_positions, make_pointers, end)
{
    int64_t position;
    uint64_t turn;

    atomic_store(&words[0], -1);
    assert_int_equal(mpiio_pointers_take(pointers, 0, MPIIO_POINTERS_ANYBODY, 1, 9, &position),
                     -EIO);
    assert_int_equal(mpiio_pointers_get(pointers, 0, &position, &turn), -EIO);
    atomic_store(&words[0], INT64_MIN);
    assert_int_equal(mpiio_position_take(&words[0], INT64_MAX, INT64_MAX, &position), -EIO);
    assert_int_equal(atomic_load(&words[0]), INT64_MIN);
    atomic_store(&words[0], INT64_MAX);
    assert_int_equal(mpiio_position_take(&words[0], INT64_MAX, INT64_MAX, &position), 0);
    atomic_store(&words[0], INT64_MAX - 1);
    assert_int_equal(mpiio_position_take(&words[0], INT64_MAX, INT64_MAX, &position), 1);
    assert_int_equal(atomic_load(&words[0]), INT64_MAX);
    assert_int_equal(mpiio_pointers_set(pointers, 0, 0), 0);
    assert_int_equal(mpiio_pointers_take(pointers, 0, MPIIO_POINTERS_ANYBODY, 1, 9, &position), 1);
}

/* The length cannot change, so no access of the daemon faults. */
TEST(memory_that_is_not_trusted, make_pointers, end)
{
    int other = memfd_create(MPIIO_POSITIONS_MEMORY, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int foreign = memfd_create("mpiio-grants", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    ino_t inode = inode_of(memory);

    assert_int_equal(ftruncate(memory, 0), -1);
    assert_int_equal(ftruncate(memory, 1 << 20), -1);
    assert_int_equal(fcntl(memory, F_ADD_SEALS, F_SEAL_WRITE), -1);
    assert_non_null(mpiio_positions_map(getpid(), memory, inode, VIEWS));
    assert_null(mpiio_positions_map(getpid(), memory, inode, VIEWS + 1));
    assert_null(mpiio_positions_map(getpid(), memory, inode + 1, VIEWS));
    assert_null(mpiio_positions_map(getpid(), -1, inode, VIEWS));
    assert_int_equal(ftruncate(other, VIEWS * sizeof(int64_t)), 0);
    assert_null(mpiio_positions_map(getpid(), other, inode_of(other), VIEWS)); /* no seals */
    assert_int_equal(ftruncate(foreign, VIEWS * sizeof(int64_t)), 0);
    assert_int_equal(fcntl(foreign, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
    assert_null(mpiio_positions_map(getpid(), foreign, inode_of(foreign), VIEWS));
    close(other);
    close(foreign);
}
