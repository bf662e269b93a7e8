/* SPDX-License-Identifier: MIT */
#ifndef VS_LABELS_H
#define VS_LABELS_H

#include "viewspec/types/view.h"

/*
 * Private to viewspec/: checks the labels of a view: "name", "dims" and "grid". Their lengths are
 * checked when the global array is found. Returns 0 or a negative errno, with error filled.
 */
int vs_labels_check(const struct vs_source *source, struct vs_error *error);

#endif
