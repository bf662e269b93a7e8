/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <pthread.h>

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

void unit_run_threads(void *(*work)(void *item), size_t number, void *items, size_t size)
{
    pthread_t threads[16];

    for (size_t i = 0; i < number; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, (char *)items + i * size), 0);
    for (size_t i = 0; i < number; i++)
        pthread_join(threads[i], NULL);
}

int main(void)
{
    unit_before();
    return _cmocka_run_group_tests(program_invocation_short_name, tests, count, unit_setup,
                                   unit_teardown);
}
