/* SPDX-License-Identifier: MIT */
#ifndef DRAW_SVG_H
#define DRAW_SVG_H

/* Private to mpiio-view draw: the picture as a figure. */

#include "model.h"

/* Draws into the file at args->svg. VIEW_DONE, or what is wrong is said on stderr. */
int draw_svg(struct draw_model *model, const struct view_args *args);

#endif
