/* SPDX-License-Identifier: MIT */
#ifndef DRAW_MODEL_H
#define DRAW_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "view/view.h"

/*
 * Private to mpiio-view draw: a picture as a grid of cells. Each cell represents some bytes of the
 * file and shows which ranks own them. The steps are layout (layout.c), painting (paint.c), and
 * output as text (text.c) or SVG (svg.c).
 *
 * Work and memory depend on the number of cells and ranks, never on the size of the data. These
 * functions are not thread-safe.
 */

/* The number of owners that a cell records by rank. */
#define DRAW_OWNERS 4

enum draw_kind {
    DRAW_OUTSIDE, /* padding of the last line: represents nothing */
    DRAW_BEFORE,  /* before the displacement of all ranks */
    DRAW_HOLE,    /* owned by no rank */
    DRAW_WHOLE,   /* owned by one rank */
    DRAW_PART,    /* owned by one rank in part, with holes */
    DRAW_MIXED,   /* owned by several ranks, without a byte (of those examined) in two slices */
    DRAW_OVERLAP, /* at least one byte is in several slices, or several times in one */
};

struct draw_cell {
    enum draw_kind kind;
    int64_t begin; /* displacement of its first byte */
    int64_t size;  /* bytes of it that are examined; 0: outside */
    int64_t owned; /* the sum of owned bytes over the ranks, with gaps in etypes: up to 2^63-1 */
    bool folded;   /* an owner has some bytes twice */
    int64_t owners;
    int64_t last;               /* the last owner */
    int64_t ranks[DRAW_OWNERS]; /* the first owners, ascending */
};

/* Bytes [begin, end) of a cell. Segments are in file order. */
struct draw_segment {
    int64_t begin, end;
    int64_t cell;
};

/* Properties that the views of all ranks share. Sizes are in bytes. */
struct draw_survey {
    int64_t ranks, looked_at, step; /* one of every step ranks is examined */
    bool common;                    /* one view for all ranks */
    bool idle;                      /* no rank owns anything */
    int64_t first, last;            /* lowest and highest displacement of a view */
    int64_t unit;                   /* divides etypes and differences of displacements */
    int64_t etype;                  /* extent of the etypes; 0: they differ */
    int64_t tile, longest;          /* extent of the tiles, 0: they differ; the longest */
    int64_t dimensions;             /* of the array that all share; 0: none */
    int64_t *sizes;                 /* owned; slowest dimension first, whatever the order */
    bool fortran;
    int64_t element;
};

struct draw_model {
    const struct vs_spec *spec;
    size_t index;
    const char *title; /* the spec's path, or the view in shorthand; borrowed */
    struct draw_survey survey;
    int64_t file_size; /* -1: unknown */

    int64_t begin, end; /* displacements that are drawn; for an array: within its tile */
    int64_t tile;       /* for an array: the number of the tile that is drawn */
    int64_t scale;      /* bytes in a cell; for an array: elements */
    int64_t scale_down; /* for an array: lines in a cell */
    int64_t first_line; /* for an array: the first line drawn */
    int64_t array_columns, array_lines, array_planes; /* the part of an array that is drawn */
    int64_t planes, lines, columns;                   /* cells */
    /* the array's plane for each plane drawn; owned */
    int64_t *plane;
    bool sampled;   /* not all lines of a cell were examined */
    int64_t unseen; /* ranks skipped to limit the work */

    struct draw_cell *cells;       /* planes * lines * columns; owned */
    struct draw_segment *segments; /* owned */
    int64_t segment_count;
};

static inline const struct draw_cell *draw_cell_at(const struct draw_model *model, int64_t plane,
                                                   int64_t line, int64_t column)
{
    return &model->cells[(plane * model->lines + line) * model->columns + column];
}

/* Returns the number of cells, including those outside. */
static inline int64_t draw_cell_count(const struct draw_model *model)
{
    return model->planes * model->lines * model->columns;
}

/* Private to mpiio-view draw: layout. */

/* The maximum size of a picture. */
struct draw_room {
    int64_t columns, lines;
    int64_t array_columns, array_lines, array_planes; /* for an array */
    int64_t zoom; /* draws a smaller part, enlarged by this factor */
};

/* Examines all ranks' views. Returns VIEW_DONE, or another status after a message on stderr. */
int draw_survey(struct draw_model *model);

/* Assigns bytes to the cells. Returns VIEW_DONE, or another status after a message on stderr. */
int draw_layout(struct draw_model *model, const struct view_args *args,
                const struct draw_room *room);

/* Frees the contents of the model. */
void draw_free(struct draw_model *model);

/* Returns true if a cell represents more than one unit, so that owners may be indistinguishable. */
bool draw_is_coarse(const struct draw_model *model);

/* Returns true if a tile begins at this displacement. */
bool draw_tile_begins(const struct draw_model *model, int64_t displacement);

/* Returns the first cell of that kind, or NULL. */
const struct draw_cell *draw_example(const struct draw_model *model, enum draw_kind kind);

/* Returns the number of decimal digits of a non-negative number. */
int draw_digits(int64_t number);

/* Private to mpiio-view draw: captions and colors of all pictures. */

/* The number of colors that ranks take in turn, both in figures and on terminals. */
#define DRAW_COLORS 24

/* The color of a rank, 0 .. 255 each, and of text on it: black or white. */
struct draw_color {
    uint8_t red, green, blue;
    bool dark; /* text on it must be white */
};
struct draw_color draw_color(int64_t rank);

/*
 * Formats a caption line, numbered from 0: the subject of the picture, and its scale. Returns false
 * after the last line.
 */
bool draw_caption(const struct draw_model *model, int number, char *text, size_t size);

/* Formats "plane 3", or with more dimensions "plane 0, 3". */
void draw_plane_name(const struct draw_model *model, int64_t plane, char *text, size_t size);

/* Private to mpiio-view draw: owners of the cells. */

/* Finds the owners of the cells. Returns VIEW_DONE, or another status after a message on stderr. */
int draw_paint(struct draw_model *model);

/*
 * Enlarges *zoom to distinguish ranks if no cell has a single owner, and the user has not chosen
 * how much to draw. Returns true if it did: then the picture must be laid out again.
 */
bool draw_zoom(const struct draw_model *model, const struct view_args *args, int64_t *zoom);

/* Private to mpiio-view draw: the picture as a figure. */

/* Draws into the file at args->svg. Returns VIEW_DONE, or another status after a message on
   stderr. */
int draw_svg(struct draw_model *model, const struct view_args *args);

/* Private to mpiio-view draw: the picture on a terminal. */

/* Draws on stdout, width columns wide. Returns VIEW_DONE, or another status after a message on
   stderr. */
int draw_text(struct draw_model *model, const struct view_args *args, int64_t width, bool color);

#endif
