/* SPDX-License-Identifier: MIT */
/* Tests whether views are found to be the same on all ranks, against the expected answer. */

#include "spec_fixture.h"
#include "viewspec/types/ranks.h"

#define VECTOR(count, length, stride)                                                              \
    "{'type': 'vector', 'count': " count ", 'blocklength': " length ", 'stride': " stride          \
    ", 'oldtype': 'int'}"

static bool alike(int ranks, const char *view, int64_t steps)
{
    struct vs_spec *spec =
        spec_from("{'viewspec': 1, 'file': 'f', 'ranks': %d, 'view': %s}", ranks, view);
    bool result = vs_spec_view_alike(spec, 0, steps);

    vs_spec_free(spec);
    return result;
}

TEST(what_is_the_same)
{
    static const struct {
        const char *view;
        bool alike;
    } cases[] = {
        {"{'etype': 'double'}", true},
        {"{'disp': '0 * rank', 'etype': 'double'}", true},
        {"{'etype': 'int', 'filetype': " VECTOR("4", "2", "'3 + rank * 0'") "}", true},
        /* One block, written in as many ways as there are ranks. */
        {"{'etype': 'int', 'filetype': " VECTOR("'1 + rank % 2 * 11'", "'12 - rank % 2 * 11'",
                                                "1") "}",
         true},
        {"{'disp': '8 * rank', 'etype': 'double'}", false},
        {"{'disp': '8 * (rank / 3)', 'etype': 'double'}", false},
        {"{'disp': '8 * (rank % 3 % 2)', 'etype': 'double'}", false},
        {"{'etype': 'int', 'filetype': " VECTOR("4", "2", "'3 + rank'") "}", false},
        {"{'etype': 'int', 'filetype': {'type': 'indexed', 'blocklengths': [1, 1, 1], "
         "'displacements': [0, '2 + rank % 2', 8], 'oldtype': 'int'}}",
         false},
        {"{'etype': {'type': 'contiguous', 'count': '1 + rank', 'oldtype': 'int'}}", false},
        {"{'tiles': '1 + rank', 'etype': 'int'}", false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        if (alike(4, cases[i].view, VS_ALIKE_STEPS) != cases[i].alike)
            fail_msg("%s: not as expected", cases[i].view);
        if (cases[i].alike)
            assert_true(alike(1, cases[i].view, 0));
    }
}

/* Views that would take too long to compare count as different, without a long search. */
TEST(what_takes_long)
{
    const char *many =
        "{'etype': 'int', 'filetype': " VECTOR("1000000000", "1", "'2 + 0 * rank'") "}";

    assert_false(alike(2, many, VS_ALIKE_STEPS));
    assert_false(alike(1000, "{'disp': '0 * rank', 'etype': 'double'}", 100));
}
