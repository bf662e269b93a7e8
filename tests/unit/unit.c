/* SPDX-License-Identifier: MIT */
#include "unit.h"

static struct CMUnitTest tests[64];
static int lines[sizeof(tests) / sizeof(*tests)];
static size_t count;

CMFixtureFunction unit_setup, unit_teardown;

__attribute__((weak)) void unit_before(void)
{
}

void unit_add(struct CMUnitTest test, int line)
{
    size_t i;

    if (count == sizeof(tests) / sizeof(*tests))
        abort();
    for (i = count++; i > 0 && lines[i - 1] > line; i--) {
        tests[i] = tests[i - 1];
        lines[i] = lines[i - 1];
    }
    tests[i] = test;
    lines[i] = line;
}

int main(void)
{
    unit_before();
    return _cmocka_run_group_tests(program_invocation_short_name, tests, count, unit_setup,
                                   unit_teardown);
}
