/* SPDX-License-Identifier: MIT */
#ifndef TESTS_TYPETREE_H
#define TESTS_TYPETREE_H

/*
 * The property test's own model of a viewspec: type trees that print themselves as JSON, expand to
 * a typemap element by element as the MPI standard defines it, and build themselves with MPI's
 * constructors. It shares no code with viewspec/, so that both can be compared.
 */

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define TT_MAX_DIMS  3
#define TT_MAX_RANKS 6
#define TT_MAX_NAMED 3
#define TT_MAX_VIEWS 2

/* The memory of one spec, freed at once. If memory runs out, the program ends. */
struct tt_pool {
    struct tt_block *blocks;
};

void *tt_alloc(struct tt_pool *pool, size_t size);
void tt_free(struct tt_pool *pool);

/* Basic types: native sizes and external32 sizes in bytes, and the C ABI's alignments. */
struct tt_basic {
    const char *name;
    int size, external, align;
    MPI_Datatype mpi;
};

extern const struct tt_basic tt_basics[];
extern const int tt_basic_count;

/* Returns true if both are the same type, maybe by different names: MPI_C_COMPLEX is
   MPI_C_FLOAT_COMPLEX. */
bool tt_is_same_basic(int one, int other);

/* base + step * rank. The text has one of several forms. */
struct tt_int {
    int64_t base, step;
    int form;
};

enum tt_kind {
    TT_BASIC,
    TT_ETYPE, /* the view's etype, by the word "etype" or by its own text (spelled) */
    TT_NAMED, /* a name from "types"; old is its definition */
    TT_CONTIGUOUS,
    TT_VECTOR,
    TT_HVECTOR,
    TT_INDEXED,
    TT_HINDEXED,
    TT_INDEXED_BLOCK,
    TT_HINDEXED_BLOCK,
    TT_STRUCT,
    TT_SUBARRAY,
    TT_DARRAY,
    TT_RESIZED,
    TT_DUP,
    TT_BROADCAST,
    TT_SCATTER,
    TT_HPF_BLOCK,
    TT_HPF_CYCLIC,
    TT_KINDS
};

enum tt_distrib { TT_BLOCK, TT_CYCLIC, TT_NONE };

struct tt_type {
    enum tt_kind kind;
    int basic;
    int form;                 /* chooses the spelling of a name, of defaults and of the order */
    char name[8];             /* NAMED */
    bool fortran;             /* SUBARRAY, DARRAY */
    struct tt_int count;      /* CONTIGUOUS, VECTOR, HVECTOR */
    struct tt_int length;     /* VECTOR, HVECTOR, *_BLOCK, SCATTER, HPF_CYCLIC */
    struct tt_int stride;     /* VECTOR, HVECTOR */
    struct tt_int lb, extent; /* RESIZED */
    struct tt_int size;       /* HPF_* */
    int n;                    /* elements of the following arrays */
    struct tt_int *lengths;   /* INDEXED, HINDEXED, STRUCT */
    struct tt_int *displs;    /* and *_BLOCK */
    struct tt_type **types;   /* STRUCT */
    int dims;
    struct tt_int sizes[TT_MAX_DIMS], subsizes[TT_MAX_DIMS], starts[TT_MAX_DIMS];
    enum tt_distrib distribs[TT_MAX_DIMS];
    int dargs[TT_MAX_DIMS]; /* 0: default */
    int psizes[TT_MAX_DIMS];
    struct tt_type *old; /* all but BASIC and STRUCT; ETYPE: the tree, if it is spelled, or NULL */
};

/* The environment of an expansion, apart from the type. */
struct tt_env {
    int rank, ranks;
    bool external;                  /* file sizes, and no alignment */
    const struct tt_type *etype;    /* NULL while an etype is expanded */
    const struct tt_map *etype_map; /* the etype's own expansion */
};

/* One basic type of a typemap, or (basic = TT_UNIT) one whole etype. */
#define TT_UNIT (-1)
struct tt_entry {
    int64_t displ;
    int basic;
};

/* A typemap with its bounds. If marked, a resized type has set them, so they count even without
   data. */
struct tt_map {
    struct tt_entry *entries;
    int count, room;
    int align;
    bool marked, bounded;
    int64_t lb, ub;
    bool too_big; /* has more than TT_MAX_ENTRIES, and is incomplete */
};

#define TT_MAX_ENTRIES 4096

int64_t tt_value(struct tt_int value, int rank);
void tt_expand(struct tt_pool *pool, const struct tt_type *type, const struct tt_env *env,
               struct tt_map *map);
static inline int64_t tt_extent(const struct tt_map *map)
{
    return map->ub - map->lb;
}
int tt_basic_size(const struct tt_env *env, int basic);

struct tt_view {
    char name[8];
    struct tt_int disp;
    struct tt_type *etype, *filetype; /* filetype is NULL if left out: one etype */
    const char *datarep;              /* NULL if left out */
    bool per_rank;
    struct {
        bool has_disp;
        struct tt_int disp;
        struct tt_type *etype, *filetype; /* NULL: not overridden */
    } over[TT_MAX_RANKS];
};

struct tt_spec {
    struct tt_pool pool;
    int ranks;
    int named_count;
    struct tt_type *named[TT_MAX_NAMED]; /* kind NAMED */
    int view_count;
    struct tt_view views[TT_MAX_VIEWS];
};

/* Prints spec as JSON. A single view is printed as "view". */
void tt_print_spec(FILE *out, const struct tt_spec *spec);

/* Returns a random number. state starts as the seed. */
uint64_t tt_random(uint64_t *state);

/* Makes a random spec. A wild one usually breaks the rules of chapter 13. */
void tt_random_spec(uint64_t *state, struct tt_spec *spec);

/*
 * Builds type with MPI's constructors. The caller frees it. Compares each node's size and bounds
 * with the model's, and describes the first difference in problem (which has room). Nodes for which
 * MPICH is known to differ get the model's bounds by MPI_Type_create_resized.
 */
MPI_Datatype tt_mpi(struct tt_pool *pool, const struct tt_type *type, const struct tt_env *env,
                    char *problem, size_t room);

/*
 * Makes spec smaller while fails(context, spec) stays true: replaces nodes by their children,
 * lowers numbers, and removes ranks and views.
 */
void tt_shrink(struct tt_spec *spec, bool (*fails)(void *context, struct tt_spec *spec),
               void *context);

#endif
