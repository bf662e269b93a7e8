/* SPDX-License-Identifier: MIT */
/*
 * For tests/bats/engine.bats: engines tell each other a number each, many of which are 0, and each
 * checks what it gets, and how many messages it has sent. Under mpiexec, with any number of
 * processes.
 */
#include <stdio.h>
#include <stdlib.h>

#include "engine/collective.h"

static int sent;

int MPI_Isend(const void *bytes, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    sent++;
    return PMPI_Isend(bytes, count, type, to, tag, comm, request);
}

/* What one node tells another: one in sparse is not 0. */
static int value(int from, int to, unsigned int seed, unsigned int sparse)
{
    unsigned int hash = ((unsigned int)from * 31 + (unsigned int)to) * 2654435761U + seed * 40503U;

    return (hash >> 8) % sparse == 0 ? (int)(hash >> 16) + 1 : 0;
}

int main(int argc, char **argv)
{
    static struct engine_collective group;
    int *out, *in, wrong = 0, steps = 0;

    MPI_Init(&argc, &argv);
    engine_collective_init(&group, MPI_COMM_WORLD);
    out = calloc((size_t)group.nodes, sizeof(*out));
    in = calloc((size_t)group.nodes, sizeof(*in));
    for (int reach = 1; reach < group.nodes; reach *= 2)
        steps++;
    for (unsigned int seed = 0; seed < 40; seed++) {
        unsigned int sparse = seed % 4 * 3 + 1;

        for (int i = 0; i < group.nodes; i++) {
            out[i] = value(group.node, i, seed, sparse);
            in[i] = -1;
        }
        sent = 0;
        engine_collective_transpose(&group, out, in);
        /* One each step, and another where it is long. */
        wrong += sent < steps || sent > 2 * steps;
        for (int i = 0; i < group.nodes; i++)
            wrong += in[i] != value(i, group.node, seed, sparse);
    }
    free(out);
    free(in);
    MPI_Reduce(group.node == 0 ? MPI_IN_PLACE : &wrong, &wrong, 1, MPI_INT, MPI_SUM, 0,
               MPI_COMM_WORLD);
    if (group.node == 0)
        printf("%d wrong\n", wrong);
    MPI_Finalize();
    return 0;
}
