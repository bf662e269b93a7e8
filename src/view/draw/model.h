/* SPDX-License-Identifier: MIT */
#ifndef DRAW_MODEL_H
#define DRAW_MODEL_H

/*
 * Private to mpiio-view draw: a picture as a grid of cells, whose each cell stands for some bytes
 * of the file and says which ranks own them. It is laid out (layout.h), filled
 * (paint.h) and put out as text (text.h) or SVG (svg.h).
 *
 * Work and memory follow the number of cells and of ranks, never the sizes of what is drawn.
 * Nothing here is used by several threads.
 */

#include "view/view.h"

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

#endif
