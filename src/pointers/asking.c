/* SPDX-License-Identifier: MIT */
#include "asking.h"

#include <errno.h>
#include <time.h>

#include "core/base/clock.h"
#include "known.h"
#include "lines/talk.h"

/* So often a node is asked whether it is there, with so many ms between. */
#define PROBES (4 * MPIIO_LINES_MAX)
#define PAUSE  20

/* What was given to a user is not to be lost when this node pledges itself to another one. */
static bool is_users(const struct mpiio_pointers_request *request)
{
    return request->type <= MPIIO_POINTERS_SET;
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
        error = mpiio_known_receive(&asking->lock, &asking->keeping, fd, timeout);
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
