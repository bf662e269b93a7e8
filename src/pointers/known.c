/* SPDX-License-Identifier: MIT */
#include "known.h"

#include <errno.h>
#include <stdlib.h>

#include "lines/talk.h"

static uint8_t *write_shares(const struct mpiio_turns *turns, uint8_t *at)
{
    for (size_t i = 0; i < turns->views; i++)
        for (size_t j = 0; j < turns->view[i].shares.count; j++) {
            const struct mpiio_turns_share *share = turns->view[i].shares.items[j].item;

            mpiio_pointers_share_encode(
                &(struct mpiio_pointers_share){(uint32_t)i, share->node, share->number}, at);
            at += MPIIO_POINTERS_SHARE_BYTES;
        }
    return at;
}

uint8_t *mpiio_known_write(const struct mpiio_keeping *keeping, size_t *size)
{
    const struct mpiio_turns *turns = &keeping->turns;
    const struct mpiio_given *given = &keeping->given_to;
    const struct mpiio_pointers_end end = {keeping->granted, turns->count, given->count};
    uint8_t *bytes, *at;

    *size = keeping->count * MPIIO_POINTERS_VALUE_BYTES + MPIIO_POINTERS_END_BYTES +
            end.shares * MPIIO_POINTERS_SHARE_BYTES + end.given * MPIIO_POINTERS_GIVEN_BYTES;
    at = bytes = malloc(*size);
    if (bytes == NULL)
        return NULL;
    for (size_t i = 0; i < keeping->count; i++, at += MPIIO_POINTERS_VALUE_BYTES)
        mpiio_pointers_known_encode(
            &(struct mpiio_pointers_known){keeping->values[i], turns->view[i].turn}, at);
    mpiio_pointers_end_encode(&end, at);
    at = write_shares(turns, at + MPIIO_POINTERS_END_BYTES);
    for (int i = 0; i < keeping->nodes; i++)
        for (const struct mpiio_given_answer *answer = given->first[i]; answer != NULL;
             answer = answer->next, at += MPIIO_POINTERS_GIVEN_BYTES)
            mpiio_pointers_given_encode(&answer->given, at);
    return bytes;
}

static int learn_known(pthread_mutex_t *lock, struct mpiio_keeping *keeping, int fd, size_t pointer,
                       int timeout)
{
    uint8_t bytes[MPIIO_POINTERS_VALUE_BYTES];
    struct mpiio_pointers_known known;
    int error = mpiio_talk_receive(fd, bytes, sizeof(bytes), timeout);

    if (error == 0 && !mpiio_pointers_known_decode(bytes, &known))
        error = -EPROTO;
    if (error != 0)
        return error;
    pthread_mutex_lock(lock);
    mpiio_keeping_learn(keeping, pointer, &known.value);
    mpiio_turns_learn(&keeping->turns, pointer, known.turn);
    pthread_mutex_unlock(lock);
    return 0;
}

static int learn_share(pthread_mutex_t *lock, struct mpiio_keeping *keeping, int fd, int timeout)
{
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
    pthread_mutex_lock(lock);
    error = mpiio_turns_hold(&keeping->turns, share.pointer, share.number, share.node);
    pthread_mutex_unlock(lock);
    return error == -ENOMEM ? error : 0;
}

static int learn_given(pthread_mutex_t *lock, struct mpiio_keeping *keeping, int fd, int timeout)
{
    uint8_t bytes[MPIIO_POINTERS_GIVEN_BYTES];
    struct mpiio_pointers_given given;
    int error = mpiio_talk_receive(fd, bytes, sizeof(bytes), timeout);

    if (error == 0 &&
        (!mpiio_pointers_given_decode(bytes, &given) || given.node >= (uint32_t)keeping->nodes))
        error = -EPROTO;
    if (error != 0)
        return error;
    pthread_mutex_lock(lock);
    error = mpiio_given_learn(&keeping->given_to, &given);
    pthread_mutex_unlock(lock);
    return error;
}

static int learn_end(pthread_mutex_t *lock, struct mpiio_keeping *keeping, int fd,
                     struct mpiio_pointers_end *end, int timeout)
{
    uint8_t bytes[MPIIO_POINTERS_END_BYTES];
    int error = mpiio_talk_receive(fd, bytes, sizeof(bytes), timeout);

    if (error == 0 && !mpiio_pointers_end_decode(bytes, end))
        error = -EPROTO;
    if (error != 0)
        return error;
    pthread_mutex_lock(lock);
    if (end->granted > keeping->granted)
        keeping->granted = end->granted;
    pthread_mutex_unlock(lock);
    return 0;
}

int mpiio_known_receive(pthread_mutex_t *lock, struct mpiio_keeping *keeping, int fd, int timeout)
{
    struct mpiio_pointers_end end = {0};
    int error = 0;

    for (size_t i = 0; i < keeping->count && error == 0; i++)
        error = learn_known(lock, keeping, fd, i, timeout);
    if (error == 0)
        error = learn_end(lock, keeping, fd, &end, timeout);
    for (; end.shares > 0 && error == 0; end.shares--)
        error = learn_share(lock, keeping, fd, timeout);
    for (; end.given > 0 && error == 0; end.given--)
        error = learn_given(lock, keeping, fd, timeout);
    return error;
}
