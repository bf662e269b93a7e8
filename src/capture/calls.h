/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_CALLS_H
#define CAPTURE_CALLS_H

/*
 * The MPI library of the program that is captured. libmpiio-capture is loaded into every process
 * that a command line starts, most of which use no MPI, so it is not linked with MPI: what it
 * calls is looked up in the process when it is first needed.
 */

#include <mpi.h>

/* clang-format off */
#define CAPTURE_CALLS(CALL)                                                                        \
    CALL(Allreduce) CALL(Barrier) CALL(Comm_create) CALL(Comm_free) CALL(Comm_group)               \
    CALL(Comm_rank) CALL(Comm_set_errhandler) CALL(Comm_size) CALL(File_get_position)              \
    CALL(File_get_view) CALL(Gather) CALL(Gatherv) CALL(Group_free) CALL(Type_free)                \
    CALL(Type_get_contents) CALL(Type_get_envelope) CALL(Type_get_extent) CALL(Type_get_name)      \
    CALL(Type_size_x)

/* Of MPI 4: NULL where the library is older. */
#define CAPTURE_NEW_CALLS(CALL)                                                                    \
    CALL(Type_get_contents_c) CALL(Type_get_envelope_c)
/* clang-format on */

struct capture_calls {
#define CALL(name) __typeof__(&PMPI_##name) name;
    CAPTURE_CALLS(CALL)
    CAPTURE_NEW_CALLS(CALL)
#undef CALL
};

/*
 * The calls, or NULL where the process has no MPI library with MPICH's ABI, which is said once.
 * Thread-safe.
 */
const struct capture_calls *capture_calls(void);

#endif
