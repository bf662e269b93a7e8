/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_ERRORS_H
#define ENGINE_ERRORS_H

/*
 * The negative errno that stands for an error code of MPI: by its class, as in the table of
 * viewspec(5), and where that says little by its text. 0 for MPI_SUCCESS. Local.
 */
int engine_error(int mpi_error);

#endif
