/* SPDX-License-Identifier: MIT */
/*
 * Property test: random viewspecs against a naive typemap expansion and against MPI_Pack and
 * MPI_Unpack.
 *
 *   prop_types [--seed N] [--count N] [--tree N]
 *
 * Without --seed it uses a fixed seed and a new one, for half of the trees each. --tree runs a
 * single tree of a seed. A tree that fails is shrunk and printed as a spec.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "prop_check.h"

#define FIXED_SEED 20250131

/* Returns the seed of a tree. The random numbers of a tree do not depend on the trees before it. */
static uint64_t tree_seed(uint64_t seed, long index)
{
    uint64_t state = seed ^ ((uint64_t)index * 0xd1342543de82ef95u);

    return tt_random(&state);
}

struct retry {
    uint64_t random;
    enum prop_group group;
};

static bool fails_alike(void *context, struct tt_spec *spec)
{
    struct retry *retry = context;
    struct prop_state state = {0};

    prop_check_spec(&state, spec, retry->random);
    return state.failed && state.group == retry->group;
}

static void print_comment(const char *title, const char *text)
{
    printf("# %s: %s%s", title, text, strchr(text, '\n') ? "" : "\n");
}

static void report(const struct prop_state *state, struct tt_spec *spec, uint64_t seed, long index,
                   uint64_t random)
{
    struct retry retry = {random, state->group};
    struct prop_state last = {0};

    printf("# seed %" PRIu64 " tree %ld\n# as made: ", seed, index);
    tt_print_spec(stdout, spec);
    print_comment("it", state->problem);
    tt_shrink(spec, fails_alike, &retry);
    prop_check_spec(&last, spec, random);
    printf("# shrunk: ");
    tt_print_spec(stdout, spec);
    print_comment("it", last.problem);
    fflush(stdout);
}

/* Returns whether the tree passed. */
static bool run_tree(struct prop_state *state, uint64_t seed, long index)
{
    uint64_t random = tree_seed(seed, index);
    struct tt_spec spec;

    state->failed = false;
    tt_random_spec(&random, &spec);
    while (!prop_fits(&spec, random)) {
        tt_free(&spec.pool);
        tt_random_spec(&random, &spec);
    }
    prop_check_spec(state, &spec, random);
    if (state->failed) {
        state->failures[state->group]++;
        report(state, &spec, seed, index, random);
    }
    tt_free(&spec.pool);
    return !state->failed;
}

static long run_seed(struct prop_state *state, uint64_t seed, long first, long count)
{
    long failed = 0;

    printf("# seed %" PRIu64 ", trees %ld to %ld\n", seed, first, first + count - 1);
    fflush(stdout);
    for (long i = first; i < first + count && failed < 5; i++)
        failed += !run_tree(state, seed, i);
    return failed;
}

static long conclude(const struct prop_state *state)
{
    long failures = 0, missing = 0;

    for (int g = 0; g < PROP_GROUPS; g++) {
        bool bad = state->failures[g] > 0 || state->done[g] == 0;
        printf("%s %d - %s (%ld checks)\n", bad ? "not ok" : "ok", g + 1, prop_group_names[g],
               state->done[g]);
        failures += bad;
    }
    for (int kind = 0; kind < TT_KINDS; kind++)
        missing += state->kinds[kind] == 0;
    printf("%s %d - legal views use every constructor\n", missing ? "not ok" : "ok",
           PROP_GROUPS + 1);
    printf("# %ld trees: %ld legal views, %ld refused, %ld in doubt, %ld with overlap\n",
           state->trees, state->legal, state->illegal, state->unsure, state->overlapping);
    return failures + missing;
}

int main(int argc, char **argv)
{
    struct prop_state state = {0};
    uint64_t seed = 0;
    long count = 10000, tree = -1;
    bool seeded = false;

    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--seed")) {
            seed = strtoull(argv[i + 1], NULL, 0);
            seeded = true;
        } else if (!strcmp(argv[i], "--count")) {
            count = strtol(argv[i + 1], NULL, 0);
        } else if (!strcmp(argv[i], "--tree")) {
            tree = strtol(argv[i + 1], NULL, 0);
        } else {
            fprintf(stderr, "usage: prop_types [--seed N] [--count N] [--tree N]\n");
            return 2;
        }
    }
    MPI_Init(&argc, &argv);
    printf("1..%d\n", PROP_GROUPS + 1);
    if (seeded || tree >= 0) {
        run_seed(&state, seeded ? seed : FIXED_SEED, tree >= 0 ? tree : 0, tree >= 0 ? 1 : count);
    } else {
        run_seed(&state, FIXED_SEED, 0, count / 2);
        seed = (uint64_t)time(NULL) * 1000003u + (uint64_t)getpid();
        run_seed(&state, seed % 1000000007u, 0, count - count / 2);
    }
    bool bad = tree < 0 ? conclude(&state) > 0 : state.failed;
    MPI_Finalize();
    return bad ? 1 : 0;
}
