/* SPDX-License-Identifier: MIT */
#ifndef DRAW_PAINT_H
#define DRAW_PAINT_H

/* Private to mpiio-view draw: who owns the cells. */

#include "model.h"

/* Finds the owners of the cells. VIEW_DONE, or what is wrong is said on stderr. */
int draw_paint(struct draw_model *model);

/*
 * How much larger things should be drawn for ranks to be told apart: above 1 where no cell has a
 * single owner, and the user has not said how much to draw.
 */
int64_t draw_zoom(const struct draw_model *model, const struct view_args *args);

#endif
