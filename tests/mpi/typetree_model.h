/* SPDX-License-Identifier: MIT */
#ifndef TESTS_TYPETREE_MODEL_H
#define TESTS_TYPETREE_MODEL_H

/* One rank's view of a random spec, expanded byte by byte. */

#include "typetree.h"

enum tt_verdict {
    TT_LEGAL,
    TT_ILLEGAL, /* breaks a rule of MPI 3.1, 13.3 */
    TT_UNSURE,  /* the wording of the rule leaves it open */
    TT_TOO_BIG, /* too large to be checked byte by byte */
};

#define TT_MAX_FILE  6000  /* bytes of the file that are checked one by one */
#define TT_MAX_BYTES 60000 /* positions that are computed */

struct tt_model {
    struct tt_pool pool;
    struct tt_type *etype_type, *filetype_type; /* filetype_type is NULL for a single etype */
    struct tt_env etype_env, env;
    enum tt_verdict verdict;
    const char *broken; /* the rule that an illegal view breaks */
    int64_t disp;
    int64_t etype_size, etype_native; /* data bytes in the file and in memory */
    struct tt_map etype, filetype;
    int64_t *tile; /* displacement of each data byte from the tile's beginning */
    int64_t tile_size, tile_extent;
    int64_t low, high; /* lowest byte, and the one behind the highest */
    /* The positions of all tiles that reach into the file, but of at least two, and their
       displacements. */
    int64_t file_size;
    int64_t *displacements;
    int64_t positions;
    int64_t tiles;
};

/* Computes the model of view of spec for rank. random chooses the file's size. Free the model
   with tt_model_free. */
void tt_model(struct tt_model *model, const struct tt_spec *spec, const struct tt_view *view,
              int rank, uint64_t *random);
void tt_model_free(struct tt_model *model);

/* Returns how many positions a file of that size shows: whole etypes, up to the first one that
   is not inside. */
int64_t tt_model_shown(const struct tt_model *model, int64_t file_size);

#endif
