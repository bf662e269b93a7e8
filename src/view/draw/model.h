/* SPDX-License-Identifier: MIT */
#ifndef DRAW_MODEL_H
#define DRAW_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "view/view.h"

/*
 * Private to mpiio-view draw: a picture as a grid of cells, whose each cell stands for some bytes
 * of the file and says which ranks own them. It is laid out (layout.c), filled (paint.c) and put
 * out as text (text.c) or SVG (svg.c).
 *
 * Work and memory follow the number of cells and of ranks, never the sizes of what is drawn.
 * Nothing here is used by several threads.
 */

/* How many owners of a cell are remembered by number. */
#define DRAW_OWNERS 4

enum draw_kind {
    DRAW_OUTSIDE, /* fills up the last line: stands for nothing */
    DRAW_BEFORE,  /* before the displacement of all ranks */
    DRAW_HOLE,    /* nobody's */
    DRAW_WHOLE,   /* one rank's */
    DRAW_PART,    /* one rank's, and holes */
    DRAW_MIXED,   /* several ranks', but no byte that was looked at is in two slices */
    DRAW_OVERLAP, /* at least a byte is in several slices, or several times in one */
};

struct draw_cell {
    enum draw_kind kind;
    int64_t begin; /* displacement of its first byte */
    int64_t size;  /* bytes of it that are looked at; 0: outside */
    int64_t owned; /* of these, the sum over the ranks, with gaps in etypes: up to 2^63-1 */
    bool folded;   /* an owner has some bytes twice */
    int64_t owners;
    int64_t last;               /* of the owners */
    int64_t ranks[DRAW_OWNERS]; /* the first ones, ascending */
};

/* Bytes [begin, end) of a cell; they stand in the order of the file. */
struct draw_segment {
    int64_t begin, end;
    int64_t cell;
};

/* What all ranks' views have in common. Sizes in bytes. */
struct draw_survey {
    int64_t ranks, looked_at, step; /* ranks at this distance are looked at */
    bool common;                    /* one view for all ranks */
    bool idle;                      /* no rank owns anything */
    int64_t first, last;            /* lowest and highest displacement of a view */
    int64_t unit;                   /* divides etypes and differences of displacements */
    int64_t etype;                  /* extent of the etypes; 0: they differ */
    int64_t tile, longest;          /* extent of the tiles, 0: they differ; the longest */
    int64_t dimensions;             /* of the array that they share; 0: they do not */
    int64_t *sizes;                 /* owned; slowest dimension first, whatever the order */
    bool fortran;
    int64_t element;
};

struct draw_model {
    const struct vs_spec *spec;
    size_t index;
    struct draw_survey survey;
    int64_t file_size; /* -1: not known */

    int64_t begin, end; /* displacements that are drawn; with an array: of its tile */
    int64_t tile;       /* number of the tile that is drawn, of an array */
    int64_t scale;      /* bytes in a cell of a line; elements, of an array */
    int64_t scale_down; /* lines of an array in a cell */
    int64_t first_line; /* of an array: the first one drawn */
    int64_t array_columns, array_lines, array_planes; /* of an array: drawn */
    int64_t planes, lines, columns;                   /* cells */
    int64_t *plane;                                   /* which plane of the array each is; owned */
    bool sampled;                                     /* not all lines of a cell were looked at */
    int64_t unseen;                                   /* ranks left out because of too much work */

    struct draw_cell *cells;       /* planes * lines * columns; owned */
    struct draw_segment *segments; /* owned */
    int64_t segment_count;
};

static inline const struct draw_cell *draw_cell_at(const struct draw_model *model, int64_t plane,
                                                   int64_t line, int64_t column)
{
    return &model->cells[(plane * model->lines + line) * model->columns + column];
}

/* Private to mpiio-view draw: what the cells stand for. */

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

/* Private to mpiio-view draw: what every picture says and in which colours. */

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

/* Private to mpiio-view draw: who owns the cells. */

/* Finds the owners of the cells. VIEW_DONE, or what is wrong is said on stderr. */
int draw_paint(struct draw_model *model);

/*
 * How much larger things should be drawn for ranks to be told apart: above 1 where no cell has a
 * single owner, and the user has not said how much to draw.
 */
int64_t draw_zoom(const struct draw_model *model, const struct view_args *args);

/* Private to mpiio-view draw: the picture as a figure. */

/* Draws into the file at args->svg. VIEW_DONE, or what is wrong is said on stderr. */
int draw_svg(struct draw_model *model, const struct view_args *args);

/* Private to mpiio-view draw: the picture on a terminal. */

/* Draws on stdout, so many columns wide. VIEW_DONE, or what is wrong is said on stderr. */
int draw_text(struct draw_model *model, const struct view_args *args, int64_t width, bool color);

#endif
