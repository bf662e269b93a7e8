/* SPDX-License-Identifier: MIT */
#ifndef BENCH_FAIL_H
#define BENCH_FAIL_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <mpi.h>

/* Error handling in the MPI programs of scripts/bench, and in tests/mpi/roundtrip.c. Define
   BENCH_NAME, the program's name in messages, before including this header. */

/* Ends this process, so that mpiexec ends the others. MPI_Abort would print another line, and
   scripts/bench reports the last one. */
static _Noreturn inline void fail(const char *what, const char *why)
{
    fprintf(stderr, BENCH_NAME ": %s: %s\n", what, why);
    _exit(1);
}

/* Fails unless code is MPI_SUCCESS. */
static inline void check(const char *what, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;

    if (code == MPI_SUCCESS)
        return;
    MPI_Error_string(code, text, &length);
    fail(what, text);
}

/* Returns zeroed memory. Fails if memory is exhausted. */
static inline void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);

    if (memory == NULL)
        fail("memory", strerror(errno));
    return memory;
}

#endif
