/* SPDX-License-Identifier: MIT */
/* Takers of one node who ask another one together: who asks for whom, and who gets what. */
#include <pthread.h>
#include <time.h>

#include "unit.h"
#include "pointers/together.h"

#define APART  MPIIO_TOGETHER_APART
#define TAKERS 24
#define ROUNDS 2000

static struct mpiio_together together;

/* Who keeps the pointers. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool closed; /* requests are not answered */
    int requests;
    int64_t position[2], most; /* most: etypes in a request */
    int64_t error;
} keeper = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

struct taker {
    pthread_t thread;
    size_t pointer;
    int64_t count, limit;
    int64_t got, position;
};

static int setup(void **state)
{
    mpiio_together_init(&together);
    keeper.closed = false;
    keeper.requests = 0;
    keeper.most = keeper.error = 0;
    keeper.position[0] = keeper.position[1] = 0;
    return 0;
}

static int teardown(void **state)
{
    assert_int_equal(together.asking, 0);
    mpiio_together_free(&together);
    return 0;
}

static int64_t ask(void *data, size_t pointer, int64_t count, int64_t limit, int64_t *position)
{
    int64_t got;

    assert_ptr_equal(data, &keeper);
    pthread_mutex_lock(&keeper.lock);
    keeper.requests++;
    pthread_cond_broadcast(&keeper.changed);
    while (keeper.closed)
        pthread_cond_wait(&keeper.changed, &keeper.lock);
    *position = keeper.position[pointer];
    got = limit - *position < count ? limit - *position : count;
    keeper.position[pointer] += got;
    keeper.most = count > keeper.most ? count : keeper.most;
    got = keeper.error != 0 ? keeper.error : got;
    pthread_mutex_unlock(&keeper.lock);
    return got;
}

static void *take(void *data)
{
    struct taker *taker = data;

    taker->got = mpiio_together_take(&together, ask, &keeper, taker->pointer, taker->count,
                                     taker->limit, &taker->position);
    return NULL;
}

/* How many wait for others to ask. */
static int count_waiting(void)
{
    int count = 0;

    pthread_mutex_lock(&together.lock);
    for (struct mpiio_taker *const *link = &together.first; link != together.last; count++)
        link = (struct mpiio_taker *const *)*link; /* next is the first member */
    pthread_mutex_unlock(&together.lock);
    return count;
}

static int count_requests(void)
{
    int count;

    pthread_mutex_lock(&keeper.lock);
    count = keeper.requests;
    pthread_mutex_unlock(&keeper.lock);
    return count;
}

/* Starts takers one after another: the first ones ask, the others wait behind each other. */
static void start(struct taker *takers, int count)
{
    const struct timespec pause = {.tv_nsec = 1000000};

    keeper.closed = true;
    for (int i = 0; i < count; i++) {
        assert_int_equal(pthread_create(&takers[i].thread, NULL, take, &takers[i]), 0);
        while (count_requests() < (i < APART ? i + 1 : APART) ||
               count_waiting() < (i < APART ? 0 : i + 1 - APART))
            nanosleep(&pause, NULL);
    }
}

static void end(struct taker *takers, int count)
{
    pthread_mutex_lock(&keeper.lock);
    keeper.closed = false;
    pthread_cond_broadcast(&keeper.changed);
    pthread_mutex_unlock(&keeper.lock);
    for (int i = 0; i < count; i++)
        pthread_join(takers[i].thread, NULL);
}

TEST(those_who_wait_ask_once, setup, teardown)
{
    struct taker takers[TAKERS] = {{.count = 0}};
    int64_t next;

    for (int i = 0; i < TAKERS; i++)
        takers[i] = (struct taker){.count = 1 + i, .limit = INT64_MAX};
    start(takers, TAKERS);
    end(takers, TAKERS);
    assert_int_equal(keeper.requests, APART + 1);
    assert_int_equal(keeper.position[0], TAKERS * (TAKERS + 1) / 2);
    /* In the order in which they came, behind each other. */
    next = takers[APART].position;
    for (int i = APART; i < TAKERS; i++) {
        assert_int_equal(takers[i].got, takers[i].count);
        assert_int_equal(takers[i].position, next);
        next += takers[i].count;
    }
}

TEST(what_is_left_goes_to_those_who_came_first, setup, teardown)
{
    struct taker takers[APART + 4] = {{.count = 0}};
    const int64_t limit = 25, expected[] = {10, 10, 5, 0};

    for (int i = 0; i < APART + 4; i++)
        takers[i] = (struct taker){.count = 10, .limit = limit, .pointer = i < APART};
    start(takers, APART + 4);
    end(takers, APART + 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(takers[APART + i].got, expected[i]);
    assert_int_equal(takers[APART + 2].position, 20);
}

TEST(other_pointers_and_limits_are_asked_for_apart, setup, teardown)
{
    struct taker takers[APART + 6] = {{.count = 0}};

    for (int i = 0; i < APART + 6; i++)
        takers[i] = (struct taker){.count = 3, .limit = 1000 + (i % 3 == 1), .pointer = i % 3 == 2};
    start(takers, APART + 6);
    end(takers, APART + 6);
    assert_int_equal(keeper.requests, APART + 3);
    assert_int_equal(keeper.most, 6);
    for (int i = 0; i < APART + 6; i++)
        assert_int_equal(takers[i].got, 3);
    assert_int_equal(keeper.position[0] + keeper.position[1], 3 * (APART + 6));
}

TEST(an_error_is_told_to_all, setup, teardown)
{
    struct taker takers[APART + 3] = {{.count = 0}};

    for (int i = 0; i < APART + 3; i++)
        takers[i] = (struct taker){.count = 1, .limit = 100};
    keeper.error = -EIO;
    start(takers, APART + 3);
    end(takers, APART + 3);
    for (int i = 0; i < APART + 3; i++)
        assert_int_equal(takers[i].got, -EIO);
}

/* More than can be counted is asked for in two requests. */
TEST(counts_do_not_overflow, setup, teardown)
{
    struct taker takers[APART + 2] = {{.count = 0}};

    for (int i = 0; i < APART + 2; i++)
        takers[i] = (struct taker){.count = INT64_MAX - 1, .limit = 100, .pointer = i < APART};
    start(takers, APART + 2);
    end(takers, APART + 2);
    assert_int_equal(keeper.requests, APART + 2);
    assert_int_equal(takers[APART].got + takers[APART + 1].got, 100);
}

static unsigned char owned[TAKERS * ROUNDS];

static void *take_many(void *data)
{
    for (int i = 0; i < ROUNDS; i++) {
        int64_t position;

        if (mpiio_together_take(&together, ask, &keeper, 0, 1, INT64_MAX, &position) != 1)
            return data;
        owned[position]++; /* nobody else has it */
    }
    return NULL;
}

TEST(nobody_gets_the_same, setup, teardown)
{
    pthread_t threads[TAKERS];
    void *wrong;

    for (int i = 0; i < TAKERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_many, owned), 0);
    for (int i = 0; i < TAKERS; i++) {
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    for (int i = 0; i < TAKERS * ROUNDS; i++)
        assert_int_equal(owned[i], 1);
    assert_int_equal(together.asking, 0);
}
