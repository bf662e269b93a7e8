/* SPDX-License-Identifier: MIT */
/* Tests whether views are found to be the same on all ranks, against the expected answer. */

#include "spec_fixture.h"
#include "viewspec/types/ranks.h"

#define VECTOR(count, length, stride)                                                              \
    "{\"type\": \"vector\", \"count\": " count ", \"blocklength\": " length                        \
    ", \"stride\": " stride ", \"oldtype\": \"int\"}"

static bool alike(int ranks, const char *view, int64_t steps)
{
    struct vs_spec *spec =
        spec_from("{\"viewspec\": 1, \"file\": \"f\", \"ranks\": %d, \"view\": %s}", ranks, view);
    bool result = vs_spec_view_alike(spec, 0, steps);

    vs_spec_free(spec);
    return result;
}

TEST(what_is_the_same)
{
    static const char *const views[] = {
        "{\"etype\": \"double\"}",
        "{\"disp\": \"0 * rank\", \"etype\": \"double\"}",
        "{\"etype\": \"int\", \"filetype\": " VECTOR("4", "2", "\"3 + rank * 0\"") "}",
        /* One block, written in as many ways as there are ranks. */
        "{\"etype\": \"int\", \"filetype\": " VECTOR("\"1 + rank % 2 * 11\"",
                                                     "\"12 - rank % 2 * 11\"", "1") "}",
    };

    for (size_t i = 0; i < sizeof(views) / sizeof(*views); i++) {
        assert_true(alike(4, views[i], VS_ALIKE_STEPS));
        assert_true(alike(1, views[i], 0));
    }
}

TEST(what_is_not)
{
    static const char *const views[] = {
        "{\"disp\": \"8 * rank\", \"etype\": \"double\"}",
        "{\"disp\": \"8 * (rank / 3)\", \"etype\": \"double\"}",
        "{\"disp\": \"8 * (rank % 3 % 2)\", \"etype\": \"double\"}",
        "{\"etype\": \"int\", \"filetype\": " VECTOR("4", "2", "\"3 + rank\"") "}",
        ("{\"etype\": \"int\", \"filetype\": {\"type\": \"indexed\", \"blocklengths\": [1, 1, 1], "
         "\"displacements\": [0, \"2 + rank % 2\", 8], \"oldtype\": \"int\"}}"),
        "{\"etype\": {\"type\": \"contiguous\", \"count\": \"1 + rank\", \"oldtype\": \"int\"}}",
        "{\"tiles\": \"1 + rank\", \"etype\": \"int\"}",
    };

    for (size_t i = 0; i < sizeof(views) / sizeof(*views); i++)
        assert_false(alike(4, views[i], VS_ALIKE_STEPS));
}

/* Views that would take too long to compare count as different, without a long search. */
TEST(what_takes_long)
{
    const char *many =
        "{\"etype\": \"int\", \"filetype\": " VECTOR("1000000000", "1", "\"2 + 0 * rank\"") "}";

    assert_false(alike(2, many, VS_ALIKE_STEPS));
    assert_false(alike(1000, "{\"disp\": \"0 * rank\", \"etype\": \"double\"}", 100));
}
