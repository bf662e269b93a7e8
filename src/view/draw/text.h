/* SPDX-License-Identifier: MIT */
#ifndef DRAW_TEXT_H
#define DRAW_TEXT_H

/* Private to mpiio-view draw: the picture on a terminal. */

#include "model.h"

/* Draws on stdout, so many columns wide. VIEW_DONE, or what is wrong is said on stderr. */
int draw_text(struct draw_model *model, const struct view_args *args, int64_t width, bool color);

#endif
