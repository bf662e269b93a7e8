/* SPDX-License-Identifier: MIT */
#ifndef VIEW_TOP_PROMETHEUS_H
#define VIEW_TOP_PROMETHEUS_H

#include <stdio.h>

#include "mounts.h"

/* Prints all statistics of the mounts in the text format that Prometheus reads. */
void view_print_prometheus(const struct view_mounts *mounts, FILE *out);

#endif
