/* SPDX-License-Identifier: MIT */
/* Tests the heap against the values put into it. */

#include "unit.h"
#include "pointers/heap.h"

TEST(the_least_comes_first)
{
    struct mpiio_heap heap = {0};
    uint64_t all[500];

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
