/* SPDX-License-Identifier: MIT */
#ifndef RANDOM_VIEWS_H
#define RANDOM_VIEWS_H

#include "random.h"
#include "slice_fixture.h"

/* Random views of a file of about 100 KiB, one kind for each case that the plans distinguish. */

static inline struct vs_view *random_vector(void)
{
    int length = 1 + below(below(2) ? 20 : 3000);
    int count = 1 + below(20);

    return make_view(
        "'disp': %d, 'filetype': {'type': 'vector', 'count': %d, 'blocklength': %d, 'stride': %d}",
        below(5000), count, length, length + below(3 * length));
}

static inline struct vs_view *random_blocks(void)
{
    char lengths[1024] = "";
    char places[1024] = "";
    size_t l = 0, p = 0;
    int place = 0;

    for (int i = 0; i < 12; i++) {
        int length = 1 + below(50);

        place += below(4) == 0 ? below(30000) : below(100);
        l += (size_t)snprintf(lengths + l, sizeof(lengths) - l, "%s%d", i ? "," : "", length);
        p += (size_t)snprintf(places + p, sizeof(places) - p, "%s%d", i ? "," : "", place);
        place += length;
    }
    return make_view(
        "'filetype': {'type': 'hindexed', 'blocklengths': [%s], 'displacements': [%s]}", lengths,
        places);
}

static inline struct vs_view *random_subarray(void)
{
    int sizes[3], parts[3], starts[3];

    for (int i = 0; i < 3; i++) {
        sizes[i] = 1 + below(30);
        parts[i] = 1 + below(sizes[i]);
        starts[i] = below(sizes[i] - parts[i] + 1);
    }
    return make_view("'etype': 'int', 'filetype': {'type': 'subarray', 'sizes': [%d,%d,%d], "
                     "'subsizes': [%d,%d,%d], 'starts': [%d,%d,%d], 'order': '%s'}",
                     sizes[0], sizes[1], sizes[2], parts[0], parts[1], parts[2], starts[0],
                     starts[1], starts[2], below(2) ? "C" : "Fortran");
}

/* Makes runs that count as long. Some are aligned with the buffer, and some are not. */
static inline struct vs_view *random_long(void)
{
    int length = (16 << 10) + 64 * below(100) + (below(2) ? below(64) : 0);

    return make_vector(64 * below(10), length, length + 64 * below(1000));
}

/* Makes short runs that lie far apart. */
static inline struct vs_view *random_sparse(void)
{
    return make_vector(below(100), 1 + below(100), (17 << 10) + below(5000));
}

/* Makes a part of a matrix in the other order, with its rows far apart. */
static inline struct vs_view *random_transposed(void)
{
    int rows = 60 + below(10), columns = 4096 + below(100), from = below(200);

    return make_view("'filetype': {'type': 'subarray', 'sizes': [%d,%d], 'subsizes': [%d,%d], "
                     "'starts': [0,%d], 'order': 'C', 'oldtype': {'type': 'contiguous', 'count': "
                     "1}}, 'memory': 'Fortran', 'disp': %d",
                     rows, columns, rows, 1 + below(100), from, below(9));
}

/* Returns a random view of kind number % 6. */
static inline struct vs_view *random_view(int number)
{
    static struct vs_view *(*const kinds[])(void) = {random_vector,   random_blocks,
                                                     random_subarray, random_long,
                                                     random_sparse,   random_transposed};

    return kinds[number % 6]();
}

#endif
