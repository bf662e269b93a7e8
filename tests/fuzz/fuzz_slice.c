/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer harness: a random spec against the naive model of the property test (tests/mpi). It
 * checks which specs are legal, the displacement of each byte, and slices in all representations,
 * read and written at random places. The numbers that make the spec come from the input, so the
 * fuzzer chooses it. All others come from a generator, also once the input ends.
 */
#include <stdio.h>

#include "fuzz.h"
#include "tests/mpi/prop_oracle.h"

static const uint8_t *input;
static size_t left;

/* Replaces the property test's function. Numbers have small bounds, so one byte of input for
   each is enough. */
uint64_t tt_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    if (left == 0)
        return *state >> 17;
    left--;
    return *input++ * UINT64_C(0x0101010101);
}

/* MPI is not available here. */
void prop_check_mpi(struct prop_state *state, struct tt_model *model, const struct vs_map *map,
                    uint64_t *random)
{
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct prop_state state = {0};
    struct tt_spec spec = {0};
    uint64_t seed = size;

    input = data;
    left = size;
    tt_random_spec(&seed, &spec);
    left = 0;
    if (prop_fits(&spec, seed))
        prop_check_spec(&state, &spec, seed);
    if (state.failed) {
        tt_print_spec(stderr, &spec);
        fprintf(stderr, "%s: %s\n", prop_group_names[state.group], state.problem);
        abort();
    }
    tt_free(&spec.pool);
    return 0;
}
