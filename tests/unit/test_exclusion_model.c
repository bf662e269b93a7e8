/* SPDX-License-Identifier: MIT */
/*
 * Tests accesses of atomic mode against a model that knows the bytes of each access. Many accesses
 * are in progress at a time, and those that have their turn keep it until the test ends them.
 * Between two steps, the test checks which accesses wait, for how many others, and what is locked.
 * The result does not depend on timing.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "core/file/exclusion.h"
#include "slice_fixture.h"

#define BYTES     256
#define ACCESSORS 9
#define STEPS     3000

/* A view: its keys, and the bytes of a tile, found by hand. */
struct pattern {
    const char *keys;
    int disp, extent, size;
    int places[4];
};

static const struct pattern patterns[] = {
    {"\"disp\": 0", 0, 1, 1, {0}},
    {"\"disp\": 5", 5, 1, 1, {0}},
    {"\"filetype\": {\"type\": \"vector\", \"count\": 2, \"blocklength\": 2, \"stride\": 3}",
     0,
     5,
     4,
     {0, 1, 3, 4}},
    {"\"filetype\": {\"type\": \"indexed_block\", \"blocklength\": 1, \"displacements\": [1, 4]}",
     0,
     4,
     2,
     {1, 4}},
    {"\"disp\": 3, \"filetype\": {\"type\": \"vector\", \"count\": 3, \"blocklength\": 1, "
     "\"stride\": 2}",
     3,
     5,
     3,
     {0, 2, 4}},
    /* Its tiles lie within each other, so the view does not ascend in the file. */
    {"\"filetype\": {\"type\": \"resized\", \"lb\": 0, \"extent\": 2, \"oldtype\": {\"type\": "
     "\"indexed_block\", \"blocklength\": 1, \"displacements\": [0, 5]}}",
     0,
     2,
     2,
     {0, 5}},
};

#define PATTERNS (int)(sizeof(patterns) / sizeof(*patterns))
#define LAST     (PATTERNS - 1) /* the view that does not ascend */

static struct vs_view *views[PATTERNS];
static struct mpiio_exclusion accesses;
static int file, other; /* two open file descriptions of the same file */

struct accessor {
    pthread_t thread;
    struct mpiio_access access;
    bool used, writes;
    int pattern; /* -1: all bytes from position on, as for an append */
    int position, length;
    uint64_t number; /* in order of arrival */
    bool bytes[BYTES];
    int first, last; /* of bytes; last < first: none */
    atomic_bool has, go;
};

static struct accessor accessors[ACCESSORS];
static uint64_t come;
static unsigned seed = 1;

static int below(int bound)
{
    return rand_r(&seed) % bound;
}

static void pause_a_moment(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

/* The model. */

static void set_bytes(struct accessor *accessor)
{
    const struct pattern *pattern = &patterns[accessor->pattern >= 0 ? accessor->pattern : 0];

    memset(accessor->bytes, 0, sizeof(accessor->bytes));
    for (int i = accessor->position; i < accessor->position + accessor->length; i++)
        accessor->bytes[pattern->disp + i / pattern->size * pattern->extent +
                        pattern->places[i % pattern->size]] = true;
    accessor->first = BYTES;
    accessor->last = -1;
    for (int i = 0; i < BYTES; i++) {
        if (!accessor->bytes[i])
            continue;
        accessor->first = accessor->first < i ? accessor->first : i;
        accessor->last = i;
    }
}

static bool share_a_byte(const struct accessor *a, const struct accessor *b)
{
    for (int i = 0; i < BYTES; i++)
        if (a->bytes[i] && b->bytes[i])
            return true;
    return false;
}

static bool conflict(const struct accessor *a, const struct accessor *b)
{
    return (a->writes || b->writes) && share_a_byte(a, b);
}

/* Returns true if the accesses may wait for each other without a shared byte: one walk over the
   two maps cannot rule that out. */
static bool may_conflict(const struct accessor *a, const struct accessor *b)
{
    bool told = a->pattern >= 0 && b->pattern >= 0 && a->pattern != LAST && b->pattern != LAST;

    return (a->writes || b->writes) && !told && a->first <= b->last && b->first <= a->last;
}

/* Checks that an access waits for exactly the earlier ones that are still in progress and share
   a byte. */
static void check_blockers(const struct accessor *accessor)
{
    unsigned least = 0, most = 0, blockers;

    for (int i = 0; i < ACCESSORS; i++) {
        const struct accessor *older = &accessors[i];

        if (!older->used || older->number >= accessor->number)
            continue;
        least += conflict(older, accessor);
        most += conflict(older, accessor) || may_conflict(older, accessor);
    }
    pthread_mutex_lock(&accesses.lock);
    blockers = accessor->access.blockers;
    pthread_mutex_unlock(&accesses.lock);
    assert_in_range(blockers, least, most);
    assert_true(blockers == 0 || !atomic_load(&accessor->has));
}

/* Returns true if a lock of another process prevents one of that type on a byte. */
static bool is_locked(int byte, short type)
{
    struct flock range = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};

    assert_int_equal(fcntl(other, F_OFD_GETLK, &range), 0);
    return range.l_type != F_UNLCK;
}

static void check_all(void)
{
    for (int i = 0; i < ACCESSORS; i++) {
        const struct accessor *accessor = &accessors[i];

        if (!accessor->used)
            continue;
        check_blockers(accessor);
        if (!atomic_load(&accessor->has))
            continue;
        for (int k = 0; k < i; k++)
            assert_false(accessors[k].used && atomic_load(&accessors[k].has) &&
                         conflict(accessor, &accessors[k]));
        for (int byte = accessor->first; byte <= accessor->last; byte++)
            assert_true(is_locked(byte, accessor->writes ? F_RDLCK : F_WRLCK));
    }
}

/* Does an access in a thread. */

static void *access_file(void *argument)
{
    struct accessor *accessor = argument;
    const struct vs_map *map =
        accessor->pattern >= 0 ? vs_view_map(views[accessor->pattern]) : NULL;
    int64_t length = map != NULL ? accessor->length : INT64_MAX - accessor->position;

    if (mpiio_exclusion_begin(&accesses, map, accessor->position, length, accessor->writes,
                              &accessor->access) != 0)
        return NULL;
    atomic_store(&accessor->has, true);
    while (!atomic_load(&accessor->go))
        pause_a_moment();
    mpiio_exclusion_end(&accesses, &accessor->access);
    return accessor;
}

/* Begins an access. Returns when it waits, or when it has its turn or is about to get it. */
static void begin(struct accessor *accessor)
{
    struct mpiio_exclusion_stats stats = {0};

    accessor->used = true;
    accessor->pattern = below(20) == 0 ? -1 : below(PATTERNS);
    accessor->writes = accessor->pattern < 0 || below(2) == 0;
    accessor->position = below(24);
    accessor->length = accessor->pattern < 0 ? BYTES - accessor->position : below(12);
    accessor->number = ++come;
    atomic_store(&accessor->has, false);
    atomic_store(&accessor->go, false);
    set_bytes(accessor);
    assert_int_equal(pthread_create(&accessor->thread, NULL, access_file, accessor), 0);
    for (int i = 0; i < 100000 && stats.calls != come; i++) {
        mpiio_exclusion_stats(&accesses, &stats);
        if (stats.calls != come)
            pause_a_moment();
    }
    assert_int_equal(stats.calls, come);
}

/* Returns an access that has its turn. If any access is in progress, one has its turn or is
   about to get it. */
static struct accessor *find_turn(void)
{
    for (int i = 0; i < 100000; i++) {
        int first = below(ACCESSORS);

        for (int k = 0; k < ACCESSORS; k++) {
            struct accessor *accessor = &accessors[(first + k) % ACCESSORS];

            if (accessor->used && atomic_load(&accessor->has))
                return accessor;
        }
        pause_a_moment();
    }
    fail_msg("nobody gets a turn");
    abort();
}

static void end(struct accessor *accessor)
{
    void *done;

    atomic_store(&accessor->go, true);
    assert_int_equal(pthread_join(accessor->thread, &done), 0);
    assert_ptr_equal(done, accessor);
    accessor->used = false;
}

TEST(accesses_wait_for_whom_the_model_says)
{
    char path[64];
    int used = 0;

    file = make_file();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    other = open(path, O_RDWR);
    assert_true(other >= 0);
    assert_int_equal(mpiio_exclusion_init(&accesses, file, 0, true), 0);
    for (int i = 0; i < PATTERNS; i++)
        views[i] = make_view("%s", patterns[i].keys);
    for (int step = 0; step < STEPS || used > 0; step++) {
        if (step < STEPS && (used == 0 || (used < ACCESSORS && below(9) < 5))) {
            int i = 0;

            while (i < ACCESSORS - 1 && accessors[i].used)
                i++;
            begin(&accessors[i]);
            used++;
        } else {
            end(find_turn());
            used--;
        }
        check_all();
    }
    for (int byte = 0; byte < BYTES; byte++)
        assert_false(is_locked(byte, F_WRLCK));
    for (int i = 0; i < PATTERNS; i++)
        vs_view_unref(views[i]);
    mpiio_exclusion_destroy(&accesses);
    close(other);
    close(file);
}

/*
 * Makes a view with 1 to 3 bytes in each cell of 64 bytes, in every second one, or in every 50th.
 * An access to one view then has many runs between two runs of another. In kind 3, tiles
 * interleave.
 */
static struct vs_view *make_sparse(int kind)
{
    int64_t start = below(64), length = 1 + below(3);

    if (kind < 3)
        return make_vector(start, length, 64 * (int64_t[]){1, 2, 50}[kind]);
    return make_view("\"disp\": %" PRId64 ", \"filetype\": {\"type\": \"resized\", \"lb\": 0, "
                     "\"extent\": 64, \"oldtype\": {\"type\": \"indexed_block\", "
                     "\"blocklength\": 1, \"displacements\": [0, 1000]}}",
                     start);
}

static bool contains_a_byte(const struct vs_map *map, int64_t position, int64_t length,
                            const struct vs_map *whole)
{
    for (int64_t i = 0; i < length; i++)
        if (vs_map_find(whole, vs_map_displacement(map, position + i)) >= 0)
            return true;
    return false;
}

/* With tiles that interleave, ranges may count as meeting although they share no byte. */
TEST(ranges_meet_a_map_if_they_share_a_byte)
{
    int met = 0, apart = 0;

    for (int round = 0; round < 20000; round++) {
        int kind = below(4), second_kind = below(4);
        struct vs_view *view = make_sparse(kind), *second = make_sparse(second_kind);
        int64_t position = below(500), length = below(3) ? below(400) : below(3);
        bool meets =
            mpiio_exclusion_meets(vs_view_map(view), position, length, vs_view_map(second));
        bool contains = contains_a_byte(vs_view_map(view), position, length, vs_view_map(second));

        if (kind < 3 && second_kind < 3)
            assert_int_equal(meets, contains);
        else
            assert_true(meets || !contains);
        met += meets;
        apart += !meets;
        vs_view_unref(view);
        vs_view_unref(second);
    }
    assert_true(met > 1000 && apart > 1000);
}
