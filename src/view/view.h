/* SPDX-License-Identifier: MIT */
#ifndef VIEW_VIEW_H
#define VIEW_VIEW_H

#include <stdio.h>

#include "args.h"
#include "common.h"

/* Private to mpiio-view: its subcommands, each in a source of its own. */
extern const struct view_command view_check, view_map, view_owner, view_cat, view_put, view_dump,
    view_convert, view_draw, view_capture, view_spec, view_top;

#endif
