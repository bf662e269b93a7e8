/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_USER_LIBRARY_H
#define MPIIO_USER_LIBRARY_H

/* Private to src/core/convert/: shared libraries that a user names, opened only where they can be
 * trusted.
 */

#include <stdbool.h>
#include <stddef.h>

struct mpiio_user_library {
    void *handle; /* of dlopen(3) */
    int fd;       /* stays open: the name that it is loaded by tells libraries apart */
    bool pinned;  /* linked to MPI: cannot be unloaded */
};

/*
 * Opens the library at an absolute path. Refused where others could have put code into it: it and
 * its folder must belong to root or to the effective user, and be writable by no one else (by the
 * mode; a sticky folder is no better). What was checked is what is loaded. Where the library is
 * linked to MPI and MPI was not initialised, it is now, for MPI_THREAD_MULTIPLE and as a job of one
 * process, whatever job this process is started in. Signal handlers that the library or MPI
 * installs are taken away again.
 *
 * Returns 0, or a negative errno with the reason in `why` (of why_size bytes). Changes environment
 * variables while MPI is initialised: not while other threads use them. A process may fork after
 * it: what MPI does locally, such as telling of datatypes, works in the child.
 */
int mpiio_user_library_open(struct mpiio_user_library *library, const char *path, char *why,
                            size_t why_size);

/* Unloads the library, but one that is linked to MPI: its threads and tables stay in use. */
void mpiio_user_library_close(struct mpiio_user_library *library);

/* The address of prefix_symbol, else of symbol, else NULL. */
void *mpiio_user_library_symbol(const struct mpiio_user_library *library, const char *prefix,
                                const char *symbol);

#endif
