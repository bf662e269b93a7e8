/* SPDX-License-Identifier: MIT */
#ifndef DRAW_CAPTION_H
#define DRAW_CAPTION_H

/* Private to mpiio-view draw: what every picture says and in which colours. */

#include <stdbool.h>
#include <stdint.h>

#include "model.h"

/* The colours that ranks take in turn, which figures and terminals both have. */
#define DRAW_COLORS 24

/* The colour of a rank, 0 .. 255 each, and of text upon it: black or white. */
struct draw_color {
    uint8_t red, green, blue;
    bool dark; /* text upon it must be white */
};
struct draw_color draw_color(int64_t rank);

/*
 * Lines of text that go with every picture, numbered from 0: what is drawn, and its scale. False
 * behind the last.
 */
bool draw_caption(const struct draw_model *model, const char *spec, int number, char *text,
                  size_t size);

/* "plane 3", or with more dimensions "plane 0, 3". */
void draw_plane_name(const struct draw_model *model, int64_t plane, char *text, size_t size);

#endif
