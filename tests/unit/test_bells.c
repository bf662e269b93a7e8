/* SPDX-License-Identifier: MIT */
#include <sched.h>
#include <sys/wait.h>

#include "unit.h"
#include "engine/messages.h"

#define MARK   ((uint64_t)getpid() << 20)
#define SECOND 999999999
#define ROUNDS 5000

/* Three nodes. Two are on this machine. */
enum { PING, PONG, ELSEWHERE, NODES };

/* Set to simulate that the memory for /dev/shm is exhausted. */
static bool exhausted;

WRAP(int, posix_fallocate64, int fd, off_t start, off_t length)
{
    return exhausted ? ENOSPC : __real_posix_fallocate64(fd, start, length);
}

static void assert_no_trace(uint64_t mark)
{
    char command[128];
    FILE *found;

    snprintf(command, sizeof(command), "ls /dev/shm | grep -c mpiio-bells-%016llx",
             (unsigned long long)mark);
    found = popen(command, "r");
    assert_non_null(found);
    assert_int_equal(fgetc(found), '0');
    pclose(found);
}

TEST(test_alone)
{
    struct engine_bells bells;
    uint32_t seen;

    engine_bells_init(&bells, 0, NODES, MARK);
    engine_bells_meet(&bells, MARK);
    assert_false(engine_bells_reach(&bells, PONG));
    assert_false(bells.crowded);
    engine_bells_ring(&bells, PONG);
    seen = engine_bells_look(&bells);
    engine_bells_sleep(&bells, seen, 1000);
    engine_bells_free(&bells);
    assert_no_trace(MARK);
}

/* A page that cannot be allocated must not be touched. */
TEST(test_memory_exhausted)
{
    struct engine_bells bells;

    exhausted = true;
    engine_bells_init(&bells, PING, NODES, MARK);
    exhausted = false;
    assert_null(bells.all);
    engine_bells_meet(&bells, MARK);
    assert_false(engine_bells_reach(&bells, PING));
    engine_bells_ring(&bells, PING);
    assert_int_equal(engine_bells_look(&bells), 0);
    engine_bells_free(&bells);
    assert_no_trace(MARK);
}

/* Answers each ring, round by round. A lost ring costs a second. */
static void answer(struct engine_bells *bells, int own, int other)
{
    uint32_t before = 0; /* the other one may have rung already */

    for (int round = 0; round < ROUNDS; round++) {
        if (own == PING)
            engine_bells_ring(bells, other);
        for (uint32_t seen; (seen = engine_bells_look(bells)) == before;)
            engine_bells_sleep(bells, seen, SECOND);
        before++;
        if (own == PONG)
            engine_bells_ring(bells, other);
    }
}

static void play_pong(uint64_t mark, int met, int go)
{
    struct engine_bells bells;
    char byte;

    engine_bells_init(&bells, PONG, NODES, mark);
    if (write(met, "", 1) != 1 || read(go, &byte, 1) != 1)
        _exit(1);
    answer(&bells, PONG, PING);
    _exit(0);
}

TEST(test_two)
{
    uint64_t mark = MARK + 1;
    struct engine_bells bells;
    int met[2], go[2], status;
    cpu_set_t all, one;
    pid_t child;
    char byte;

    assert_int_equal(pipe(met), 0);
    assert_int_equal(pipe(go), 0);
    child = fork();
    if (child == 0)
        play_pong(mark, met[1], go[0]);
    engine_bells_init(&bells, PING, NODES, mark);
    assert_int_equal(read(met[0], &byte, 1), 1);
    /* Two engines on one processor oversubscribe it. */
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    engine_bells_meet(&bells, mark);
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
    assert_true(bells.crowded);
    assert_no_trace(mark);
    assert_true(engine_bells_reach(&bells, PING) && engine_bells_reach(&bells, PONG));
    assert_false(engine_bells_reach(&bells, ELSEWHERE));
    engine_bells_ring(&bells, ELSEWHERE);
    assert_int_equal(write(go[1], "", 1), 1);
    answer(&bells, PING, PONG);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    engine_bells_free(&bells);
}
