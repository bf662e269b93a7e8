/* SPDX-License-Identifier: MIT */
#ifndef TESTS_PROP_CHECK_H
#define TESTS_PROP_CHECK_H

/* Checks one spec of the property test. */

#include "typetree_model.h"

enum prop_group {
    PROP_VERDICT,
    PROP_FACTS,
    PROP_ELEMENTS,
    PROP_DISPLACEMENT,
    PROP_BATCHES,
    PROP_RUNS,
    PROP_INVERSE,
    PROP_SIZES,
    PROP_BOUNDS,
    PROP_PACK,
    PROP_UNPACK,
    PROP_SLICE,
    PROP_GROUPS
};

extern const char *const prop_group_names[PROP_GROUPS];

struct prop_state {
    long trees, legal, illegal, unsure, overlapping;
    long done[PROP_GROUPS], failures[PROP_GROUPS];
    long kinds[TT_KINDS]; /* constructors in filetypes and etypes of legal views */
    bool failed; /* whether the last spec failed; then the group of checks, and the reason */
    enum prop_group group;
    char problem[1024];
};

/* Returns true if spec is small enough to be checked byte by byte. */
bool prop_fits(const struct tt_spec *spec, uint64_t random);

/* Checks spec; random is the state that random ranges come from. Stops at the first failure. */
void prop_check_spec(struct prop_state *state, struct tt_spec *spec, uint64_t random);

#endif
