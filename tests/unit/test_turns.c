/* SPDX-License-Identifier: MIT */
/*
 * Turns against a naive model: the numbers that shares get, whose turn it is, who is passed over;
 * and the same over several nodes that ask each other over a network that is made up. Answers
 * are lost there, nodes end or are silent, and others keep the turns then: nothing is given twice,
 * no turn comes twice or too early, and it goes on.
 */

#include "unit.h"
#include "pointers/keeping.h"

#define PATIENCE 1000

/* One who knows all: a list of shares. */

#define MOST  3000
#define NODES 4

struct share {
    uint64_t number;
    uint32_t node;
    bool over;
};

struct model {
    int64_t ranks;
    uint64_t turn;
    struct share shares[MOST];
    size_t count;
    bool gone[NODES], leaving[NODES];
};

static struct share *model_find(struct model *model, uint64_t number)
{
    for (size_t i = 0; i < model->count; i++)
        if (model->shares[i].number == number)
            return &model->shares[i];
    return NULL;
}

/* The smallest number of the rank that is not over and nobody has, and that none of it follows. */
static uint64_t model_open(struct model *model, int64_t rank, uint32_t node)
{
    uint64_t number = (uint64_t)rank;

    while (number < model->turn)
        number += (uint64_t)model->ranks;
    for (size_t i = 0; i < model->count; i++)
        if (model->shares[i].number % (uint64_t)model->ranks == (uint64_t)rank &&
            model->shares[i].number >= number)
            number = model->shares[i].number + (uint64_t)model->ranks;
    model->shares[model->count++] = (struct share){number, node, false};
    return number;
}

/* A share that is missing is waited for, but where one that follows is of a node that leaves. */
static bool model_waits(struct model *model)
{
    const struct share *share = model_find(model, model->turn);

    if (share != NULL)
        return !share->over && !model->gone[share->node];
    for (size_t i = 0; i < model->count; i++)
        if (model->shares[i].number > model->turn && model->leaving[model->shares[i].node])
            return false;
    return true;
}

static void model_settle(struct model *model)
{
    while (!model_waits(model))
        model->turn++;
}

static void compare(struct model *model, const struct mpiio_turns *turns)
{
    const struct share *share;

    model_settle(model);
    share = model_find(model, model->turn);
    assert_int_equal(turns->view[1].turn, model->turn);
    assert_int_equal(mpiio_turns_owner(turns, 1), share != NULL ? share->node : MPIIO_TURNS_NOBODY);
}

/* Who has the turn then is passed over, and this is told once. */
static void end_node(struct model *model, struct mpiio_turns *turns, uint32_t node)
{
    const struct share *share = model_find(model, model->turn);
    bool had_turn = share != NULL && share->node == node && !model->gone[node];
    struct mpiio_turns_passed passed;

    model->gone[node] = true;
    mpiio_turns_gone(turns, node);
    passed = mpiio_turns_take_passed(turns, 1);
    assert_int_equal(passed.any, had_turn);
    if (had_turn)
        assert_true(passed.node == node && passed.number == share->number &&
                    passed.position == turns->values[1].position);
    assert_false(mpiio_turns_take_passed(turns, 1).any);
}

static void one_step(struct model *model, struct mpiio_turns *turns)
{
    uint32_t node = (uint32_t)rand() % NODES;
    struct share *share;
    uint64_t number;

    switch (rand() % 100) {
    case 0:
        end_node(model, turns, node);
        break;
    case 1:
        model->leaving[node] = true;
        mpiio_turns_leave(turns, node);
        break;
    default:
        if (rand() % 2 == 0 && !model->gone[node] && !model->leaving[node]) {
            int64_t rank = rand() % model->ranks;

            assert_int_equal(mpiio_turns_open(turns, 1, rank, node, &number), 0);
            assert_int_equal(number, model_open(model, rank, node));
            break;
        }
        share = model_find(model, model->turn);
        if (share == NULL)
            break;
        share->over = true;
        assert_int_equal(mpiio_turns_use(turns, 1, share->number, share->node), 0);
        assert_int_equal(mpiio_turns_use(turns, 1, share->number, (share->node + 1) % NODES),
                         -ESTALE);
        mpiio_turns_over(turns, 1, share->number, share->node);
        assert_int_equal(mpiio_turns_use(turns, 1, share->number, share->node), -ESTALE);
        mpiio_turns_over(turns, 1, share->number, share->node); /* it may come again */
    }
}

TEST(turns_are_the_models)
{
    static struct model model;

    for (unsigned seed = 0; seed < 60; seed++) {
        const struct mpiio_pointers_value values[2] = {{0, 1}, {0, seed}};
        struct mpiio_turns turns = {.nodes = NODES,
                                    .views = 2,
                                    .ranks = 1 + (int)seed % 9,
                                    .patience = PATIENCE,
                                    .values = values};

        srand(seed);
        model = (struct model){.ranks = turns.ranks};
        assert_int_equal(mpiio_turns_init(&turns), 0);
        for (int i = 0; i < 1000; i++) {
            one_step(&model, &turns);
            compare(&model, &turns);
        }
        mpiio_turns_free(&turns);
    }
}

/* Memory is taken for the shares that there are, whatever the ranks are. */
TEST(many_ranks)
{
    const int64_t ranks = 1000000, opened = 100000;
    struct mpiio_turns turns = {.nodes = 2, .views = 1, .ranks = ranks, .patience = PATIENCE};
    uint64_t number;

    assert_int_equal(mpiio_turns_init(&turns), 0);
    for (int64_t i = opened; i > 0; i--) {
        assert_int_equal(mpiio_turns_open(&turns, 0, 10 * i - 1, 1, &number), 0);
        assert_int_equal(number, 10 * i - 1);
    }
    mpiio_turns_leave(&turns, 1);
    for (int64_t i = 1; i <= opened; i++) {
        assert_int_equal(turns.view[0].turn, 10 * i - 1);
        mpiio_turns_over(&turns, 0, turns.view[0].turn, 1);
    }
    assert_int_equal(turns.count, 0);
    mpiio_turns_free(&turns);
}

TEST(who_is_silent_is_passed_over)
{
    const struct mpiio_pointers_value value = {0, 7};
    struct mpiio_turns turns = {
        .nodes = 3, .views = 1, .ranks = 3, .patience = PATIENCE, .values = &value};
    struct mpiio_turns_passed passed;
    uint64_t number;
    int64_t now = 5;

    assert_int_equal(mpiio_turns_init(&turns), 0);
    mpiio_turns_begin(&turns, now);
    for (int rank = 0; rank < 3; rank++)
        assert_int_equal(mpiio_turns_open(&turns, 0, rank, rank == 2 ? 2 : 1, &number), 0);
    for (; now < PATIENCE; now += 100) {
        mpiio_turns_hear(&turns, 2, now);
        mpiio_turns_pass_silent(&turns, 0, now);
        assert_int_equal(turns.view[0].turn, 0);
    }
    /* Its second one at once, too: it is as silent. */
    now = PATIENCE + 6;
    mpiio_turns_hear(&turns, 2, now);
    mpiio_turns_pass_silent(&turns, 0, now);
    assert_int_equal(turns.view[0].turn, 2);
    assert_int_equal(mpiio_turns_use(&turns, 0, 0, 1), -ESTALE);
    /* It had the turn of the first. */
    passed = mpiio_turns_take_passed(&turns, 0);
    assert_true(passed.any && passed.number == 0 && passed.node == 1 && passed.position == 7);
    /* Who has slept itself gives the others time; who is asked seldom comes to an end, too. */
    now += 100 * PATIENCE;
    mpiio_turns_hear(&turns, 0, now);
    mpiio_turns_pass_silent(&turns, 0, now);
    assert_int_equal(turns.view[0].turn, 2);
    for (int i = 0; i < 3; i++) {
        now += 2 * PATIENCE;
        mpiio_turns_hear(&turns, 0, now);
        mpiio_turns_pass_silent(&turns, 0, now);
    }
    assert_int_equal(turns.view[0].turn, 3);
    mpiio_turns_free(&turns);
}

/* Nodes that ask each other. */

#define LEASE  100
#define RANKS  5
#define STEPS  3000
#define ROUNDS 200

enum phase { IDLE, OPENS, HAS, TAKES, ENDS };

/* A rank: one share at a time, on any node, or none. A request that is not answered is asked again.
 */
struct user {
    enum phase phase;
    int rank, node;
    uint64_t share;
    int left; /* takes that it is to do at its turn */
    struct mpiio_pointers_request request;
};

struct world {
    int nodes;
    int64_t now;
    struct mpiio_keeping keeping[NODES];
    struct mpiio_pointers_value values[NODES];
    bool dead[NODES], ended[NODES]; /* ended: some node knows */
    int silent;                     /* or -1 */
    uint64_t requests;
    struct user users[RANKS];
    uint64_t owner[STEPS * 4]; /* by position: the share that was given it, and 1; 0: nobody */
    int stale;                 /* takes of shares that were passed over before they were answered */
    int64_t given;             /* the end of what was given */
    uint64_t seen[STEPS];      /* shares that were handed out: by node, from 1 */
    uint64_t shares;
};

static bool answers(const struct world *world, int node)
{
    return !world->dead[node] && node != world->silent;
}

/* False: there is no answer, though the request may have come. */
static bool ask(struct world *world, int from, int to, struct mpiio_pointers_request *request,
                struct mpiio_pointers_answer *answer)
{
    if (!answers(world, to) || rand() % 20 == 0)
        return false;
    request->node = (uint32_t)from;
    mpiio_keeping_answer(&world->keeping[to], request, false, world->now, answer);
    if (from != to && rand() % 10 == 0)
        return false;
    if (from != to && request->type < MPIIO_POINTERS_PLEDGE)
        mpiio_keeping_got(&world->keeping[from], request, to, answer);
    return true;
}

/* All that a node knows. */
static void learn(struct mpiio_keeping *to, const struct mpiio_keeping *from)
{
    const struct mpiio_heap *shares = &from->turns.view[0].shares;

    mpiio_keeping_learn(to, 0, &from->values[0]);
    mpiio_turns_learn(&to->turns, 0, from->turns.view[0].turn);
    to->granted = from->granted > to->granted ? from->granted : to->granted;
    for (int i = 0; i < from->nodes; i++)
        for (const struct mpiio_given_answer *given = from->given_to.first[i]; given != NULL;
             given = given->next)
            mpiio_given_learn(&to->given_to, &given->given);
    for (size_t i = 0; i < shares->count; i++) {
        const struct mpiio_turns_share *share = shares->items[i].item;

        mpiio_turns_hold(&to->turns, 0, share->number, share->node);
    }
}

static void elect(struct world *world, int node)
{
    struct mpiio_keeping *self = &world->keeping[node];
    struct mpiio_pointers_request request = {.type = MPIIO_POINTERS_PLEDGE,
                                             .gone = world->dead[self->keeper]};
    bool with_us[NODES] = {false}, gone[NODES] = {false}, complete = true;
    struct mpiio_pointers_answer answer;

    if (!mpiio_keeping_stand(self, request.gone, world->now, &request.term))
        return;
    for (int i = 0; i < world->nodes; i++) {
        gone[i] = world->dead[i];
        with_us[i] = i == node;
        if (i == node || gone[i])
            continue;
        /* Who answers is waited for; who is silent is not. */
        while (answers(world, i) && !ask(world, node, i, &request, &answer))
            continue;
        if (!answers(world, i))
            continue;
        with_us[i] = answer.verdict == MPIIO_POINTERS_GRANTED;
        complete = complete && with_us[i];
        if (with_us[i])
            learn(self, &world->keeping[i]);
        else
            mpiio_keeping_outdated(self, answer.term);
    }
    if (complete && mpiio_keeping_is_enough(with_us, gone, world->nodes))
        mpiio_keeping_elected(self, request.term, world->now);
}

/* As a deputy is told: another node knows, or there is none. */
static bool tell(struct world *world, int node, const struct mpiio_pointers_request *asked,
                 const struct mpiio_pointers_answer *given)
{
    struct mpiio_pointers_request request = {.type = MPIIO_POINTERS_TELL,
                                             .term = given->term,
                                             .value = given->value,
                                             .owner = (uint32_t)node,
                                             .share = (uint64_t)given->got};
    struct mpiio_pointers_answer answer;
    bool alone = true;

    request.value.position += given->got;
    if (asked->type == MPIIO_POINTERS_OPEN)
        request.type = MPIIO_POINTERS_NOTE;
    for (int i = 0; i < world->nodes; i++) {
        if (i == node || world->dead[i])
            continue;
        alone = false;
        if (ask(world, node, i, &request, &answer))
            return answer.verdict == MPIIO_POINTERS_GRANTED;
    }
    return alone;
}

/* A user's request, once. False: it is to be asked again. */
static bool resolve(struct world *world, int node, struct mpiio_pointers_request *request,
                    struct mpiio_pointers_answer *answer)
{
    struct mpiio_keeping *self = &world->keeping[node];
    uint64_t settled = request->number;
    int keeper = self->keeper;

    if (world->dead[keeper] || rand() % 10 == 0)
        keeper = rand() % world->nodes;
    for (int i = 0; i < RANKS; i++)
        if (world->users[i].phase != IDLE && world->users[i].node == node &&
            world->users[i].request.number < settled)
            settled = world->users[i].request.number;
    request->settled = settled;
    request->value = self->values[0];
    request->ended = MPIIO_POINTERS_NO_NODE;
    for (int i = 0; i < world->nodes; i++)
        if (world->dead[i] && rand() % 5 == 0)
            request->ended = (uint32_t)i;
    if (!ask(world, node, keeper, request, answer))
        return false;
    if (answer->verdict == MPIIO_POINTERS_STALE)
        return true;
    return answer->verdict == MPIIO_POINTERS_GRANTED &&
           (keeper != node ||
            (request->type != MPIIO_POINTERS_TAKE && request->type != MPIIO_POINTERS_OPEN) ||
            tell(world, node, request, answer));
}

static void begin(struct world *world, struct user *user, enum phase phase,
                  enum mpiio_pointers_type type)
{
    user->phase = phase;
    user->request = (struct mpiio_pointers_request){
        .type = type,
        .number = ++world->requests,
        .share = type == MPIIO_POINTERS_OPEN ? MPIIO_POINTERS_NO_SHARE : user->share,
        .count = type == MPIIO_POINTERS_OPEN ? user->rank : 1 + rand() % 3,
        .limit = STEPS * 4};
}

/* Whether somebody of an earlier share has asked for something, and was not answered any more: his
   node has ended, or his share was passed over, which he may know. */
static bool is_lost(struct world *world, uint64_t share)
{
    if (world->stale > 0) {
        world->stale--;
        return true;
    }
    for (int i = 0; i < RANKS; i++)
        if (world->users[i].phase == TAKES && world->users[i].share < share)
            return true;
    return false;
}

/* It was given what nobody else was; right behind that, but for what is lost; in order. */
static void check_take(struct world *world, const struct user *user,
                       const struct mpiio_pointers_answer *answer)
{
    int64_t at = answer->value.position, end = at + answer->got;

    if (at > world->given && !is_lost(world, user->share))
        fail_msg("share %llu is given %lld on, where %lld is due", (unsigned long long)user->share,
                 (long long)at, (long long)world->given);
    for (int64_t i = at; i < end; i++) {
        if (world->owner[i] != 0)
            fail_msg("share %llu is given %lld, which %llu has", (unsigned long long)user->share,
                     (long long)i, (unsigned long long)world->owner[i] - 1);
        world->owner[i] = user->share + 1;
    }
    for (int64_t i = 0, last = 0; i < end; i++) {
        if (world->owner[i] != 0 && (int64_t)world->owner[i] < last)
            fail_msg("share %llu comes behind %lld", (unsigned long long)world->owner[i] - 1,
                     (long long)last - 1);
        last = world->owner[i] != 0 ? (int64_t)world->owner[i] : last;
    }
    world->given = end > world->given ? end : world->given;
}

static void opened(struct world *world, int node, struct user *user, uint64_t number)
{
    assert_true(number < STEPS);
    if (world->seen[number] != 0)
        fail_msg("share %llu is given to node %d, and to %d", (unsigned long long)number,
                 (int)world->seen[number] - 1, node);
    world->seen[number] = (uint64_t)node + 1;
    user->share = number;
    user->phase = HAS;
    user->left = rand() % 3;
}

/* At its turn a user takes, and then ends its share. */
static void use(struct world *world, int node, struct user *user)
{
    struct mpiio_pointers_request request = {.type = MPIIO_POINTERS_TURN,
                                             .number = ++world->requests};
    struct mpiio_pointers_answer answer;

    if (resolve(world, node, &request, &answer))
        mpiio_turns_learn(&world->keeping[node].turns, 0, answer.turn);
    if (world->keeping[node].turns.view[0].turn > user->share)
        user->phase = IDLE; /* it was passed over */
    else if (world->keeping[node].turns.view[0].turn == user->share && user->left == 0)
        begin(world, user, ENDS, MPIIO_POINTERS_OVER);
    else if (world->keeping[node].turns.view[0].turn == user->share)
        begin(world, user, TAKES, MPIIO_POINTERS_TAKE);
    user->left -= user->phase == TAKES;
}

static void act(struct world *world, struct user *user)
{
    int node = user->node;
    struct mpiio_pointers_answer answer;

    if (user->phase == IDLE) {
        begin(world, user, OPENS, MPIIO_POINTERS_OPEN);
    } else if (user->phase == HAS) {
        use(world, node, user);
        return;
    }
    if (!resolve(world, node, &user->request, &answer))
        return;
    if (user->phase == OPENS) {
        opened(world, node, user, (uint64_t)answer.got);
    } else if (user->phase == ENDS) {
        world->shares++;
        user->phase = IDLE;
    } else {
        if (answer.verdict == MPIIO_POINTERS_GRANTED)
            check_take(world, user, &answer);
        world->stale += answer.verdict == MPIIO_POINTERS_STALE;
        user->phase = answer.verdict == MPIIO_POINTERS_GRANTED ? HAS : IDLE;
    }
}

/* A rank goes on where it is; one whose node has ended, or that has no share, anywhere. */
static void go_on(struct world *world, int rank)
{
    struct user *user = &world->users[rank];

    user->rank = rank;
    if (world->dead[user->node]) {
        world->stale += user->phase == TAKES;
        user->phase = IDLE;
    }
    if (user->phase == IDLE)
        user->node = rand() % world->nodes;
    if (answers(world, user->node))
        act(world, user);
}

/* A node ends; the shares of those that have are spread by who keeps the turns. */
static void change(struct world *world)
{
    int node = rand() % world->nodes, alive = 0;

    for (int i = 0; i < world->nodes; i++)
        alive += !world->dead[i];
    for (int i = 0; i < world->nodes; i++)
        for (int j = 0; j < world->nodes && world->keeping[i].serves && !world->dead[i]; j++)
            if (!world->dead[j] && i != j)
                learn(&world->keeping[j], &world->keeping[i]);
    if (world->silent >= 0)
        world->silent = -1;
    else if (rand() % 3 != 0 && alive > 2)
        world->silent = node;
    else if (alive > 1 && !world->dead[node])
        world->dead[node] = true;
}

static uint64_t play(int nodes)
{
    static struct world world;
    uint64_t shares;

    world = (struct world){.nodes = nodes, .silent = -1};
    for (int i = 0; i < nodes; i++) {
        struct mpiio_keeping *keeping = &world.keeping[i];

        keeping->count = 1;
        keeping->values = &world.values[i];
        keeping->turns = (struct mpiio_turns){.self = i,
                                              .nodes = nodes,
                                              .ranks = RANKS,
                                              .patience = 4 * LEASE,
                                              .views = 1,
                                              .values = keeping->values};
        assert_int_equal(mpiio_turns_init(&keeping->turns), 0);
        mpiio_keeping_init(keeping, i, nodes, LEASE);
    }
    for (int i = 0; i < STEPS; i++) {
        int node = rand() % nodes;

        world.now += rand() % (LEASE / 8);
        if (rand() % 300 == 0)
            change(&world);
        if (!answers(&world, node))
            continue;
        if (world.keeping[node].wanted)
            elect(&world, node);
        world.keeping[node].wanted = false;
        for (int j = 0; j < 2; j++)
            go_on(&world, rand() % RANKS);
    }
    shares = world.shares;
    for (int i = 0; i < nodes; i++) {
        mpiio_given_free(&world.keeping[i].given_to);
        mpiio_turns_free(&world.keeping[i].turns);
    }
    return shares;
}

TEST(nodes_take_turns)
{
    uint64_t shares = 0;

    for (unsigned seed = 0; seed < ROUNDS; seed++) {
        srand(seed);
        shares += play(2 + (int)seed % (NODES - 1));
    }
    /* It goes on, nearly always. */
    print_message("# %llu shares had their turn\n", (unsigned long long)shares);
    assert_true(shares > (uint64_t)ROUNDS * 20);
}
