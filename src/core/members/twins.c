/* SPDX-License-Identifier: MIT */
#include "twins.h"

#include <errno.h>
#include <stdlib.h>

static int compare_identities(const void *left, const void *right)
{
    const struct mpiio_member_identity *a = *(const struct mpiio_member_identity *const *)left;
    const struct mpiio_member_identity *b = *(const struct mpiio_member_identity *const *)right;

    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    if (a->inode != b->inode)
        return a->inode < b->inode ? -1 : 1;
    return a < b ? -1 : a > b; /* they lie in one array, in the order of the members */
}

int mpiio_member_find_twins(const struct mpiio_member_identity *identities, int64_t count,
                            struct mpiio_member_twins *twins)
{
    const struct mpiio_member_identity **sorted = calloc((size_t)count, sizeof(*sorted));
    size_t known = 0;
    int found = 0;

    if (sorted == NULL)
        return -ENOMEM;
    for (int64_t i = 0; i < count; i++)
        if (identities[i].known)
            sorted[known++] = &identities[i];
    qsort(sorted, known, sizeof(*sorted), compare_identities);
    for (size_t i = 1; i < known; i++) {
        const struct mpiio_member_identity *a = sorted[i - 1], *b = sorted[i];

        if (a->device != b->device || a->inode != b->inode ||
            (found && b - identities >= twins->second))
            continue;
        *twins = (struct mpiio_member_twins){.first = a - identities, .second = b - identities};
        found = 1;
    }
    free(sorted);
    return found;
}
