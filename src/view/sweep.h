/* SPDX-License-Identifier: MIT */
#ifndef VIEW_SWEEP_H
#define VIEW_SWEEP_H

#include "view.h"

/* A file and the new file to convert it to; all borrowed. */
struct view_sweep {
    const struct vs_spec *spec, *target; /* the same views in two representations */
    struct mpiio_store *from, *to;       /* to is empty and writable */
    const char *output;                  /* name of the new file, for messages */
    enum mpiio_narrow narrow;
};

/*
 * Writes all slices of `spec` in `from` as slices of `target` to `to`. Also copies bytes outside
 * the slices: those before all views and, if all representations have the native sizes, the rest,
 * too. Returns VIEW_DONE, or another status after a message on stderr: VIEW_USAGE if both
 * representations cannot have these views, else VIEW_FAILED. The new file is then unusable.
 */
int view_sweep(const struct view_sweep *files);

#endif
