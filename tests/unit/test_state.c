/* SPDX-License-Identifier: MIT */
/*
 * Tests the state of shared file pointers against a naive model: the numbers that contributions
 * get, and whose turn it is, while nodes leave and exit. Also tests the same after a snapshot.
 */

#include "unit.h"
#include "pointers/state.h"

/* The model: a list of all contributions. */

#define MOST  3000
#define NODES 4
#define SELF  1 /* the node whose state is tested */

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
    bool leaving[NODES], exited[NODES];
    int64_t position;
};

static struct share *model_find(struct model *model, uint64_t number)
{
    for (size_t i = 0; i < model->count; i++)
        if (model->shares[i].number == number)
            return &model->shares[i];
    return NULL;
}

/* Adds a contribution of the rank. Its number is the smallest one that is not past, and that no
   contribution of the rank has or exceeds. */
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

/* Returns true if the turn has to wait. A missing contribution is awaited, unless a later one
   belongs to a node that is leaving. */
static bool model_waits(struct model *model)
{
    const struct share *share = model_find(model, model->turn);

    if (share != NULL)
        return !share->over && !model->exited[share->node];
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

/* Returns the number of turns until the next one of SELF, or UINT64_MAX if it has none. */
static uint64_t model_distance(const struct model *model)
{
    uint64_t least = UINT64_MAX;

    for (size_t i = 0; i < model->count; i++) {
        const struct share *share = &model->shares[i];

        if (share->node == SELF && share->number >= model->turn &&
            share->number - model->turn < least)
            least = share->number - model->turn;
    }
    return least;
}

static void compare(struct model *model, const struct mpiio_state *state)
{
    const struct share *share;
    bool others;

    model_settle(model);
    share = model_find(model, model->turn);
    others = share != NULL && share->node != SELF;
    assert_int_equal(mpiio_turns_of_others(&state->turns), others);
    assert_true(mpiio_turns_distance(&state->turns) ==
                (share != NULL && !others ? UINT64_MAX : model_distance(model)));
    assert_int_equal(state->turns.view[1].turn, model->turn);
    assert_int_equal(mpiio_turns_owner(&state->turns, 1),
                     share != NULL ? share->node : MPIIO_TURNS_NOBODY);
    assert_int_equal(state->position[1], model->position);
}

static void apply_to(struct mpiio_state *state, uint32_t view, enum mpiio_entry_kind kind,
                     uint32_t node, uint64_t value)
{
    const struct mpiio_entry entry = {.kind = kind, .node = node, .view = view, .value = value};

    assert_int_equal(mpiio_state_apply(state, &entry), 0);
}

static void apply(struct mpiio_state *state, enum mpiio_entry_kind kind, uint32_t node,
                  uint64_t value)
{
    apply_to(state, 1, kind, node, value);
}

static void open_share(struct model *model, struct mpiio_state *state, uint32_t node)
{
    int64_t rank = rand() % model->ranks;
    uint64_t number = mpiio_turns_next(&state->turns, 1, rank);

    assert_int_equal(number, model_open(model, rank, node));
    apply(state, MPIIO_ENTRY_OPEN, node, number);
}

static void one_step(struct model *model, struct mpiio_state *state)
{
    uint32_t node = (uint32_t)rand() % NODES;
    struct share *share;

    switch (rand() % 100) {
    case 0:
        model->exited[node] = true;
        apply(state, MPIIO_ENTRY_EXIT, node, 0);
        break;
    case 1:
        model->leaving[node] = true;
        apply(state, MPIIO_ENTRY_LEAVE, node, 0);
        break;
    case 2:
        model->position = rand();
        apply(state, MPIIO_ENTRY_POSITION, node, (uint64_t)model->position);
        break;
    default:
        share = model_find(model, model->turn);
        if (rand() % 2 == 0 && !model->leaving[node] && !model->exited[node]) {
            open_share(model, state, node);
        } else if (share != NULL) {
            share->over = true;
            apply(state, MPIIO_ENTRY_TURN, share->node, share->number + 1);
        }
    }
}

/* Replaces the state by that of a node which applies a snapshot of it. */
static void replay(struct mpiio_state *state)
{
    size_t count;
    struct mpiio_entry *list = mpiio_state_snapshot(state, &count);

    assert_non_null(list);
    mpiio_state_reset(state);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(mpiio_state_apply(state, &list[i]), 0);
    free(list);
}

TEST(the_state_is_the_models)
{
    static struct model model;

    for (unsigned seed = 0; seed < 60; seed++) {
        struct mpiio_state made;

        srand(seed);
        model = (struct model){.ranks = 1 + (int)seed % 9};
        assert_int_equal(mpiio_state_init(&made, 2, NULL, SELF, NODES, model.ranks), 0);
        apply_to(&made, 0, MPIIO_ENTRY_POSITION, 0, 1);
        for (int i = 0; i < 1000; i++) {
            one_step(&model, &made);
            compare(&model, &made);
            if (rand() % 50 == 0)
                replay(&made);
            compare(&model, &made);
        }
        assert_int_equal(made.position[0], 1);
        mpiio_state_free(&made);
    }
}

/* Memory grows with open contributions, not with the number of ranks. */
TEST(many_ranks)
{
    const int64_t ranks = 1000000, opened = 100000;
    struct mpiio_state made;
    const struct mpiio_turns_view *view;

    assert_int_equal(mpiio_state_init(&made, 1, NULL, 0, 2, ranks), 0);
    view = &made.turns.view[0];
    for (int64_t i = opened; i > 0; i--) {
        assert_int_equal(mpiio_turns_next(&made.turns, 0, 10 * i - 1), 10 * i - 1);
        apply_to(&made, 0, MPIIO_ENTRY_OPEN, 1, (uint64_t)(10 * i - 1));
    }
    apply_to(&made, 0, MPIIO_ENTRY_LEAVE, 1, 0);
    for (int64_t i = 1; i <= opened; i++) {
        assert_int_equal(view->turn, 10 * i - 1);
        apply_to(&made, 0, MPIIO_ENTRY_TURN, 1, view->turn + 1);
    }
    assert_int_equal(made.turns.count, 0);
    mpiio_state_free(&made);
}

/* A damaged record may contain entries that no node of this version writes. They are refused. */
TEST(entries_out_of_range_are_refused)
{
    static const struct mpiio_entry wrong[] = {
        {MPIIO_ENTRY_POSITION, 0, 2, 1},
        {MPIIO_ENTRY_POSITION, 2, 0, 1},
        {MPIIO_ENTRY_POSITION, 0, 0, (uint64_t)INT64_MAX + 1},
        {MPIIO_ENTRY_OPEN, 2, 0, 5},
        {MPIIO_ENTRY_OPEN, 0, 0, 3},
        {MPIIO_ENTRY_OPEN, 0, 0, 4},
        {MPIIO_ENTRY_EXIT, MPIIO_TURNS_NOBODY, 0, 0},
        {0, 0, 0, 0},
        {6, 0, 0, 0},
    };
    struct mpiio_state made;

    assert_int_equal(mpiio_state_init(&made, 2, NULL, 0, 2, 3), 0);
    apply_to(&made, 0, MPIIO_ENTRY_TURN, 1, 4);
    apply_to(&made, 0, MPIIO_ENTRY_OPEN, 1, 4);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_int_equal(mpiio_state_apply(&made, &wrong[i]), -EPROTO);
    mpiio_state_free(&made);
}
