/* SPDX-License-Identifier: MIT */
#include "texts.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"

/* Collective: true where it is true for every rank. */
static bool agree(MPI_Comm comm, bool ready)
{
    int own = ready, all = 0;

    return !capture_calls()->Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, comm) && all;
}

/* Rank 0: where each text goes, and room for all of them. */
static char *make_room(int ranks, const int *lengths, int64_t *room, int *places)
{
    int64_t total = 0;

    for (int i = 0; i < ranks && total <= *room; i++) {
        places[i] = (int)total;
        total += lengths[i];
    }
    if (total > *room)
        return NULL;
    *room -= total;
    return malloc((size_t)total + 1);
}

int capture_gather_texts(MPI_Comm comm, int rank, int ranks, const char *text, int64_t *room,
                         char **texts)
{
    const struct capture_calls *mpi = capture_calls();
    size_t count = rank ? 1 : (size_t)ranks, length = strlen(text) + 1;
    int *lengths = calloc(count, sizeof(*lengths)), *places = calloc(count, sizeof(*places));
    int own = (int)length, error = -1;
    bool ready = lengths && places && length <= INT32_MAX;

    *texts = NULL;
    if (agree(comm, ready) && !mpi->Gather(&own, 1, MPI_INT, lengths, 1, MPI_INT, 0, comm)) {
        if (rank == 0)
            *texts = make_room(ranks, lengths, room, places);
        if (agree(comm, rank || *texts))
            error = mpi->Gatherv(text, own, MPI_CHAR, *texts, lengths, places, MPI_CHAR, 0, comm)
                        ? -1
                        : 0;
    }
    if (error) {
        free(*texts);
        *texts = NULL;
    }
    free(lengths);
    free(places);
    return error;
}
