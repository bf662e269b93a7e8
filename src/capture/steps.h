/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_STEPS_H
#define CAPTURE_STEPS_H

/*
 * MPI_File_set_view is collective: its k-th call on a file is the k-th on every rank, and the
 * views that the ranks set in it belong together. Which of these steps differ is found by hashes,
 * without sending the views.
 */

#include "files.h"

struct capture_step {
    size_t index;  /* of the call */
    uint64_t hash; /* of what all ranks have set */
    bool common;   /* all ranks have set the same */
    bool even;     /* all ranks have accessed as many tiles */
    int64_t reach; /* of this rank, in all calls that set the same */
};

/*
 * Collective over the file's communicator. The different steps in the order of their first
 * occurrence, without those that set the default view on every rank: their number, and a new array
 * on every rank. The number is CAPTURE_MAX_VIEWS + 1 if there are more than CAPTURE_MAX_VIEWS. -1
 * on every rank if one could not join, which rank 0 says.
 */
long capture_find_steps(const struct capture_file *file, struct capture_step **steps);

#endif
