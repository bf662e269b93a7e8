/* SPDX-License-Identifier: MIT */
/*
 * Tests accesses of atomic mode against a model that knows the bytes of each access. Many accesses
 * are in progress at a time, and those that have their turn keep it until the test ends them.
 * Between two steps, the test checks which accesses wait, for how many others, and what is locked.
 * The result does not depend on timing.
 */
#include "exclusion_fixture.h"
#include "random.h"

#define BYTES     256
#define ACCESSORS 9
#define STEPS     3000

/* The bytes of a tile of each view, found by hand. */
static const struct pattern {
    int disp, extent, size;
    int places[4];
} patterns[VIEWS] = {
    {0, 1, 1, {0}},    {5, 1, 1, {0}},       {0, 5, 4, {0, 1, 3, 4}},
    {0, 4, 2, {1, 4}}, {3, 5, 3, {0, 2, 4}}, {0, 2, 2, {0, 5}},
};

static int other; /* another open file description of the file */

/* An access, and what the model knows of it. */
struct modelled {
    struct accessor base;
    bool used;
    int pattern;     /* -1: all bytes from the position on */
    uint64_t number; /* in order of arrival */
    bool bytes[BYTES];
    int first, last; /* of bytes; last < first: none */
};

static struct modelled modelled[ACCESSORS];
static uint64_t come;

/* The model. */

static void set_bytes(struct modelled *accessor, int64_t length)
{
    const struct pattern *pattern = &patterns[accessor->pattern >= 0 ? accessor->pattern : 0];

    memset(accessor->bytes, 0, sizeof(accessor->bytes));
    for (int64_t i = accessor->base.position; i < accessor->base.position + length; i++)
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

static bool share_a_byte(const struct modelled *a, const struct modelled *b)
{
    for (int i = 0; i < BYTES; i++)
        if (a->bytes[i] && b->bytes[i])
            return true;
    return false;
}

static bool conflict(const struct modelled *a, const struct modelled *b)
{
    return (a->base.writes || b->base.writes) && share_a_byte(a, b);
}

/* Returns true if the accesses may wait for each other without a shared byte: one walk over the
   two maps cannot rule that out. */
static bool may_conflict(const struct modelled *a, const struct modelled *b)
{
    bool told = a->pattern >= 0 && b->pattern >= 0 && a->pattern != LAST && b->pattern != LAST;

    return (a->base.writes || b->base.writes) && !told && a->first <= b->last &&
           b->first <= a->last;
}

/* Checks that an access waits for exactly the earlier ones that are still in progress and share
   a byte. */
static void check_blockers(const struct modelled *accessor)
{
    unsigned least = 0, most = 0, blockers;

    for (int i = 0; i < ACCESSORS; i++) {
        const struct modelled *older = &modelled[i];

        if (!older->used || older->number >= accessor->number)
            continue;
        least += conflict(older, accessor);
        most += conflict(older, accessor) || may_conflict(older, accessor);
    }
    pthread_mutex_lock(&accesses.lock);
    blockers = accessor->base.access.blockers;
    pthread_mutex_unlock(&accesses.lock);
    assert_in_range(blockers, least, most);
    assert_true(blockers == 0 || !atomic_load(&accessor->base.has));
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
        const struct modelled *accessor = &modelled[i];

        if (!accessor->used)
            continue;
        check_blockers(accessor);
        if (!atomic_load(&accessor->base.has))
            continue;
        for (int k = 0; k < i; k++)
            assert_false(modelled[k].used && atomic_load(&modelled[k].base.has) &&
                         conflict(accessor, &modelled[k]));
        for (int byte = accessor->first; byte <= accessor->last; byte++)
            assert_true(is_locked(byte, accessor->base.writes ? F_RDLCK : F_WRLCK));
    }
}

/* Begins an access. Returns when it waits, or when it has its turn or is about to get it. */
static void begin_randomly(struct modelled *accessor)
{
    struct mpiio_exclusion_stats stats = {0};
    int pattern = below(20) == 0 ? -1 : below(VIEWS);
    bool writes = pattern < 0 || below(2) == 0;
    int64_t position = below(24), length = pattern < 0 ? BYTES - position : below(12);

    *accessor = (struct modelled){
        .base = {.map = pattern >= 0 ? vs_view_map(views[pattern]) : NULL,
                 .position = position,
                 .length = pattern >= 0 ? length : INT64_MAX - position,
                 .writes = writes},
        .used = true,
        .pattern = pattern,
        .number = ++come,
    };
    set_bytes(accessor, length);
    begin(&accessor->base);
    for (int i = 0; i < 100000 && stats.calls != come; i++) {
        mpiio_exclusion_stats(&accesses, &stats);
        if (stats.calls != come)
            pause_a_moment();
    }
    assert_int_equal(stats.calls, come);
}

/* Returns an access that has its turn. If any access is in progress, one has its turn or is
   about to get it. */
static struct modelled *find_turn(void)
{
    for (int i = 0; i < 100000; i++) {
        int first = below(ACCESSORS);

        for (int k = 0; k < ACCESSORS; k++) {
            struct modelled *accessor = &modelled[(first + k) % ACCESSORS];

            if (accessor->used && atomic_load(&accessor->base.has))
                return accessor;
        }
        pause_a_moment();
    }
    fail_msg("nobody gets a turn");
    abort();
}

TEST(accesses_wait_for_whom_the_model_says, start)
{
    int used = 0;

    srand(1);
    other = open_again(file);
    make_views();
    for (int step = 0; step < STEPS || used > 0; step++) {
        if (step < STEPS && (used == 0 || (used < ACCESSORS && below(9) < 5))) {
            int i = 0;

            while (i < ACCESSORS - 1 && modelled[i].used)
                i++;
            begin_randomly(&modelled[i]);
            used++;
        } else {
            struct modelled *turn = find_turn();

            finish(&turn->base);
            turn->used = false;
            used--;
        }
        check_all();
    }
    for (int byte = 0; byte < BYTES; byte++)
        assert_false(is_locked(byte, F_WRLCK));
    unref_views(views, VIEWS);
    close(other);
    end(NULL); /* no tear-down: after a failure, accesses wait, and it would wait for them */
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
    return make_view("'disp': %" PRId64
                     ", 'filetype': {'type': 'resized', 'lb': 0, 'extent': 64, 'oldtype': {'type': "
                     "'indexed_block', 'blocklength': 1, 'displacements': [0, 1000]}}",
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

/* A view has no end. Without a limit of steps, each of these walks would take years. */
TEST(ranges_without_end_count_as_meeting)
{
    struct vs_view *even = make_vector(0, 1, 64), *odd = make_vector(32, 1, 64);
    struct vs_view *nested = make_sparse(3), *far = make_vector(INT64_C(1) << 61, 1, 64);

    for (int i = 0; i < 2; i++) {
        const struct vs_map *map = vs_view_map(i == 0 ? even : nested);
        int64_t limit = vs_map_facts(map)->limit;

        assert_true(limit > INT64_C(1) << 50);
        assert_true(mpiio_exclusion_meets(map, 0, limit, vs_view_map(odd)));
        assert_true(mpiio_exclusion_meets(map, 5, limit - 5, vs_view_map(odd)));
    }
    assert_false(mpiio_exclusion_meets(vs_view_map(even), 0, 1 << 19, vs_view_map(far)));
    unref_views((struct vs_view *[]){even, odd, nested, far}, 4);
}
