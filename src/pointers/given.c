/* SPDX-License-Identifier: MIT */
#include "given.h"

#include <errno.h>
#include <stdlib.h>

/* Forgets what has a lower number, or was given in an earlier term. */
static void forget(struct mpiio_given *given, uint32_t node, uint64_t settled, uint64_t term)
{
    struct mpiio_given_answer **link = &given->first[node];

    while (*link != NULL) {
        struct mpiio_given_answer *answer = *link;

        if (answer->given.number < settled || answer->given.answer.term < term) {
            *link = answer->next;
            given->count--;
            free(answer);
        } else {
            link = &answer->next;
        }
    }
}

void mpiio_given_free(struct mpiio_given *given)
{
    mpiio_given_since(given, UINT64_MAX, 0);
}

static struct mpiio_given_answer *find_given(const struct mpiio_given *given, uint32_t node,
                                             uint64_t number)
{
    struct mpiio_given_answer *answer = given->first[node];

    while (answer != NULL && answer->given.number != number)
        answer = answer->next;
    return answer;
}

const struct mpiio_pointers_answer *mpiio_given_find(struct mpiio_given *given,
                                                     const struct mpiio_pointers_request *request)
{
    const struct mpiio_given_answer *answer;

    forget(given, request->node, request->settled, 0);
    answer = find_given(given, request->node, request->number);
    return answer != NULL ? &answer->given.answer : NULL;
}

static struct mpiio_given_answer *add_given(struct mpiio_given *given, uint32_t node,
                                            uint64_t number)
{
    struct mpiio_given_answer *room = malloc(sizeof(*room));

    if (room == NULL)
        return NULL;
    *room = (struct mpiio_given_answer){.next = given->first[node],
                                        .given = {.node = node, .number = number}};
    given->first[node] = room;
    given->count++;
    return room;
}

int mpiio_given_reserve(struct mpiio_given *given, const struct mpiio_pointers_request *request)
{
    return add_given(given, request->node, request->number) != NULL ? 0 : -ENOMEM;
}

void mpiio_given_put(struct mpiio_given *given, const struct mpiio_pointers_request *request,
                     const struct mpiio_pointers_answer *answer)
{
    find_given(given, request->node, request->number)->given.answer = *answer;
}

void mpiio_given_drop(struct mpiio_given *given, const struct mpiio_pointers_request *request)
{
    struct mpiio_given_answer *room = given->first[request->node];

    /* What has come last is the first. */
    given->first[request->node] = room->next;
    given->count--;
    free(room);
}

int mpiio_given_learn(struct mpiio_given *given, const struct mpiio_pointers_given *other)
{
    struct mpiio_given_answer *own = find_given(given, other->node, other->number);

    if (own != NULL && own->given.answer.term >= other->answer.term)
        return 0;
    if (own == NULL)
        own = add_given(given, other->node, other->number);
    if (own == NULL)
        return -ENOMEM;
    own->given = *other;
    return 0;
}

void mpiio_given_since(struct mpiio_given *given, uint64_t term, uint64_t now)
{
    for (uint32_t i = 0; i < MPIIO_LINES_NODES; i++) {
        forget(given, i, 0, term);
        for (struct mpiio_given_answer *answer = given->first[i]; answer != NULL && now > 0;
             answer = answer->next)
            answer->given.answer.term = now;
    }
}
