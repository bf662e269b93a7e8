/* SPDX-License-Identifier: MIT */
#ifndef TESTS_PROP_ORACLE_H
#define TESTS_PROP_ORACLE_H

/* More oracles: MPI itself, and slices that are read and written. */

#include "viewspec/spec.h"
#include "prop_check.h"

/* Records a failure, but only the first one. Returns false. */
bool prop_fail(struct prop_state *state, enum prop_group group, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Compares a legal view that has data and native sizes with MPI's types, MPI_Pack and
   MPI_Unpack. */
void prop_check_mpi(struct prop_state *state, struct tt_model *model, const struct vs_map *map,
                    uint64_t *random);

/*
 * Reads and writes the slice of a legal view, over a file of the model's size, in the view's
 * representation.
 */
void prop_check_slice(struct prop_state *state, const struct tt_model *model, struct vs_view *view,
                      uint64_t *random);

#endif
