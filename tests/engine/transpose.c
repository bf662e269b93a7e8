/* SPDX-License-Identifier: MIT */
/*
 * For tests/bats/engine.bats. Engines send a number to each other; many are 0. Each engine checks
 * what it receives, and how many messages it has sent. Run it under mpiexec with any number of
 * processes.
 */
#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

#include "engine/collective.h"

static int sent;

int MPI_Isend(const void *bytes, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    sent++;
    return PMPI_Isend(bytes, count, type, to, tag, comm, request);
}

/* Returns the value that one node sends to another. One value in sparse is not 0. */
static int value(int from, int to, unsigned int seed, unsigned int sparse)
{
    unsigned int hash = ((unsigned int)from * 31 + (unsigned int)to) * 2654435761U + seed * 40503U;

    return (hash >> 8) % sparse == 0 ? (int)(hash >> 16) + 1 : 0;
}

/* Runs the exchange once. Returns how many numbers are wrong. */
static int turn(struct engine_collective *group, unsigned int seed, struct engine_part *out)
{
    unsigned int sparse = seed % 4 * 3 + 1;
    int steps = 0, wrong = 0, count, at = 0;
    struct engine_part *in;

    for (int reach = 1; reach < group->nodes; reach *= 2)
        steps++;
    for (int i = 0; i < group->nodes; i++)
        out[i] = (struct engine_part){.node = i, .count = value(group->node, i, seed, sparse)};
    sent = 0;
    count = engine_collective_transpose(group, out, group->nodes, &in);
    /* One message in each step, and a second one if the data is long. */
    wrong += sent < steps || sent > 2 * steps;
    for (int i = 0; i < group->nodes; i++) {
        int expected = value(i, group->node, seed, sparse);

        if (expected == 0)
            continue;
        wrong += at == count || in[at].node != i || in[at].count != expected;
        at += at < count;
    }
    wrong += at != count;
    free(in);
    return wrong;
}

int main(int argc, char **argv)
{
    static struct engine_collective group;
    struct engine_part *out;
    int wrong = 0;

    MPI_Init(&argc, &argv);
    group.messages = engine_messages_new(&group.node, &group.nodes);
    out = calloc((size_t)group.nodes, sizeof(*out));
    for (unsigned int seed = 0; seed < 40; seed++)
        wrong += turn(&group, seed, out);
    free(out);
    MPI_Reduce(group.node == 0 ? MPI_IN_PLACE : &wrong, &wrong, 1, MPI_INT, MPI_SUM, 0,
               MPI_COMM_WORLD);
    if (group.node == 0)
        printf("%d wrong\n", wrong);
    MPI_Finalize();
    return 0;
}
