/* SPDX-License-Identifier: MIT */
#include "given.h"

#include <errno.h>
#include <stdlib.h>

struct mpiio_given_answer {
    struct mpiio_given_answer *next;
    uint64_t number;
    bool complete; /* else room for it */
    struct mpiio_pointers_answer answer;
};

/* Forgets what has a lower number. */
static void forget(struct mpiio_given_answer **link, uint64_t settled)
{
    while (*link != NULL) {
        struct mpiio_given_answer *given = *link;

        if (given->number < settled) {
            *link = given->next;
            free(given);
        } else {
            link = &given->next;
        }
    }
}

void mpiio_given_free(struct mpiio_given *given)
{
    for (int i = 0; i < MPIIO_LINES_NODES; i++)
        forget(&given->first[i], UINT64_MAX);
}

static struct mpiio_given_answer *find(const struct mpiio_given *given,
                                       const struct mpiio_pointers_request *request)
{
    struct mpiio_given_answer *answer = given->first[request->node];

    while (answer != NULL && answer->number != request->number)
        answer = answer->next;
    return answer;
}

const struct mpiio_pointers_answer *mpiio_given_find(struct mpiio_given *given,
                                                     const struct mpiio_pointers_request *request)
{
    const struct mpiio_given_answer *answer;

    forget(&given->first[request->node], request->settled);
    answer = find(given, request);
    return answer != NULL && answer->complete ? &answer->answer : NULL;
}

int mpiio_given_reserve(struct mpiio_given *given, const struct mpiio_pointers_request *request)
{
    struct mpiio_given_answer *room;

    if (find(given, request) != NULL)
        return 0;
    room = malloc(sizeof(*room));
    if (room == NULL)
        return -ENOMEM;
    *room =
        (struct mpiio_given_answer){.next = given->first[request->node], .number = request->number};
    given->first[request->node] = room;
    return 0;
}

void mpiio_given_put(struct mpiio_given *given, const struct mpiio_pointers_request *request,
                     const struct mpiio_pointers_answer *answer)
{
    struct mpiio_given_answer *room = find(given, request);

    room->answer = *answer;
    room->complete = true;
}
