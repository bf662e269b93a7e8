/* SPDX-License-Identifier: MIT */
#include "typetree.h"

#include <string.h>

#define MAX_COUNT 16

static int number(struct tt_int value, const struct tt_env *env)
{
    return (int)tt_value(value, env->rank);
}

static MPI_Datatype build_blocks(const struct tt_type *type, const struct tt_env *env,
                                 MPI_Datatype old)
{
    MPI_Datatype made;
    int lengths[MAX_COUNT], displs[MAX_COUNT];
    MPI_Aint bytes[MAX_COUNT];

    for (int i = 0; i < type->n; i++) {
        lengths[i] = number(type->lengths ? type->lengths[i] : type->length, env);
        displs[i] = number(type->displs[i], env);
        bytes[i] = displs[i];
    }
    switch (type->kind) {
    case TT_INDEXED:
        MPI_Type_indexed(type->n, lengths, displs, old, &made);
        break;
    case TT_HINDEXED:
        MPI_Type_create_hindexed(type->n, lengths, bytes, old, &made);
        break;
    case TT_INDEXED_BLOCK:
        MPI_Type_create_indexed_block(type->n, number(type->length, env), displs, old, &made);
        break;
    default:
        MPI_Type_create_hindexed_block(type->n, number(type->length, env), bytes, old, &made);
        break;
    }
    return made;
}

static MPI_Datatype build_array(const struct tt_type *type, const struct tt_env *env,
                                MPI_Datatype old)
{
    static const int distribs[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC,
                                   MPI_DISTRIBUTE_NONE};
    int order = type->fortran ? MPI_ORDER_FORTRAN : MPI_ORDER_C;
    int sizes[TT_MAX_DIMS], subsizes[TT_MAX_DIMS], starts[TT_MAX_DIMS];
    int kinds[TT_MAX_DIMS], dargs[TT_MAX_DIMS];
    MPI_Datatype made;

    for (int d = 0; d < type->dims; d++) {
        sizes[d] = number(type->sizes[d], env);
        subsizes[d] = number(type->subsizes[d], env);
        starts[d] = number(type->starts[d], env);
        kinds[d] = distribs[type->distribs[d]];
        dargs[d] = type->dargs[d] ? type->dargs[d] : MPI_DISTRIBUTE_DFLT_DARG;
    }
    if (type->kind == TT_SUBARRAY)
        MPI_Type_create_subarray(type->dims, sizes, subsizes, starts, order, old, &made);
    else
        MPI_Type_create_darray(env->ranks, env->rank, type->dims, sizes, kinds, dargs, type->psizes,
                               order, old, &made);
    return made;
}

/* Builds the 1995 constructors from their MPI-2 successors. */
static MPI_Datatype build_dealt(const struct tt_type *type, const struct tt_env *env,
                                MPI_Datatype old)
{
    int length = number(type->length, env);
    int size = type->kind == TT_SCATTER ? length * env->ranks : number(type->size, env);
    int kind = type->kind == TT_HPF_BLOCK ? MPI_DISTRIBUTE_BLOCK : MPI_DISTRIBUTE_CYCLIC;
    int darg = type->kind == TT_HPF_BLOCK ? MPI_DISTRIBUTE_DFLT_DARG : length;
    MPI_Datatype made;

    MPI_Type_create_darray(env->ranks, env->rank, 1, &size, &kind, &darg, &env->ranks, MPI_ORDER_C,
                           old, &made);
    return made;
}

static MPI_Datatype build_old(const struct tt_type *type, const struct tt_env *env,
                              MPI_Datatype old)
{
    MPI_Datatype made;

    switch (type->kind) {
    case TT_CONTIGUOUS:
        MPI_Type_contiguous(number(type->count, env), old, &made);
        return made;
    case TT_VECTOR:
        MPI_Type_vector(number(type->count, env), number(type->length, env),
                        number(type->stride, env), old, &made);
        return made;
    case TT_HVECTOR:
        MPI_Type_create_hvector(number(type->count, env), number(type->length, env),
                                number(type->stride, env), old, &made);
        return made;
    case TT_INDEXED:
    case TT_HINDEXED:
    case TT_INDEXED_BLOCK:
    case TT_HINDEXED_BLOCK:
        return build_blocks(type, env, old);
    case TT_SUBARRAY:
    case TT_DARRAY:
        return build_array(type, env, old);
    case TT_SCATTER:
    case TT_HPF_BLOCK:
    case TT_HPF_CYCLIC:
        return build_dealt(type, env, old);
    case TT_RESIZED:
        MPI_Type_create_resized(old, number(type->lb, env), number(type->extent, env), &made);
        return made;
    default:
        MPI_Type_dup(old, &made);
        return made;
    }
}

/* Returns true if MPICH 4.0's bounds differ from the standard's. MPICH drops lb and ub markers
   inside a struct. It does not pad a struct that repeats one type (or several that it treats as
   one). It ignores the extent of types without data. */
static bool bounds_differ(const struct tt_type *type, const struct tt_map *map)
{
    return map->count == 0 || type->kind == TT_STRUCT;
}

/* Returns true for a struct whose bounds are the same in MPICH and in the standard. */
static bool plain_struct(const struct tt_type *type, const struct tt_map *map)
{
    bool mixed = false;

    for (int i = 0; i < type->n; i++) {
        if (type->types[i]->kind != TT_BASIC)
            return false;
        mixed =
            mixed || tt_basics[type->types[i]->basic].size != tt_basics[type->types[0]->basic].size;
        if (type->lengths[i].base < 1 || type->lengths[i].step)
            return false;
    }
    return mixed && !map->marked;
}

static MPI_Datatype settle(const struct tt_type *type, const struct tt_map *map, MPI_Datatype made,
                           char *problem, size_t room)
{
    MPI_Aint lb, extent;
    MPI_Count size;
    int64_t expected = tt_extent(map);
    MPI_Datatype fixed;

    MPI_Type_get_extent(made, &lb, &extent);
    MPI_Type_size_x(made, &size);
    if (lb == map->lb && extent == expected)
        return made;
    if (!bounds_differ(type, map) || (map->count > 0 && plain_struct(type, map))) {
        if (!problem[0])
            snprintf(problem, room,
                     "MPI says lb %ld extent %ld, the model lb %ld extent %ld, kind %d", (long)lb,
                     (long)extent, (long)map->lb, (long)expected, (int)type->kind);
    }
    MPI_Type_create_resized(made, map->lb, expected, &fixed);
    MPI_Type_free(&made);
    return fixed;
}

/*
 * Builds a struct without the members that have no data, because MPICH 4.0 divides by their size
 * when it packs. settle sets the bounds that those members' markers cause.
 */
static MPI_Datatype build_struct(struct tt_pool *pool, const struct tt_type *type,
                                 const struct tt_env *env, char *problem, size_t room)
{
    MPI_Datatype types[MAX_COUNT], made;
    int lengths[MAX_COUNT], count = 0, size;
    MPI_Aint displs[MAX_COUNT];

    for (int i = 0; i < type->n; i++) {
        lengths[count] = number(type->lengths[i], env);
        displs[count] = number(type->displs[i], env);
        types[count] = tt_mpi(pool, type->types[i], env, problem, room);
        MPI_Type_size(types[count], &size);
        if (size > 0 && lengths[count] > 0)
            count++;
        else
            MPI_Type_free(&types[count]);
    }
    MPI_Type_create_struct(count, lengths, displs, types, &made);
    for (int i = 0; i < count; i++)
        MPI_Type_free(&types[i]);
    return made;
}

MPI_Datatype tt_mpi(struct tt_pool *pool, const struct tt_type *type, const struct tt_env *env,
                    char *problem, size_t room)
{
    struct tt_map map;
    MPI_Datatype made, old;

    if (type->kind == TT_ETYPE) {
        struct tt_env inner = {.rank = env->rank, .ranks = env->ranks};
        return tt_mpi(pool, type->old ? type->old : env->etype, &inner, problem, room);
    }
    if (type->kind == TT_BASIC) {
        MPI_Type_dup(tt_basics[type->basic].mpi, &made);
        return made;
    }
    if (type->kind == TT_NAMED)
        return tt_mpi(pool, type->old, env, problem, room);
    tt_expand(pool, type, env, &map);
    if (type->kind == TT_STRUCT) {
        made = build_struct(pool, type, env, problem, room);
    } else {
        old = tt_mpi(pool, type->old, env, problem, room);
        made = build_old(type, env, old);
        MPI_Type_free(&old);
    }
    return settle(type, &map, made, problem, room);
}
