/* SPDX-License-Identifier: MIT */
#include "fingerprint.h"

#include "viewspec/base/hash.h"
#include "contents.h"
#include "decode.h"

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

/* What is nested too deeply to be decoded need not be told apart. */
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
        hash = vs_hash_mix(hash, (uint64_t)type);
    else if (!error)
        hash = mix_numbers(hash, &contents);
    *work -= capture_contents_numbers(&contents);
    for (MPI_Count i = 0; !error && i < contents.type_count && *work >= 0; i++)
        hash = look_at_type(hash, contents.types[i], depth + 1, work);
    capture_contents_free(&contents);
    return hash;
}

uint64_t capture_fingerprint(uint64_t hash, MPI_Datatype type, int64_t *work)
{
    return look_at_type(hash, type, 0, work);
}
