/* SPDX-License-Identifier: MIT */
/* Tests the version of an assembled file while its writers are awaited. */

#include "unit.h"
#include "core/base/clock.h"
#include "core/store_layers.h"
#include "fusefs/storing/pool.h"
#include "fusefs/storing/settling.h"

/* The environment of the module. The functions below stand in for the daemon, and use these
   values. */
static struct {
    uint64_t state; /* of the members */
    int64_t now;    /* ms */
    int awaited;    /* how often the writers were awaited */
    /* a wait for the writers succeeds; the opposite where during was called */
    bool passed;
    void (*during)(void); /* called once while the writers are awaited; or NULL */
} world;

static struct fs_settling settling;
static struct fs_members_version memory, *const members = &memory;

int64_t mpiio_clock(void)
{
    return world.now;
}

struct mpiio_file *mpiio_store_file(const struct mpiio_store *store)
{
    return NULL;
}

uint64_t mpiio_assembled_writes(const struct mpiio_file *file)
{
    return 0;
}

uint64_t mpiio_assembled_state(const struct mpiio_file *file, struct timespec times[2])
{
    memset(times, 0, 2 * sizeof(*times));
    return world.state;
}

bool fs_settling_await(struct fs_settling *self, const struct fs_version *version, bool waits)
{
    void (*during)(void) = world.during;

    assert_true(waits);
    world.awaited++;
    world.during = NULL;
    assert_int_equal(pthread_mutex_trylock(&members->lock), 0);
    pthread_mutex_unlock(&members->lock);
    if (during == NULL)
        return world.passed;
    during();
    return !world.passed;
}

static bool look(uint64_t state)
{
    struct mpiio_pool_version version = {0};
    bool settled = fs_members_version_look(members, &settling, NULL, &version);

    assert_int_equal(version.times[0], state);
    return settled;
}

static int setup(void **state)
{
    memset(&world, 0, sizeof(world));
    world.state = world.now = 1;
    world.passed = true;
    fs_members_version_init(members);
    return 0;
}

static int teardown(void **state)
{
    fs_members_version_destroy(members);
    return 0;
}

TEST(is_proved_once, setup, teardown)
{
    assert_true(look(1));
    assert_true(look(1));
    assert_int_equal(world.awaited, 1);
}

static void look_beside(void)
{
    assert_true(look(1));
}

/* A second request waits for the same writers, and does not go on without them. */
TEST(others_wait_too, setup, teardown)
{
    world.during = look_beside;
    assert_false(look(1));
    assert_int_equal(world.awaited, 2);
}

static void change(void)
{
    world.state = 2;
    atomic_store(&members->again, true);
    assert_true(look(2));
}

/* The result for one version does not apply to a later one. */
TEST(a_later_version_has_its_own_result, setup, teardown)
{
    world.during = change;
    assert_false(look(1));
    assert_true(look(2));
    assert_int_equal(world.awaited, 2);
}
