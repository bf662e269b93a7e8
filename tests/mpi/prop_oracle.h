/* SPDX-License-Identifier: MIT */
#ifndef TESTS_PROP_ORACLE_H
#define TESTS_PROP_ORACLE_H

/* MPI itself as the second oracle. */

#include "../../viewspec/map.h"
#include "prop_check.h"

/* Notes a failure, the first one only; returns false. */
bool prop_fail(struct prop_state *state, enum prop_group group, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Compares a legal view that has data and native sizes with MPI's types, Pack and Unpack. */
void prop_check_mpi(struct prop_state *state, struct tt_model *model, const struct vs_map *map,
                    uint64_t *random);

#endif
