/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_CALLS_H
#define CAPTURE_CALLS_H

/*
 * The MPI library of the captured program. libmpiio-capture is loaded into every process that a
 * command line starts. Most of these use no MPI, so it is not linked with MPI: it looks up each
 * function in the process when it first needs it.
 */

#include <mpi.h>

/* clang-format off */
#define CAPTURE_CALLS(CALL)                                                                        \
    CALL(Allreduce) CALL(Barrier) CALL(Comm_create) CALL(Comm_free) CALL(Comm_group)               \
    CALL(Comm_rank) CALL(Comm_set_errhandler) CALL(Comm_size) CALL(File_get_position)              \
    CALL(File_get_view) CALL(Gather) CALL(Gatherv) CALL(Group_free) CALL(Type_free)                \
    CALL(Type_get_contents) CALL(Type_get_envelope) CALL(Type_get_extent) CALL(Type_get_name)      \
    CALL(Type_size_x)

/* Functions of MPI 4; NULL if the library is older. */
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
 * Returns the functions, or NULL if the process has no MPI library with MPICH's ABI, which is
 * reported once. Thread-safe.
 */
const struct capture_calls *capture_calls(void);

#endif
