/* SPDX-License-Identifier: MIT */
#include "keeping.h"

#include <assert.h>
#include <errno.h>

void mpiio_keeping_init(struct mpiio_keeping *keeping, int node, int nodes, int lease)
{
    keeping->node = node;
    keeping->nodes = nodes;
    keeping->lease = lease;
    keeping->serves = nodes == 1;
    keeping->leased = nodes == 1 ? INT64_MAX : 0;
}

static bool is_later(const struct mpiio_pointers_value *a, const struct mpiio_pointers_value *b)
{
    return a->generation != b->generation ? a->generation > b->generation
                                          : a->position > b->position;
}

void mpiio_keeping_learn(struct mpiio_keeping *keeping, size_t pointer,
                         const struct mpiio_pointers_value *value)
{
    if (is_later(value, &keeping->values[pointer]))
        keeping->values[pointer] = *value;
}

/* Longer than the lease is, by what clocks may differ in. */
static int64_t pledge_end(const struct mpiio_keeping *keeping, int64_t now)
{
    return now + keeping->lease + keeping->lease / 8;
}

static void take_etypes(struct mpiio_keeping *keeping, const struct mpiio_pointers_request *request,
                        struct mpiio_pointers_answer *answer)
{
    struct mpiio_pointers_value *value = &keeping->values[request->pointer];

    if (request->share != MPIIO_POINTERS_NO_SHARE &&
        mpiio_turns_use(&keeping->turns, request->pointer, request->share, request->node) ==
            -ESTALE) {
        answer->verdict = MPIIO_POINTERS_STALE;
        return;
    }
    answer->value = *value;
    if (request->limit <= value->position)
        return;
    answer->got = request->limit - value->position;
    if (answer->got > request->count)
        answer->got = request->count;
    assert(answer->got <= request->limit - value->position);
    value->position += answer->got;
}

/* A rank's next share. */
static void open_share(struct mpiio_keeping *keeping, const struct mpiio_pointers_request *request,
                       struct mpiio_pointers_answer *answer)
{
    uint64_t number;

    answer->verdict = MPIIO_POINTERS_REFUSED;
    if (request->count >= keeping->turns.ranks)
        return;
    answer->verdict = MPIIO_POINTERS_BUSY;
    if (mpiio_turns_open(&keeping->turns, request->pointer, request->count, request->node,
                         &number) != 0)
        return;
    answer->verdict = MPIIO_POINTERS_GRANTED;
    answer->got = (int64_t)number;
}

/* What must not be done twice; the answer is granted so far. */
static void give(struct mpiio_keeping *keeping, const struct mpiio_pointers_request *request,
                 struct mpiio_pointers_answer *answer)
{
    struct mpiio_pointers_value *value = &keeping->values[request->pointer];

    keeping->granted = keeping->term;
    mpiio_keeping_learn(keeping, request->pointer, &request->value);
    if (request->type == MPIIO_POINTERS_SET)
        answer->value = *value =
            (struct mpiio_pointers_value){value->generation + 1, request->count};
    else if (request->type == MPIIO_POINTERS_OPEN)
        open_share(keeping, request, answer);
    else
        take_etypes(keeping, request, answer);
    keeping->given = keeping->given || request->type != MPIIO_POINTERS_OPEN;
}

/* The same, where the request may be one that comes again. */
static void give_once(struct mpiio_keeping *keeping, const struct mpiio_pointers_request *request,
                      struct mpiio_pointers_answer *answer)
{
    const struct mpiio_pointers_answer *before;

    if (keeping->nodes == 1) {
        give(keeping, request, answer);
        return;
    }
    before = mpiio_given_find(&keeping->given_to, request);
    if (before != NULL) {
        *answer = *before;
    } else if (mpiio_given_reserve(&keeping->given_to, request) != 0) {
        answer->verdict = MPIIO_POINTERS_BUSY;
    } else {
        give(keeping, request, answer);
        answer->term = keeping->term;
        if (answer->verdict == MPIIO_POINTERS_GRANTED)
            mpiio_given_put(&keeping->given_to, request, answer);
        else
            mpiio_given_drop(&keeping->given_to, request);
    }
}

/* What is the same when it comes again. */
static void answer_again(struct mpiio_keeping *keeping,
                         const struct mpiio_pointers_request *request, int64_t now,
                         struct mpiio_pointers_answer *answer)
{
    struct mpiio_turns *turns = &keeping->turns;

    if (request->ended < (uint32_t)keeping->nodes)
        mpiio_turns_gone(turns, request->ended);
    if (request->leaving)
        mpiio_turns_leave(turns, request->node);
    if (request->type == MPIIO_POINTERS_GET) {
        mpiio_keeping_learn(keeping, request->pointer, &request->value);
        answer->value = keeping->values[request->pointer];
    } else if (request->type == MPIIO_POINTERS_OVER) {
        mpiio_turns_over(turns, request->pointer, request->share, request->node);
    } else if (request->type == MPIIO_POINTERS_TURN) {
        mpiio_turns_pass_silent(turns, request->pointer, now);
    } else {
        answer->got = mpiio_turns_done(turns, request->node, now, &answer->owner);
    }
}

/* This node keeps the pointers. */
static void answer_keeping(struct mpiio_keeping *keeping,
                           const struct mpiio_pointers_request *request, int64_t now,
                           struct mpiio_pointers_answer *answer)
{
    mpiio_turns_hear(&keeping->turns, request->node, now);
    answer->verdict = MPIIO_POINTERS_GRANTED;
    if (request->type == MPIIO_POINTERS_TAKE || request->type == MPIIO_POINTERS_SET ||
        request->type == MPIIO_POINTERS_OPEN)
        give_once(keeping, request, answer);
    else
        answer_again(keeping, request, now, answer);
    answer->turn = keeping->turns.view[request->pointer].turn;
    if (request->type != MPIIO_POINTERS_DONE)
        answer->owner = mpiio_turns_owner(&keeping->turns, request->pointer);
}

/* Who takes asks the keeper, or whom it takes for it. */
static void answer_user(struct mpiio_keeping *keeping, const struct mpiio_pointers_request *request,
                        int64_t now, struct mpiio_pointers_answer *answer)
{
    bool gives = keeping->serves && now < keeping->leased;

    if (gives && keeping->leased - now < keeping->lease / 2)
        keeping->wanted = true;
    if (gives) {
        answer_keeping(keeping, request, now, answer);
    } else {
        bool pledged = keeping->keeper != keeping->node && now < keeping->pledged;

        /* Who asks here has lost the keeper: it may have ended. */
        keeping->wanted = true;
        answer->verdict = pledged ? MPIIO_POINTERS_REFUSED : MPIIO_POINTERS_BUSY;
    }
}

/* What the keeper of the term has given is kept in mind. */
static void answer_told(struct mpiio_keeping *keeping, const struct mpiio_pointers_request *request,
                        struct mpiio_pointers_answer *answer)
{
    if (request->term != keeping->term || (int)request->node != keeping->keeper)
        return;
    answer->verdict = MPIIO_POINTERS_GRANTED;
    keeping->granted = request->term;
    if (request->type == MPIIO_POINTERS_TELL)
        mpiio_keeping_learn(keeping, request->pointer, &request->value);
    else if (request->owner >= (uint32_t)keeping->nodes || keeping->turns.ranks == 0)
        answer->verdict = MPIIO_POINTERS_REFUSED;
    else if (mpiio_turns_hold(&keeping->turns, request->pointer, request->share, request->owner) ==
             -ENOMEM)
        answer->verdict = MPIIO_POINTERS_REFUSED;
}

static void answer_pledge(struct mpiio_keeping *keeping,
                          const struct mpiio_pointers_request *request, bool asking, int64_t now,
                          struct mpiio_pointers_answer *answer)
{
    bool same = request->term == keeping->term && (int)request->node == keeping->keeper;

    if ((request->term <= keeping->term && !same) ||
        (!same && now < keeping->pledged && keeping->keeper != (int)request->node &&
         !(request->gone && keeping->keeper != keeping->node))) {
        answer->verdict = MPIIO_POINTERS_REFUSED;
        return;
    }
    /* What is on its way from another keeper must be known first. */
    if (asking) {
        answer->verdict = MPIIO_POINTERS_BUSY;
        return;
    }
    assert(request->term >= keeping->term);
    keeping->term = request->term;
    keeping->keeper = (int)request->node;
    keeping->serves = false;
    keeping->pledged = pledge_end(keeping, now);
    answer->verdict = MPIIO_POINTERS_GRANTED;
}

/* Whether no node of this group says that: it is of shares, and there are none. */
static bool is_foreign(const struct mpiio_keeping *keeping,
                       const struct mpiio_pointers_request *request)
{
    bool of_share =
        request->type == MPIIO_POINTERS_OVER || request->type == MPIIO_POINTERS_HERALD ||
        request->type == MPIIO_POINTERS_NOTE ||
        (request->type == MPIIO_POINTERS_TAKE && request->share != MPIIO_POINTERS_NO_SHARE);

    return request->pointer >= keeping->count || request->node >= (uint32_t)keeping->nodes ||
           (of_share && (keeping->turns.ranks == 0 || request->share > INT64_MAX));
}

void mpiio_keeping_answer(struct mpiio_keeping *keeping,
                          const struct mpiio_pointers_request *request, bool asking, int64_t now,
                          struct mpiio_pointers_answer *answer)
{
    *answer = (struct mpiio_pointers_answer){.verdict = MPIIO_POINTERS_REFUSED,
                                             .owner = MPIIO_POINTERS_NO_NODE};
    if (request->type == MPIIO_POINTERS_PLEDGE) {
        answer_pledge(keeping, request, asking, now, answer);
    } else if (is_foreign(keeping, request)) {
        answer->verdict = MPIIO_POINTERS_REFUSED;
    } else if (request->type == MPIIO_POINTERS_TELL || request->type == MPIIO_POINTERS_NOTE) {
        answer_told(keeping, request, answer);
    } else if (request->type == MPIIO_POINTERS_HERALD) {
        mpiio_turns_learn(&keeping->turns, request->pointer, request->share);
        answer->verdict = MPIIO_POINTERS_GRANTED;
    } else {
        answer_user(keeping, request, now, answer);
    }
    answer->term = keeping->term;
    answer->keeper = (uint32_t)keeping->keeper;
}

bool mpiio_keeping_stand(struct mpiio_keeping *keeping, bool gone, int64_t now, uint64_t *term)
{
    if (keeping->keeper != keeping->node && now < keeping->pledged && !gone)
        return false;
    if (keeping->keeper != keeping->node || !keeping->serves)
        keeping->term++;
    keeping->keeper = keeping->node;
    keeping->pledged = pledge_end(keeping, now);
    *term = keeping->term;
    return true;
}

bool mpiio_keeping_stays(struct mpiio_keeping *keeping, uint64_t term, int64_t now)
{
    if (keeping->term != term || keeping->keeper != keeping->node)
        return false;
    keeping->pledged = pledge_end(keeping, now);
    return true;
}

void mpiio_keeping_elected(struct mpiio_keeping *keeping, uint64_t term, int64_t start)
{
    if (keeping->term != term || keeping->keeper != keeping->node)
        return;
    if (!keeping->serves) {
        mpiio_given_since(&keeping->given_to, keeping->granted, term);
        mpiio_turns_begin(&keeping->turns, start);
    }
    keeping->serves = true;
    keeping->leased = start + keeping->lease;
}

void mpiio_keeping_not_elected(struct mpiio_keeping *keeping)
{
    if (keeping->keeper == keeping->node && !keeping->serves)
        keeping->pledged = 0;
}

void mpiio_keeping_outdated(struct mpiio_keeping *keeping, uint64_t term)
{
    if (term <= keeping->term)
        return;
    keeping->term = term;
    keeping->serves = false;
    mpiio_keeping_not_elected(keeping);
}

/* What follows from an answer for what is known here. */
static void learn_answer(struct mpiio_keeping *keeping,
                         const struct mpiio_pointers_request *request,
                         const struct mpiio_pointers_answer *answer)
{
    struct mpiio_pointers_value value = answer->value;

    mpiio_turns_learn(&keeping->turns, request->pointer, answer->turn);
    if (answer->verdict != MPIIO_POINTERS_GRANTED)
        return;
    keeping->granted = answer->term;
    if (request->type == MPIIO_POINTERS_TAKE)
        value.position += answer->got;
    if (request->type <= MPIIO_POINTERS_SET)
        mpiio_keeping_learn(keeping, request->pointer, &value);
    /* Without memory for it, who keeps the pointers knows it alone. */
    if (request->type == MPIIO_POINTERS_OPEN)
        mpiio_turns_hold(&keeping->turns, request->pointer, (uint64_t)answer->got, request->node);
}

void mpiio_keeping_got(struct mpiio_keeping *keeping, const struct mpiio_pointers_request *request,
                       int from, struct mpiio_pointers_answer *answer)
{
    if (answer->verdict != MPIIO_POINTERS_GRANTED && answer->verdict != MPIIO_POINTERS_STALE)
        return;
    if (answer->term < keeping->term) {
        answer->verdict = MPIIO_POINTERS_BUSY;
        return;
    }
    keeping->serves = keeping->serves && answer->term == keeping->term;
    keeping->term = answer->term;
    keeping->keeper = from;
    learn_answer(keeping, request, answer);
}

bool mpiio_keeping_is_enough(const bool *with_us, const bool *gone, int nodes)
{
    int with = 0, left = 0, first = -1;

    for (int i = 0; i < nodes; i++) {
        left += !gone[i];
        with += with_us[i] && !gone[i];
        if (!gone[i] && first < 0)
            first = i;
    }
    return 2 * with > left || (2 * with == left && first >= 0 && with_us[first]);
}
