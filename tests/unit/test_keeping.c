/* SPDX-License-Identifier: MIT */
/*
 * Who keeps shared file pointers: nodes that ask each other over a network that is made up, and
 * lose one of them at a time, for good or for a while. Nothing is given twice.
 */

#include "unit.h"
#include "pointers/keeping.h"

#define NODES  5
#define LEASE  100
#define ROUNDS 300
#define STEPS  2000

struct world {
    int nodes;
    int64_t now;
    struct mpiio_keeping keeping[NODES];
    struct mpiio_pointers_value values[NODES];
    bool dead[NODES];
    bool parts;            /* several nodes are cut off at once, and may be given what others are */
    unsigned apart;        /* a bit a node: those that the others do not reach */
    bool given[STEPS + 1]; /* by position */
    int64_t gave;
    uint64_t requests;
};

/* One view, of which one share is known to whoever opens it. */
static void set_turns(struct mpiio_keeping *keeping, int node, int nodes)
{
    keeping->turns = (struct mpiio_turns){.self = node,
                                          .nodes = nodes,
                                          .ranks = 3,
                                          .patience = 20 * LEASE,
                                          .views = 1,
                                          .values = keeping->values};
    assert_int_equal(mpiio_turns_init(&keeping->turns), 0);
}

static void free_keeping(struct mpiio_keeping *keeping)
{
    mpiio_given_free(&keeping->given_to);
    mpiio_turns_free(&keeping->turns);
}

static bool reaches(const struct world *world, int a, int b)
{
    return !world->dead[b] && (world->apart >> a & 1) == (world->apart >> b & 1);
}

/* What its machine says. */
static bool is_known_dead(const struct world *world, int by, int node)
{
    return world->dead[node] && (world->apart >> by & 1) == (world->apart >> node & 1);
}

/* False: there is no answer. */
static bool ask(struct world *world, int from, int to, struct mpiio_pointers_request *request,
                struct mpiio_pointers_answer *answer)
{
    if (!reaches(world, from, to))
        return false;
    request->node = (uint32_t)from;
    mpiio_keeping_answer(&world->keeping[to], request, false, world->now, answer);
    if (request->type == MPIIO_POINTERS_TAKE && from != to)
        mpiio_keeping_got(&world->keeping[from], request, to, answer);
    return true;
}

/* Whether enough follow a node that stands, when it asks all; a dead one is known to be so, as its
   machine says. */
static bool ask_round(struct world *world, int node, struct mpiio_pointers_request *request)
{
    struct mpiio_keeping *self = &world->keeping[node];
    struct mpiio_pointers_answer answer;
    bool with_us[NODES] = {false}, gone[NODES] = {false}, lost = false;

    for (int i = 0; i < world->nodes && !lost; i++) {
        gone[i] = is_known_dead(world, node, i);
        with_us[i] = i == node;
        if (i == node || !ask(world, node, i, request, &answer))
            continue;
        with_us[i] = answer.verdict == MPIIO_POINTERS_GRANTED;
        lost = !with_us[i];
        if (with_us[i])
            mpiio_keeping_learn(self, 0, &world->values[i]);
        else
            mpiio_keeping_outdated(self, answer.term);
    }
    return !lost && mpiio_keeping_is_enough(with_us, gone, world->nodes);
}

static void take(struct world *world, int node);

/* Has a node stand. While it waits for others, which it may, another one stands, and takes. */
static void elect(struct world *world, int node, bool may_wait)
{
    struct mpiio_keeping *self = &world->keeping[node];
    struct mpiio_pointers_request request = {.type = MPIIO_POINTERS_PLEDGE};
    int other = rand() % world->nodes;
    int64_t start = world->now;
    bool enough;

    request.gone = is_known_dead(world, node, self->keeper);
    if (!mpiio_keeping_stand(self, request.gone, world->now, &request.term))
        return;
    enough = ask_round(world, node, &request);
    if (enough && may_wait && rand() % 2 == 0) {
        world->now += rand() % (2 * LEASE);
        if (other != node && !world->dead[other]) {
            elect(world, other, false);
            take(world, other);
        }
        start = world->now;
        enough = mpiio_keeping_stays(self, request.term, start) && ask_round(world, node, &request);
    }
    if (enough)
        mpiio_keeping_elected(self, request.term, start);
    else
        mpiio_keeping_not_elected(self);
}

/* What a node takes of itself, another one must know. */
static bool tell(struct world *world, int node, const struct mpiio_pointers_answer *given)
{
    struct mpiio_pointers_request request = {
        .type = MPIIO_POINTERS_TELL, .term = given->term, .value = given->value};
    struct mpiio_pointers_answer answer;
    bool alone = true;

    request.value.position += given->got;
    for (int i = 0; i < world->nodes; i++) {
        if (i != node && ask(world, node, i, &request, &answer))
            return answer.verdict == MPIIO_POINTERS_GRANTED;
        alone = alone && (i == node || is_known_dead(world, node, i));
    }
    return alone;
}

static void take(struct world *world, int node)
{
    struct mpiio_pointers_request request = {.type = MPIIO_POINTERS_TAKE,
                                             .count = 1 + rand() % 3,
                                             .limit = STEPS + 1,
                                             .number = ++world->requests,
                                             .settled = world->requests,
                                             .share = MPIIO_POINTERS_NO_SHARE,
                                             .ended = MPIIO_POINTERS_NO_NODE};
    struct mpiio_pointers_answer answer;
    int keeper = rand() % 4 == 0 ? rand() % world->nodes : world->keeping[node].keeper;

    request.value = world->values[node];
    if (!ask(world, node, keeper, &request, &answer) || answer.verdict != MPIIO_POINTERS_GRANTED ||
        (node == keeper && !tell(world, node, &answer)))
        return;
    for (int64_t i = answer.value.position; i < answer.value.position + answer.got; i++) {
        if (world->given[i] && !world->parts)
            fail_msg("node %d is given %lld, which somebody has", node, (long long)i);
        world->given[i] = true;
        world->gave++;
    }
}

/* All that a keeper has given is told to those whom it reaches. False: there is none. */
static bool spread(struct world *world)
{
    bool any = false;

    for (int node = 0; node < world->nodes; node++) {
        any = any || (!world->dead[node] && world->keeping[node].serves);
        for (int i = 0; i < world->nodes && !world->dead[node] && world->keeping[node].serves; i++)
            if (reaches(world, node, i))
                mpiio_keeping_learn(&world->keeping[i], 0, &world->values[node]);
    }
    return any;
}

/* A node is lost, or comes back; before the next one is, others know what was given. */
static void change(struct world *world)
{
    int alive = 0, node = rand() % world->nodes;

    for (int i = 0; i < world->nodes; i++)
        alive += !world->dead[i];
    if (world->apart != 0) {
        world->apart = 0;
        return;
    }
    if (!spread(world))
        return;
    if (rand() % 2 == 0 && !world->dead[node])
        world->apart = world->parts ? (unsigned)rand() % (1U << world->nodes) : 1U << node;
    else if (alive > 2)
        world->dead[node] = true;
}

/* One node at a time gives. */
static void check_leases(const struct world *world)
{
    int leases = 0;

    for (int i = 0; i < world->nodes; i++)
        leases +=
            !world->dead[i] && world->keeping[i].serves && world->now < world->keeping[i].leased;
    assert_true(leases <= 1);
}

static void play(int nodes, bool parts)
{
    struct world world = {.nodes = nodes, .parts = parts};

    for (int i = 0; i < nodes; i++) {
        world.keeping[i].count = 1;
        world.keeping[i].values = &world.values[i];
        set_turns(&world.keeping[i], i, nodes);
        mpiio_keeping_init(&world.keeping[i], i, nodes, LEASE);
    }
    for (int i = 0; i < STEPS; i++) {
        int node = rand() % nodes;

        world.now += rand() % (LEASE / 8);
        if (rand() % 200 == 0)
            change(&world);
        if (world.dead[node])
            continue;
        if (world.keeping[node].wanted)
            elect(&world, node, true);
        world.keeping[node].wanted = false;
        take(&world, node);
        check_leases(&world);
    }
    assert_true(world.gave > STEPS / 5);
    for (int i = 0; i < nodes; i++)
        free_keeping(&world.keeping[i]);
}

TEST(nothing_is_given_twice)
{
    for (int seed = 0; seed < ROUNDS; seed++) {
        srand((unsigned)seed);
        play(2 + seed % (NODES - 1), false);
    }
}

TEST(one_node_gives_at_a_time)
{
    for (int seed = 0; seed < ROUNDS; seed++) {
        srand((unsigned)seed);
        play(2 + seed % (NODES - 1), true);
    }
}

/* Each part of nodes, and each set of those that have ended, as two parts may see them. */
TEST(two_parts_are_never_both_enough)
{
    enum { MOST = 6 };
    const int sets = 1 << MOST;
    bool enough;

    for (int a = 0; a < sets; a++) {
        for (int b = 0; b < sets; b++) {
            int ended = ~(a | b) & (sets - 1);
            bool with_a[MOST], with_b[MOST], gone[MOST], none[MOST] = {false};

            for (int i = 0; i < MOST; i++) {
                with_a[i] = a >> i & 1;
                with_b[i] = b >> i & 1;
                gone[i] = ended >> i & 1;
            }
            if (a & b)
                continue;
            enough = mpiio_keeping_is_enough(with_a, gone, MOST) &&
                     (mpiio_keeping_is_enough(with_b, gone, MOST) ||
                      mpiio_keeping_is_enough(with_b, none, MOST));
            assert_false(enough);
        }
    }
}

/* Of two values the one that was set more often is the later. */
TEST(what_was_set_counts)
{
    struct mpiio_pointers_value value = {.generation = 0, .position = 100};
    struct mpiio_keeping keeping = {.count = 1, .values = &value};
    struct mpiio_pointers_request request = {.type = MPIIO_POINTERS_SET, .count = 7};
    struct mpiio_pointers_answer answer;

    set_turns(&keeping, 0, 1);
    mpiio_keeping_init(&keeping, 0, 1, LEASE);
    mpiio_keeping_answer(&keeping, &request, false, 0, &answer);
    assert_int_equal(answer.verdict, MPIIO_POINTERS_GRANTED);
    mpiio_keeping_learn(&keeping, 0, &(struct mpiio_pointers_value){0, 5000});
    assert_int_equal(value.position, 7);
    mpiio_keeping_learn(&keeping, 0, &(struct mpiio_pointers_value){1, 9});
    assert_int_equal(value.position, 9);
    free_keeping(&keeping);
}

/* What is sent is what is read; and what is out of range is refused. */
TEST(frames)
{
    const struct mpiio_pointers_request request = {.type = MPIIO_POINTERS_TELL,
                                                   .term = UINT64_MAX,
                                                   .node = 3,
                                                   .gone = true,
                                                   .pointer = 4095,
                                                   .count = 5,
                                                   .limit = INT64_MAX,
                                                   .value = {7, 8},
                                                   .number = 11,
                                                   .settled = 12,
                                                   .share = UINT64_MAX - 13,
                                                   .ended = 14,
                                                   .owner = 15,
                                                   .leaving = true};
    struct mpiio_pointers_answer answer = {.verdict = MPIIO_POINTERS_BUSY,
                                           .term = 9,
                                           .keeper = 2,
                                           .got = 4,
                                           .value = {1, 2},
                                           .turn = UINT64_MAX,
                                           .owner = 6};
    uint8_t bytes[MPIIO_POINTERS_REQUEST_BYTES];
    struct mpiio_pointers_request read;
    struct mpiio_pointers_answer heard;

    mpiio_pointers_request_encode(&request, bytes);
    assert_true(mpiio_pointers_request_decode(bytes, &read));
    assert_true(read.type == request.type && read.term == request.term && read.node == 3 &&
                read.gone && read.pointer == 4095 && read.count == 5 && read.limit == INT64_MAX &&
                read.value.generation == 7 && read.value.position == 8 && read.number == 11 &&
                read.settled == 12 && read.share == UINT64_MAX - 13 && read.ended == 14 &&
                read.owner == 15 && read.leaving);
    bytes[0] = MPIIO_POINTERS_HERALD + 1;
    assert_false(mpiio_pointers_request_decode(bytes, &read));
    mpiio_pointers_answer_encode(&answer, bytes);
    assert_true(mpiio_pointers_answer_decode(bytes, &heard));
    assert_true(heard.verdict == answer.verdict && heard.term == 9 && heard.keeper == 2 &&
                heard.got == 4 && heard.value.generation == 1 && heard.value.position == 2 &&
                heard.turn == UINT64_MAX && heard.owner == 6);
    answer.value.position = INT64_MAX - 3;
    mpiio_pointers_answer_encode(&answer, bytes);
    assert_false(mpiio_pointers_answer_decode(bytes, &heard));
}
