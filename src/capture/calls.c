/* SPDX-License-Identifier: MIT */
#include "calls.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "hooks.h"
#include "output.h"

static struct capture_calls calls;
static bool usable;

/* Uses memcpy, because ISO C has no conversion of an object pointer to a function pointer. */
static void find_calls(void)
{
    void *function;

    if (capture_next("ompi_mpi_comm_world")) {
        capture_say("the program's MPI library does not have MPICH's ABI: nothing is captured "
                    "(build the program with MPICH, or write the spec: viewspec(5))");
        return;
    }
    usable = true;
#define CALL(name)                                                                                 \
    function = capture_next("PMPI_" #name);                                                        \
    memcpy(&calls.name, &function, sizeof(function));
    CAPTURE_NEW_CALLS(CALL)
#undef CALL
#define CALL(name)                                                                                 \
    function = capture_next("PMPI_" #name);                                                        \
    memcpy(&calls.name, &function, sizeof(function));                                              \
    usable = usable && function;
    CAPTURE_CALLS(CALL)
#undef CALL
    if (!usable)
        capture_say("the program's MPI library lacks functions of MPI 3: nothing is captured");
}

const struct capture_calls *capture_calls(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, find_calls);
    return usable ? &calls : NULL;
}
