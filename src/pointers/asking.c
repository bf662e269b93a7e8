/* SPDX-License-Identifier: MIT */
#include "asking.h"

#include <errno.h>
#include <time.h>

#include "core/base/lease.h"
#include "lines/talk.h"

/* So often a node is asked whether it is there, with so many ms between. */
#define PROBES (4 * MPIIO_LINES_MAX)
#define PAUSE  20

/* What was given to a user is not to be lost when this node pledges itself to another one. */
static bool is_users(const struct mpiio_pointers_request *request)
{
    return request->type <= MPIIO_POINTERS_SET;
}

static int learn_known(struct mpiio_asking *asking, int fd, size_t pointer, int timeout)
{
    uint8_t bytes[MPIIO_POINTERS_VALUE_BYTES];
    struct mpiio_pointers_known known;
    int error = mpiio_talk_receive(fd, bytes, sizeof(bytes), timeout);

    if (error == 0 && !mpiio_pointers_known_decode(bytes, &known))
        error = -EPROTO;
    if (error != 0)
        return error;
    pthread_mutex_lock(&asking->lock);
    mpiio_keeping_learn(&asking->keeping, pointer, &known.value);
    mpiio_turns_learn(&asking->keeping.turns, pointer, known.turn);
    pthread_mutex_unlock(&asking->lock);
    return 0;
}

static int learn_share(struct mpiio_asking *asking, int fd, int timeout)
{
    struct mpiio_keeping *keeping = &asking->keeping;
    uint8_t bytes[MPIIO_POINTERS_SHARE_BYTES];
    struct mpiio_pointers_share share;
    int error = mpiio_talk_receive(fd, bytes, sizeof(bytes), timeout);

    if (error == 0 && !mpiio_pointers_share_decode(bytes, &share))
        error = -EPROTO;
    if (error == 0 && (share.pointer >= keeping->count || share.node >= (uint32_t)keeping->nodes ||
                       share.number > INT64_MAX || keeping->turns.ranks == 0))
        error = -EPROTO;
    if (error != 0)
        return error;
    pthread_mutex_lock(&asking->lock);
    error = mpiio_turns_hold(&keeping->turns, share.pointer, share.number, share.node);
    pthread_mutex_unlock(&asking->lock);
    return error == -ENOMEM ? error : 0;
}

static int learn_given(struct mpiio_asking *asking, int fd, int timeout)
{
    struct mpiio_keeping *keeping = &asking->keeping;
    uint8_t bytes[MPIIO_POINTERS_GIVEN_BYTES];
    struct mpiio_pointers_given given;
    int error = mpiio_talk_receive(fd, bytes, sizeof(bytes), timeout);

    if (error == 0 &&
        (!mpiio_pointers_given_decode(bytes, &given) || given.node >= (uint32_t)keeping->nodes))
        error = -EPROTO;
    if (error != 0)
        return error;
    pthread_mutex_lock(&asking->lock);
    error = mpiio_given_learn(&keeping->given_to, &given);
    pthread_mutex_unlock(&asking->lock);
    return error;
}

static int learn_end(struct mpiio_asking *asking, int fd, struct mpiio_pointers_end *end,
                     int timeout)
{
    uint8_t bytes[MPIIO_POINTERS_END_BYTES];
    int error = mpiio_talk_receive(fd, bytes, sizeof(bytes), timeout);

    if (error == 0 && !mpiio_pointers_end_decode(bytes, end))
        error = -EPROTO;
    if (error != 0)
        return error;
    pthread_mutex_lock(&asking->lock);
    if (end->granted > asking->keeping.granted)
        asking->keeping.granted = end->granted;
    pthread_mutex_unlock(&asking->lock);
    return 0;
}

/* What a node that pledges itself knows. */
static int learn_all(struct mpiio_asking *asking, int fd, int timeout)
{
    struct mpiio_pointers_end end = {0};
    int error = 0;

    for (size_t i = 0; i < asking->keeping.count && error == 0; i++)
        error = learn_known(asking, fd, i, timeout);
    if (error == 0)
        error = learn_end(asking, fd, &end, timeout);
    for (; end.shares > 0 && error == 0; end.shares--)
        error = learn_share(asking, fd, timeout);
    for (; end.given > 0 && error == 0; end.given--)
        error = learn_given(asking, fd, timeout);
    return error;
}

static int exchange(struct mpiio_asking *asking, int fd,
                    const struct mpiio_pointers_request *request, int timeout,
                    struct mpiio_pointers_answer *answer)
{
    uint8_t bytes[MPIIO_POINTERS_REQUEST_BYTES];
    int error;

    mpiio_pointers_request_encode(request, bytes);
    error = mpiio_talk_send(fd, bytes, MPIIO_POINTERS_REQUEST_BYTES, timeout);
    if (error == 0)
        error = mpiio_talk_receive(fd, bytes, MPIIO_POINTERS_ANSWER_BYTES, timeout);
    if (error == 0 && !mpiio_pointers_answer_decode(bytes, answer))
        error = -EPROTO;
    if (error == 0 && request->type == MPIIO_POINTERS_PLEDGE &&
        answer->verdict == MPIIO_POINTERS_GRANTED)
        error = learn_all(asking, fd, timeout);
    return error;
}

/* A user waits for other, or does not any more; answer: what came of it. */
static void note(struct mpiio_asking *asking, int other,
                 const struct mpiio_pointers_request *request, bool waits,
                 struct mpiio_pointers_answer *answer)
{
    if (request->type >= MPIIO_POINTERS_PLEDGE)
        return;
    pthread_mutex_lock(&asking->lock);
    if (is_users(request))
        asking->asked[other] += waits ? 1U : -1U;
    if (answer != NULL)
        mpiio_keeping_got(&asking->keeping, request, other, answer);
    pthread_mutex_unlock(&asking->lock);
}

int mpiio_asking_ask(struct mpiio_asking *asking, int other,
                     const struct mpiio_pointers_request *request, int timeout,
                     struct mpiio_pointers_answer *answer)
{
    struct mpiio_line *line;
    int error = -ENOTCONN;

    line = mpiio_lines_get(&asking->lines, other);
    if (line == NULL)
        return error;
    note(asking, other, request, true, NULL);
    error = exchange(asking, line->fd, request, timeout, answer);
    note(asking, other, request, false, error == 0 ? answer : NULL);
    mpiio_lines_put(&asking->lines, other, line, error == 0);
    return error;
}

bool mpiio_asking_waits(const struct mpiio_asking *asking, int but)
{
    for (int i = 0; i < asking->keeping.nodes; i++)
        if (i != but && asking->asked[i] > 0)
            return true;
    return false;
}

void mpiio_asking_answer(struct mpiio_asking *asking, const struct mpiio_pointers_request *request,
                         struct mpiio_pointers_answer *answer)
{
    struct mpiio_keeping *keeping = &asking->keeping;
    bool asks = mpiio_asking_waits(asking, (int)request->node), had_given = keeping->given;

    mpiio_keeping_answer(keeping, request, asks, mpiio_lease_clock(), answer);
    if (keeping->wanted || (keeping->given && !had_given))
        pthread_cond_signal(&asking->wanted);
}

bool mpiio_asking_has_ended(struct mpiio_asking *asking, int other,
                            const struct mpiio_pointers_request *probe, int timeout)
{
    const struct timespec pause = {.tv_nsec = PAUSE * 1000000};
    int64_t end = mpiio_lease_clock() + (int64_t)2 * timeout;
    struct mpiio_pointers_answer answer;

    for (int i = 0; i < PROBES && mpiio_lease_clock() < end; i++) {
        if (mpiio_lines_refused(&asking->lines, other))
            return true;
        if (mpiio_asking_ask(asking, other, probe, timeout, &answer) == 0)
            return false;
        nanosleep(&pause, NULL);
    }
    return mpiio_lines_refused(&asking->lines, other);
}
