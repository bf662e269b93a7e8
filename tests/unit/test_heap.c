/* SPDX-License-Identifier: MIT */
/* The heap against what it was given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pointers/heap.h"

static void the_least_comes_first(void **state)
{
    struct mpiio_heap heap = {0};
    uint64_t all[500];

    (void)state;
    srand(1);
    for (size_t i = 0; i < 500; i++) {
        all[i] = (uint64_t)rand() % 1000;
        assert_int_equal(mpiio_heap_reserve(&heap, 1), 0);
        mpiio_heap_put(&heap, all[i], &all[i]);
    }
    for (uint64_t last = 0; heap.count > 0; mpiio_heap_drop(&heap)) {
        uint64_t least = *(uint64_t *)mpiio_heap_least(&heap);

        assert_true(least >= last);
        last = least;
    }
    assert_null(mpiio_heap_least(&heap));
    mpiio_heap_free(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_least_comes_first)};

    return cmocka_run_group_tests_name("heap", tests, NULL, NULL);
}
