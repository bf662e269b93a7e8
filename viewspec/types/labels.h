/* SPDX-License-Identifier: MIT */
#ifndef VS_LABELS_H
#define VS_LABELS_H

#include "view.h"

/* The length of the longest label, so that a file can be called by it. */
#define VS_LABEL_MAX 200

/*
 * Private to viewspec/: checks the keys of a view that concern its global array: "name", "dims",
 * "grid" and "global". What depends on the array is checked when it is found. Returns 0 or a
 * negative errno, with error filled.
 */
int vs_labels_check(const struct vs_source *source, struct vs_error *error);

#endif
