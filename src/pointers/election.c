/* SPDX-License-Identifier: MIT */
#include "election.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/thread.h"

/* ms: what a node is given to answer in the first round, and between two rounds. */
#define FIRST 250
#define PAUSE 20

struct election {
    struct mpiio_asking *asking;
    struct mpiio_pointers_request request;
    bool renews; /* all that matters is known: enough nodes are enough */
    bool lost;   /* another one is in a later term, or followed by somebody */
    bool known[MPIIO_LINES_NODES], gone[MPIIO_LINES_NODES]; /* a node has told what it knows */
    /* Of a round: */
    int64_t start;
    bool with_us[MPIIO_LINES_NODES];
    int next; /* of those that did not answer, the first to be asked */
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
    return has_ended(asking, MPIIO_LOCKED(&asking->lock, asking->keeping.keeper));
}

static void ask_node(struct election *election, int other, int timeout)
{
    struct mpiio_asking *asking = election->asking;
    struct mpiio_pointers_answer answer;

    if (mpiio_asking_ask(asking, other, &election->request, timeout, &answer) != 0) {
        election->gone[other] = mpiio_lines_refused(&asking->lines, other);
        return;
    }
    election->with_us[other] = answer.verdict == MPIIO_POINTERS_GRANTED;
    election->known[other] = election->known[other] || election->with_us[other];
    if (answer.verdict != MPIIO_POINTERS_REFUSED)
        return;
    election->lost = true;
    pthread_mutex_lock(&asking->lock);
    mpiio_keeping_outdated(&asking->keeping, answer.term);
    pthread_mutex_unlock(&asking->lock);
}

static bool is_enough(const struct election *election)
{
    return mpiio_keeping_is_enough(election->with_us, election->gone,
                                   election->asking->keeping.nodes);
}

/*
 * Who keeps the pointers anew must know what each that lives was given: all are waited for. Who
 * goes on with it knows that.
 */
static bool is_over(const struct election *election)
{
    bool all = true;

    for (int i = 0; i < election->asking->keeping.nodes; i++)
        all = all && (election->known[i] || election->gone[i]);
    return election->lost || (election->renews ? is_enough(election) : all);
}

static void begin_round(struct election *election)
{
    struct mpiio_asking *asking = election->asking;
    int node = asking->keeping.node;

    election->start = mpiio_lease_clock();
    memset(election->with_us, 0, sizeof(election->with_us));
    election->with_us[node] = election->known[node] = true;
    pthread_mutex_lock(&asking->lock);
    election->lost =
        !mpiio_keeping_stays(&asking->keeping, election->request.term, election->start);
    pthread_mutex_unlock(&asking->lock);
}

/* Asks those that did not answer the last time, as many as there is time for: they may take long.
 */
static void ask_failed(struct election *election, const bool *failed, int timeout)
{
    const struct mpiio_keeping *keeping = &election->asking->keeping;
    int64_t end = election->start + keeping->lease / 4;
    int first = election->next;

    for (int k = 0; k < keeping->nodes && !is_over(election) && mpiio_lease_clock() < end; k++) {
        int i = (first + k) % keeping->nodes;

        if (!failed[i] || election->gone[i])
            continue;
        ask_node(election, i, timeout);
        election->next = i + 1;
    }
}

/*
 * Asks all, also those that have pledged themselves to this node in the round before: that would be
 * over before others are waited for long enough, and somebody else would stand.
 */
static void ask_round(struct election *election, int timeout)
{
    const struct mpiio_keeping *keeping = &election->asking->keeping;
    bool failed[MPIIO_LINES_NODES];

    begin_round(election);
    for (int i = 0; i < keeping->nodes; i++)
        failed[i] = mpiio_lines_failed(&election->asking->lines, i);
    for (int i = 0; i < keeping->nodes && !is_over(election); i++)
        if (i != keeping->node && !failed[i] && !election->gone[i])
            ask_node(election, i, timeout);
    ask_failed(election, failed, timeout);
}

/* A round is shorter than pledges last, also where one that is asked takes all its time. */
static void ask_all(struct election *election, int timeout)
{
    int64_t end = mpiio_lease_clock() + timeout;
    int most = election->asking->keeping.lease / 2, patience = FIRST < most ? FIRST : most;

    ask_round(election, patience);
    while (!is_over(election) && mpiio_lease_clock() < end) {
        rest();
        patience = patience < most / 2 ? 2 * patience : most;
        ask_round(election, patience);
    }
    if (election->renews)
        return;
    election->renews = true;
    if (!election->lost)
        ask_round(election, patience);
}

bool mpiio_election_run(struct mpiio_asking *asking, int timeout)
{
    struct mpiio_keeping *keeping = &asking->keeping;
    struct election election = {.asking = asking,
                                .request = {.type = MPIIO_POINTERS_PLEDGE,
                                            .node = (uint32_t)keeping->node,
                                            .gone = keeper_is_gone(asking)}};
    bool stands, elected = false;

    pthread_mutex_lock(&asking->lock);
    election.renews = keeping->serves;
    stands = !mpiio_asking_waits(asking, keeping->node) &&
             mpiio_keeping_stand(keeping, election.request.gone, mpiio_lease_clock(),
                                 &election.request.term);
    pthread_mutex_unlock(&asking->lock);
    if (!stands)
        return false;
    ask_all(&election, timeout);
    pthread_mutex_lock(&asking->lock);
    if (!election.lost && is_enough(&election)) {
        mpiio_keeping_elected(keeping, election.request.term, election.start);
        elected = keeping->serves && keeping->leased > mpiio_lease_clock();
    } else {
        mpiio_keeping_not_elected(keeping);
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
