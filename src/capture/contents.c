/* SPDX-License-Identifier: MIT */
#include "datatype.h"

#include <errno.h>
#include <stdlib.h>

#include "viewspec/base/hash.h"

/* The construction of datatypes, and a fingerprint of it. */

/* Gets the number and kinds of arguments. With an older library there are no large counts. */
static int get_envelope(MPI_Datatype type, struct capture_contents *contents)
{
    int ints, addresses, types, code;

#if CAPTURE_LARGE_COUNTS
    if (PMPI_Type_get_envelope_c && PMPI_Type_get_contents_c)
        return PMPI_Type_get_envelope_c(type, &contents->int_count, &contents->address_count,
                                        &contents->count_count, &contents->type_count,
                                        &contents->combiner);
#endif
    code = PMPI_Type_get_envelope(type, &ints, &addresses, &types, &contents->combiner);
    if (!code) {
        contents->int_count = ints;
        contents->address_count = addresses;
        contents->type_count = types;
    }
    return code;
}

static int get_contents(MPI_Datatype type, struct capture_contents *contents)
{
#if CAPTURE_LARGE_COUNTS
    if (PMPI_Type_get_envelope_c && PMPI_Type_get_contents_c)
        return PMPI_Type_get_contents_c(type, contents->int_count, contents->address_count,
                                        contents->count_count, contents->type_count, contents->ints,
                                        contents->addresses, contents->counts, contents->types);
#endif
    return PMPI_Type_get_contents(type, (int)contents->int_count, (int)contents->address_count,
                                  (int)contents->type_count, contents->ints, contents->addresses,
                                  contents->types);
}

static int allocate_contents(struct capture_contents *contents)
{
    contents->ints = calloc((size_t)contents->int_count + 1, sizeof(*contents->ints));
    contents->addresses = calloc((size_t)contents->address_count + 1, sizeof(*contents->addresses));
    contents->counts = calloc((size_t)contents->count_count + 1, sizeof(*contents->counts));
    contents->types = calloc((size_t)contents->type_count + 1, sizeof(*contents->types));
    if (!contents->ints || !contents->addresses || !contents->counts || !contents->types)
        return -ENOMEM;
    for (MPI_Count i = 0; i < contents->type_count; i++)
        contents->types[i] = MPI_DATATYPE_NULL;
    return 0;
}

/* Fortran 77's constructors have the same arguments as their successors. */
static int modern_combiner(int combiner, bool *integer)
{
    *integer = true;
    switch (combiner) {
    case MPI_COMBINER_HVECTOR_INTEGER:
        return MPI_COMBINER_HVECTOR;
    case MPI_COMBINER_HINDEXED_INTEGER:
        return MPI_COMBINER_HINDEXED;
    case MPI_COMBINER_STRUCT_INTEGER:
        return MPI_COMBINER_STRUCT;
    }
    *integer = false;
    return combiner;
}

int capture_contents_get(MPI_Datatype type, struct capture_contents *contents)
{
    *contents = (struct capture_contents){0};
    if (get_envelope(type, contents))
        return -EINVAL;
    if (contents->combiner == MPI_COMBINER_NAMED)
        return 0;
    if (allocate_contents(contents)) {
        contents->type_count = 0;
        return -ENOMEM;
    }
    if (get_contents(type, contents))
        return -EINVAL;
    contents->large = contents->count_count > 0;
    contents->combiner = modern_combiner(contents->combiner, &contents->integer);
    return 0;
}

void capture_type_free(MPI_Datatype type)
{
    struct capture_contents contents = {0};

    if (type == MPI_DATATYPE_NULL || get_envelope(type, &contents))
        return;
    switch (contents.combiner) {
    case MPI_COMBINER_NAMED:
    case MPI_COMBINER_F90_REAL:
    case MPI_COMBINER_F90_COMPLEX:
    case MPI_COMBINER_F90_INTEGER:
        return;
    }
    PMPI_Type_free(&type);
}

void capture_contents_free(struct capture_contents *contents)
{
    for (MPI_Count i = 0; contents->types && i < contents->type_count; i++)
        capture_type_free(contents->types[i]);
    free(contents->ints);
    free(contents->addresses);
    free(contents->counts);
    free(contents->types);
    *contents = (struct capture_contents){0};
}

int64_t capture_take_int(struct capture_contents *contents)
{
    if (contents->ints_taken < contents->int_count)
        return contents->ints[contents->ints_taken++];
    contents->broken = true;
    return 0;
}

static int64_t take_large(struct capture_contents *contents)
{
    if (contents->counts_taken < contents->count_count)
        return contents->counts[contents->counts_taken++];
    contents->broken = true;
    return 0;
}

int64_t capture_take_count(struct capture_contents *contents)
{
    return contents->large ? take_large(contents) : capture_take_int(contents);
}

int64_t capture_take_address(struct capture_contents *contents)
{
    if (contents->large)
        return take_large(contents);
    if (contents->integer)
        return capture_take_int(contents);
    if (contents->addresses_taken < contents->address_count)
        return contents->addresses[contents->addresses_taken++];
    contents->broken = true;
    return 0;
}

/* Fingerprints. */

static uint64_t mix_numbers(uint64_t hash, const struct capture_contents *contents)
{
    for (MPI_Count i = 0; i < contents->int_count; i++)
        hash = vs_hash_mix(hash, (uint64_t)contents->ints[i]);
    for (MPI_Count i = 0; i < contents->address_count; i++)
        hash = vs_hash_mix(hash, (uint64_t)contents->addresses[i]);
    for (MPI_Count i = 0; i < contents->count_count; i++)
        hash = vs_hash_mix(hash, (uint64_t)contents->counts[i]);
    return hash;
}

/* Mixes a nested type into hash. Types that are nested too deeply to be decoded may get the same
   hash. */
static uint64_t look_at_type(uint64_t hash, MPI_Datatype type, int depth, int64_t *work)
{
    struct capture_contents contents;
    int error;

    *work -= CAPTURE_TYPE_WORTH;
    if (*work < 0 || depth > CAPTURE_MAX_DEPTH)
        return hash;
    error = capture_contents_get(type, &contents);
    hash = vs_hash_mix(hash, (uint64_t)contents.combiner);
    if (contents.combiner == MPI_COMBINER_NAMED)
        hash = vs_hash_mix(hash, (uint64_t)(uintptr_t)type);
    else if (!error)
        hash = mix_numbers(hash, &contents);
    *work -= contents.int_count + contents.address_count + contents.count_count;
    for (MPI_Count i = 0; !error && i < contents.type_count && *work >= 0; i++)
        hash = look_at_type(hash, contents.types[i], depth + 1, work);
    capture_contents_free(&contents);
    return hash;
}

uint64_t capture_fingerprint(uint64_t hash, MPI_Datatype type, int64_t *work)
{
    return look_at_type(hash, type, 0, work);
}
