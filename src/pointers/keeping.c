/* SPDX-License-Identifier: MIT */
#include "keeping.h"

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

static void give(struct mpiio_keeping *keeping, const struct mpiio_pointers_request *request,
                 struct mpiio_pointers_answer *answer)
{
    struct mpiio_pointers_value *value = &keeping->values[request->pointer];

    answer->verdict = MPIIO_POINTERS_GRANTED;
    keeping->given = keeping->given || request->type != MPIIO_POINTERS_GET;
    mpiio_keeping_learn(keeping, request->pointer, &request->value);
    if (request->type == MPIIO_POINTERS_SET)
        *value = (struct mpiio_pointers_value){value->generation + 1, request->count};
    answer->value = *value;
    if (request->type != MPIIO_POINTERS_TAKE || request->limit <= value->position)
        return;
    answer->got = request->limit - value->position;
    if (answer->got > request->count)
        answer->got = request->count;
    value->position += answer->got;
}

/* Who takes asks the keeper, or whom it takes for it. */
static void answer_user(struct mpiio_keeping *keeping, const struct mpiio_pointers_request *request,
                        int64_t now, struct mpiio_pointers_answer *answer)
{
    bool gives = keeping->serves && now < keeping->leased;

    if (gives && keeping->leased - now < keeping->lease / 2)
        keeping->wanted = true;
    if (gives) {
        give(keeping, request, answer);
    } else {
        bool pledged = keeping->keeper != keeping->node && now < keeping->pledged;

        /* Who asks here has lost the keeper: it may have ended. */
        keeping->wanted = true;
        answer->verdict = pledged ? MPIIO_POINTERS_REFUSED : MPIIO_POINTERS_BUSY;
    }
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
    keeping->term = request->term;
    keeping->keeper = (int)request->node;
    keeping->serves = false;
    keeping->pledged = pledge_end(keeping, now);
    answer->verdict = MPIIO_POINTERS_GRANTED;
}

void mpiio_keeping_answer(struct mpiio_keeping *keeping,
                          const struct mpiio_pointers_request *request, bool asking, int64_t now,
                          struct mpiio_pointers_answer *answer)
{
    *answer = (struct mpiio_pointers_answer){.verdict = MPIIO_POINTERS_REFUSED};
    if (request->type == MPIIO_POINTERS_PLEDGE) {
        answer_pledge(keeping, request, asking, now, answer);
    } else if (request->pointer < keeping->count && request->type == MPIIO_POINTERS_TELL) {
        if (request->term == keeping->term && (int)request->node == keeping->keeper) {
            mpiio_keeping_learn(keeping, request->pointer, &request->value);
            answer->verdict = MPIIO_POINTERS_GRANTED;
        }
    } else if (request->pointer < keeping->count) {
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

void mpiio_keeping_elected(struct mpiio_keeping *keeping, uint64_t term, int64_t start)
{
    if (keeping->term != term || keeping->keeper != keeping->node)
        return;
    keeping->serves = true;
    keeping->leased = start + keeping->lease;
}

void mpiio_keeping_outdated(struct mpiio_keeping *keeping, uint64_t term)
{
    if (term <= keeping->term)
        return;
    keeping->term = term;
    keeping->serves = false;
    if (keeping->keeper == keeping->node)
        keeping->pledged = 0;
}

void mpiio_keeping_got(struct mpiio_keeping *keeping, const struct mpiio_pointers_request *request,
                       int from, struct mpiio_pointers_answer *answer)
{
    struct mpiio_pointers_value value = answer->value;

    if (answer->verdict != MPIIO_POINTERS_GRANTED)
        return;
    if (answer->term < keeping->term) {
        answer->verdict = MPIIO_POINTERS_BUSY;
        return;
    }
    keeping->serves = keeping->serves && answer->term == keeping->term;
    keeping->term = answer->term;
    keeping->keeper = from;
    value.position += answer->got;
    mpiio_keeping_learn(keeping, request->pointer, &value);
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
