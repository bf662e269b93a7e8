/* SPDX-License-Identifier: MIT */
#ifndef VIEW_SWEEP_H
#define VIEW_SWEEP_H

#include "view.h"

/* A file, and the one that it is to become; all borrowed. */
struct view_sweep {
    const struct vs_spec *spec, *target; /* the same views in two representations */
    struct mpiio_store *from, *to;       /* the second one is empty, and written to */
    const char *output;                  /* its name, for messages */
    enum mpiio_narrow narrow;
};

/*
 * Writes all slices of `spec` in `from` as slices of `target` to `to`, and copies what they do not
 * hold: what is before all views, and, where all representations have the native sizes, the rest
 * too. VIEW_DONE, or what is wrong is said on stderr, and the new file is of no use: VIEW_USAGE
 * where the views cannot be had in both representations, else VIEW_FAILED.
 */
int view_sweep(const struct view_sweep *files);

#endif
