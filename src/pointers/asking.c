/* SPDX-License-Identifier: MIT */
#include "asking.h"

#include <errno.h>

#include "lines/talk.h"

static bool is_users(const struct mpiio_pointers_request *request)
{
    return request->type != MPIIO_POINTERS_PLEDGE && request->type != MPIIO_POINTERS_TELL;
}

/* What a node that pledges itself knows. */
static int learn_all(struct mpiio_asking *asking, int fd, int timeout)
{
    uint8_t bytes[MPIIO_POINTERS_VALUE_BYTES];
    struct mpiio_pointers_value value;
    int error = 0;

    for (size_t i = 0; i < asking->keeping.count && error == 0; i++) {
        error = mpiio_talk_receive(fd, bytes, sizeof(bytes), timeout);
        if (error == 0 && !mpiio_pointers_value_decode(bytes, &value))
            error = -EPROTO;
        if (error != 0)
            break;
        pthread_mutex_lock(&asking->lock);
        mpiio_keeping_learn(&asking->keeping, i, &value);
        pthread_mutex_unlock(&asking->lock);
    }
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
    if (!is_users(request))
        return;
    pthread_mutex_lock(&asking->lock);
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
