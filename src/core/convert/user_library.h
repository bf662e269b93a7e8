/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_USER_LIBRARY_H
#define MPIIO_USER_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Private to src/core/convert/: shared libraries that a user names, loaded only if they can be
 * trusted.
 */

struct mpiio_user_library {
    void *handle; /* of dlopen(3) */
    int fd;       /* kept open, so that /proc/self/fd/N stays the library's unique name */
    bool pinned;  /* linked to MPI: cannot be unloaded */
};

/*
 * Opens the library at an absolute path. Refuses it if other users could have put code into it: the
 * library and its folder must belong to root or to the effective user, and nobody else may have
 * write permission (by mode; a sticky folder is no exception). It loads the file that it has
 * checked, even if the path changes meanwhile.
 *
 * If the library is linked to MPI and MPI is not initialized yet, this function initializes MPI
 * with MPI_THREAD_MULTIPLE. It does so as a job of one process, regardless of the job that started
 * this process. Signal handlers that the library or MPI installs are removed. The environment
 * changes meanwhile, so no other thread may use it. A process may fork afterwards: local functions
 * of MPI, such as queries of datatypes, work in the child.
 *
 * Returns 0, or a negative errno with the reason in `why` (why_size bytes).
 */
int mpiio_user_library_open(struct mpiio_user_library *library, const char *path, char *why,
                            size_t why_size);

/* Unloads the library, unless it is linked to MPI, whose threads and tables remain in use. */
void mpiio_user_library_close(struct mpiio_user_library *library);

/* Returns the address of the symbol prefix_symbol, or else of symbol, or else NULL. */
void *mpiio_user_library_symbol(const struct mpiio_user_library *library, const char *prefix,
                                const char *symbol);

/*
 * Private to src/core/convert/: the handles of predefined datatypes in the ABI of MPICH and its
 * derivatives, where they are constants. tests/mpi compares them with mpi.h.
 */

/* MPICH's handle for a datatype that it does not support. */
#define MPIIO_DATATYPE_NULL 0x0c000000

/* Returns the handle of basic type `number` (vs_basic_number), which is below VS_BASICS. */
int mpiio_datatype_handle(size_t number);

#endif
