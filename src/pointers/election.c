/* SPDX-License-Identifier: MIT */
#include "election.h"

#include <stdlib.h>
#include <time.h>

#include "core/base/lease.h"

/* ms: what a node is given to answer in the first pass over all, and between two passes. */
#define FIRST 250
#define PAUSE 20

struct election {
    struct mpiio_asking *asking;
    struct mpiio_pointers_request request;
    bool renews;
    bool lost; /* another one is in a later term, or followed by somebody */
    bool with_us[MPIIO_LINES_NODES], gone[MPIIO_LINES_NODES];
};

static void rest(void)
{
    const struct timespec pause = {.tv_nsec = PAUSE * 1000000};

    nanosleep(&pause, NULL);
}

/* Whether another node has ended for sure. */
static bool has_ended(struct mpiio_asking *asking, int node)
{
    const struct mpiio_pointers_request probe = {.type = MPIIO_POINTERS_GET,
                                                 .node = (uint32_t)asking->keeping.node,
                                                 .share = MPIIO_POINTERS_NO_SHARE,
                                                 .ended = MPIIO_POINTERS_NO_NODE};

    return node != asking->keeping.node && mpiio_asking_has_ended(asking, node, &probe, FIRST);
}

/* The same of who keeps the pointers, as far as is known. */
static bool keeper_is_gone(struct mpiio_asking *asking)
{
    int keeper;

    pthread_mutex_lock(&asking->lock);
    keeper = asking->keeping.keeper;
    pthread_mutex_unlock(&asking->lock);
    return has_ended(asking, keeper);
}

static void ask(struct election *election, int other, int timeout)
{
    struct mpiio_asking *asking = election->asking;
    struct mpiio_pointers_answer answer;

    if (mpiio_asking_ask(asking, other, &election->request, timeout, &answer) != 0) {
        election->gone[other] = mpiio_lines_refused(&asking->lines, other);
        return;
    }
    election->with_us[other] = answer.verdict == MPIIO_POINTERS_GRANTED;
    if (answer.verdict != MPIIO_POINTERS_REFUSED)
        return;
    election->lost = true;
    pthread_mutex_lock(&asking->lock);
    mpiio_keeping_outdated(&asking->keeping, answer.term);
    pthread_mutex_unlock(&asking->lock);
}

/*
 * Who keeps the pointers anew must know what each that lives was given: all are waited for. Who
 * goes on with it knows that.
 */
static bool is_over(const struct election *election, bool all)
{
    return all || election->lost ||
           (election->renews && mpiio_keeping_is_enough(election->with_us, election->gone,
                                                        election->asking->keeping.nodes));
}

/* Asks those that have not said anything yet. True: there are none left. */
static bool pass(struct election *election, int timeout)
{
    const struct mpiio_keeping *keeping = &election->asking->keeping;
    bool all = true;

    for (int i = 0; i < keeping->nodes && !is_over(election, false); i++) {
        if (election->with_us[i] || election->gone[i])
            continue;
        ask(election, i, timeout);
        all = all && (election->with_us[i] || election->gone[i]);
    }
    return all;
}

static void ask_all(struct election *election, int timeout)
{
    int64_t end = mpiio_lease_clock() + timeout;
    int patience = FIRST;

    while (!is_over(election, pass(election, patience < timeout ? patience : timeout)) &&
           mpiio_lease_clock() < end) {
        rest();
        patience *= 2;
    }
}

bool mpiio_election_run(struct mpiio_asking *asking, int timeout)
{
    struct mpiio_keeping *keeping = &asking->keeping;
    struct election election = {.asking = asking,
                                .request = {.type = MPIIO_POINTERS_PLEDGE,
                                            .node = (uint32_t)keeping->node,
                                            .gone = keeper_is_gone(asking)}};
    int64_t start = mpiio_lease_clock();
    bool stands, elected = false;

    pthread_mutex_lock(&asking->lock);
    election.renews = keeping->serves;
    stands = !mpiio_asking_waits(asking, keeping->node) &&
             mpiio_keeping_stand(keeping, election.request.gone, start, &election.request.term);
    pthread_mutex_unlock(&asking->lock);
    if (!stands)
        return false;
    election.with_us[keeping->node] = true;
    ask_all(&election, timeout);
    pthread_mutex_lock(&asking->lock);
    if (!election.lost &&
        mpiio_keeping_is_enough(election.with_us, election.gone, keeping->nodes)) {
        mpiio_keeping_elected(keeping, election.request.term, start);
        elected = keeping->serves && keeping->leased > mpiio_lease_clock();
    }
    pthread_mutex_unlock(&asking->lock);
    return elected;
}

/* Tells all others of one pointer, or share. */
static void spread_one(struct mpiio_asking *asking, const struct mpiio_pointers_request *request)
{
    const struct mpiio_keeping *keeping = &asking->keeping;
    struct mpiio_pointers_answer answer;

    for (int i = 0; i < keeping->nodes; i++)
        if (i != keeping->node && !mpiio_lines_refused(&asking->lines, i))
            mpiio_asking_ask(asking, i, request, FIRST, &answer);
}

/* Looks whether a node that has shares, and says nothing any more, has ended. */
static void look_after(struct mpiio_asking *asking, int node)
{
    const struct mpiio_keeping *keeping = &asking->keeping;
    bool misses;

    pthread_mutex_lock(&asking->lock);
    misses =
        keeping->serves && mpiio_turns_misses(&keeping->turns, (uint32_t)node, mpiio_lease_clock());
    pthread_mutex_unlock(&asking->lock);
    if (!misses || !has_ended(asking, node))
        return;
    pthread_mutex_lock(&asking->lock);
    mpiio_turns_gone(&asking->keeping.turns, (uint32_t)node);
    pthread_mutex_unlock(&asking->lock);
}

/* The shares of nodes that have ended, which nobody else knows. */
static void spread_shares(struct mpiio_asking *asking)
{
    struct mpiio_keeping *keeping = &asking->keeping;
    struct mpiio_pointers_request request = {.type = MPIIO_POINTERS_NOTE,
                                             .node = (uint32_t)keeping->node,
                                             .ended = MPIIO_POINTERS_NO_NODE};
    struct mpiio_pointers_share *shares = NULL;
    size_t count = 0;

    pthread_mutex_lock(&asking->lock);
    if (keeping->serves)
        count = mpiio_turns_untold(&keeping->turns, &shares);
    request.term = keeping->term;
    pthread_mutex_unlock(&asking->lock);
    for (size_t i = 0; i < count; i++) {
        request.pointer = shares[i].pointer;
        request.share = shares[i].number;
        request.owner = shares[i].node;
        spread_one(asking, &request);
    }
    free(shares);
}

void mpiio_election_spread(struct mpiio_asking *asking, struct mpiio_pointers_value *told)
{
    struct mpiio_keeping *keeping = &asking->keeping;
    struct mpiio_pointers_request request = {.type = MPIIO_POINTERS_TELL,
                                             .node = (uint32_t)keeping->node,
                                             .share = MPIIO_POINTERS_NO_SHARE,
                                             .ended = MPIIO_POINTERS_NO_NODE};
    bool serves;

    for (int i = 0; i < keeping->nodes; i++)
        look_after(asking, i);
    spread_shares(asking);
    for (size_t i = 0; i < keeping->count; i++) {
        pthread_mutex_lock(&asking->lock);
        serves = keeping->serves;
        keeping->given = keeping->given && i > 0;
        request.term = keeping->term;
        request.value = keeping->values[i];
        pthread_mutex_unlock(&asking->lock);
        if (!serves)
            return;
        if (request.value.generation == told[i].generation &&
            request.value.position == told[i].position)
            continue;
        request.pointer = (uint32_t)i;
        told[i] = request.value;
        spread_one(asking, &request);
    }
}
