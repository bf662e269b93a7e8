/* SPDX-License-Identifier: MIT */
#ifndef DRAW_LAYOUT_H
#define DRAW_LAYOUT_H

/* Private to mpiio-view draw: what the cells stand for. */

#include "model.h"

/* How much a picture may hold. */
struct draw_room {
    int64_t columns, lines;
    int64_t array_columns, array_lines, array_planes; /* where it is one of an array */
    int64_t zoom; /* only what then fits is drawn, this much larger; 0: as 1 */
};

/* Looks at all ranks' views. VIEW_DONE, or what is wrong is said on stderr. */
int draw_survey(struct draw_model *model);

/* Chooses what the cells stand for. VIEW_DONE, or what is wrong is said on stderr. */
int draw_layout(struct draw_model *model, const struct view_args *args,
                const struct draw_room *room);

/* Frees what the model holds. */
void draw_free(struct draw_model *model);

/* Whether so much stands for more than it must: cells that do not tell owner from owner. */
bool draw_is_coarse(const struct draw_model *model);

/* Whether a tile begins at this displacement. */
bool draw_tile_begins(const struct draw_model *model, int64_t displacement);

/* The digits of a number that is not negative. */
int draw_digits(int64_t number);

#endif
