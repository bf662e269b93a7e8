/* SPDX-License-Identifier: MIT */
#include "model.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "viewspec/base/integer.h"

/* A picture as SVG. */

/* Sizes in pixels. */
#define MARGIN    16
#define LINE      18 /* of text */
#define AXIS      22 /* above the cells */
#define WIDTH     640
#define MAX_SIDE  26
#define MIN_SIDE  8
#define LEGEND    180 /* of an entry */
#define CHARACTER 0.6 /* width of a digit, in units of the font size */

#define COLUMNS       32
#define LINES         12
#define ARRAY_COLUMNS 48
#define ARRAY_LINES   48
#define ARRAY_PLANES  6

/* The layout of the figure. */
struct figure {
    const struct draw_model *model;
    FILE *out;
    int side;        /* of a cell */
    int left;        /* width of the labels before the cells */
    int panel_width; /* of a plane with its labels and gap */
    int panel_height;
    int across;                  /* planes side by side */
    int captions;                /* lines of text */
    int width, height, top;      /* of the figure; top: where the planes begin */
    int64_t lowest[DRAW_COLORS]; /* the lowest rank with the color, -1: none */
    bool more[DRAW_COLORS];      /* other ranks have the color, too */
    bool borders, place;         /* show borders of tiles, and the displacement */
    int entries;                 /* of the legend */
    int legend, legend_columns;  /* its height, and its entries in a line */
};

/* Writes a clean line (viewspec/base/line.h). XML disallows only U+FFFE and U+FFFF in it. */
static void put_escaped(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '<') {
            fputs("&lt;", out);
        } else if (*text == '>') {
            fputs("&gt;", out);
        } else if (*text == '&') {
            fputs("&amp;", out);
        } else if (!strncmp(text, "\xef\xbf\xbe", 3) || !strncmp(text, "\xef\xbf\xbf", 3)) {
            fputc('?', out);
            text += 2;
        } else {
            fputc(*text, out);
        }
    }
}

/* Draws a rectangle, filled with a color or pattern. */
static void put_rect(FILE *out, double x, double y, double width, double height, const char *fill)
{
    fprintf(out, "<rect x=\"%.6g\" y=\"%.6g\" width=\"%.6g\" height=\"%.6g\" fill=\"%s\"/>\n", x, y,
            width, height, fill);
}

static void put_colored(FILE *out, double x, double y, double width, double height, int64_t rank)
{
    struct draw_color color = draw_color(rank);
    char text[8];

    snprintf(text, sizeof(text), "#%02x%02x%02x", color.red, color.green, color.blue);
    put_rect(out, x, y, width, height, text);
}

static void put_text(FILE *out, double x, double y, const char *anchor, double size,
                     const char *text)
{
    fprintf(out, "<text x=\"%.6g\" y=\"%.6g\" text-anchor=\"%s\" font-size=\"%.3g\">", x, y, anchor,
            size);
    put_escaped(out, text);
    fputs("</text>\n", out);
}

/* Returns how many owners of a cell have a stripe or band. */
static int owners_shown(const struct draw_cell *cell)
{
    return cell->owners < DRAW_OWNERS ? (int)cell->owners : DRAW_OWNERS;
}

/* Builds the name of an overlap's stripes from their colors. */
static void stripes_name(const struct draw_cell *cell, char *name, size_t size)
{
    int used = snprintf(name, size, "stripes");

    for (int i = 0; i < owners_shown(cell); i++)
        used +=
            snprintf(name + used, size - (size_t)used, "-%d", (int)(cell->ranks[i] % DRAW_COLORS));
}

static void put_stripes(FILE *out, const struct draw_cell *cell)
{
    int count = owners_shown(cell), width = 4;
    char name[64];

    stripes_name(cell, name, sizeof(name));
    fprintf(out,
            "<pattern id=\"%s\" width=\"%d\" height=\"8\" patternUnits=\"userSpaceOnUse\" "
            "patternTransform=\"rotate(45)\">",
            name, (count + (count == 1)) * width);
    for (int i = 0; i < count; i++)
        put_colored(out, i * width, 0, width, 8, cell->ranks[i]);
    if (count == 1)
        put_rect(out, width, 0, width, 8, "#ffffff");
    fputs("</pattern>\n", out);
}

/* Returns true if an earlier cell has the same stripes, which are then defined already. */
static bool is_defined(const struct draw_model *model, int64_t number)
{
    char name[64], other[64];

    stripes_name(&model->cells[number], name, sizeof(name));
    for (int64_t i = number; i-- > 0;) {
        if (model->cells[i].kind != DRAW_OVERLAP)
            continue;
        stripes_name(&model->cells[i], other, sizeof(other));
        if (!strcmp(name, other))
            return true;
    }
    return false;
}

static void put_patterns(const struct figure *figure)
{
    FILE *out = figure->out;

    fputs("<defs>\n"
          "<pattern id=\"hole\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
          "patternTransform=\"rotate(-45)\"><rect width=\"6\" height=\"6\" fill=\"#ffffff\"/>"
          "<rect width=\"1.2\" height=\"6\" fill=\"#9a9a9a\"/></pattern>\n"
          "<pattern id=\"before\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\">"
          "<rect width=\"5\" height=\"5\" fill=\"#ffffff\"/>"
          "<circle cx=\"2.5\" cy=\"2.5\" r=\"0.8\" fill=\"#9a9a9a\"/></pattern>\n"
          "<pattern id=\"many\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\">"
          "<rect width=\"8\" height=\"8\" fill=\"#d8d8d8\"/>"
          "<rect width=\"4\" height=\"4\" fill=\"#6e6e6e\"/>"
          "<rect x=\"4\" y=\"4\" width=\"4\" height=\"4\" fill=\"#6e6e6e\"/></pattern>\n",
          out);
    for (int64_t i = 0; i < draw_cell_count(figure->model); i++)
        if (figure->model->cells[i].kind == DRAW_OVERLAP && !is_defined(figure->model, i))
            put_stripes(out, &figure->model->cells[i]);
    fputs("</defs>\n", out);
}

/* Writes the cell's rank if it is large enough to be readable. */
static void put_number(const struct figure *figure, const struct draw_cell *cell, double x,
                       double y)
{
    double room = (figure->side - 3) / (CHARACTER * draw_digits(cell->ranks[0]));
    double size = room < figure->side * 0.55 ? room : figure->side * 0.55;

    if (size < 5)
        return;
    fprintf(figure->out,
            "<text x=\"%.6g\" y=\"%.6g\" text-anchor=\"middle\" font-size=\"%.3g\" fill=\"%s\">"
            "%" PRId64 "</text>\n",
            x + figure->side / 2.0, y + figure->side / 2.0 + size * 0.36, size,
            draw_color(cell->ranks[0]).dark ? "#ffffff" : "#000000", cell->ranks[0]);
}

/* Draws a cell of one rank with holes: hatched, and filled from below in proportion to the owned
   bytes. */
static void put_part(const struct figure *figure, const struct draw_cell *cell, double x, double y)
{
    double side = figure->side, height = (double)cell->owned / (double)cell->size * side;

    put_rect(figure->out, x, y, side, side, "url(#hole)");
    put_colored(figure->out, x, y + side - height, side, height, cell->ranks[0]);
}

/* Draws a band for each of a few ranks that share a cell but no byte. */
static void put_bands(const struct figure *figure, const struct draw_cell *cell, double x, double y)
{
    double width = (double)figure->side / (double)cell->owners;

    for (int i = 0; i < owners_shown(cell); i++)
        put_colored(figure->out, x + i * width, y, width, figure->side, cell->ranks[i]);
}

/* Fills a cell with a pattern. */
static void put_pattern(const struct figure *figure, const struct draw_cell *cell, double x,
                        double y)
{
    char name[64], fill[72];

    if (cell->kind == DRAW_OVERLAP)
        stripes_name(cell, name, sizeof(name));
    else
        strcpy(name, cell->kind == DRAW_HOLE     ? "hole"
                     : cell->kind == DRAW_BEFORE ? "before"
                                                 : "many");
    snprintf(fill, sizeof(fill), "url(#%s)", name);
    put_rect(figure->out, x, y, figure->side, figure->side, fill);
}

static void put_cell(const struct figure *figure, const struct draw_cell *cell, double x, double y)
{
    if (cell->kind == DRAW_WHOLE)
        put_colored(figure->out, x, y, figure->side, figure->side, cell->ranks[0]);
    else if (cell->kind == DRAW_PART)
        put_part(figure, cell, x, y);
    else if (cell->kind == DRAW_MIXED && cell->owners <= DRAW_OWNERS)
        put_bands(figure, cell, x, y);
    else
        put_pattern(figure, cell, x, y);
    fprintf(figure->out,
            "<rect x=\"%.6g\" y=\"%.6g\" width=\"%d\" height=\"%d\" fill=\"none\" "
            "stroke=\"#4d4d4d\" stroke-width=\"0.5\"/>\n",
            x, y, figure->side, figure->side);
    if (cell->kind == DRAW_WHOLE)
        put_number(figure, cell, x, y);
}

static void put_border(const struct figure *figure, double x, double y)
{
    fprintf(figure->out,
            "<path d=\"M%.6g %.6gv%d\" stroke=\"#000000\" stroke-width=\"2.5\" fill=\"none\"/>\n",
            x, y - 3, figure->side + 6);
}

/* Draws an arrow that points to x, y, the displacement. */
static void put_place(const struct figure *figure, double x, double y)
{
    fprintf(figure->out, "<path d=\"M%.6g %.6gl-5 -8h10z\" fill=\"#000000\"/>\n", x, y);
}

/* Draws the ruler above the cells: column numbers of an array, or distances in bytes. */
static void put_ruler(const struct figure *figure, double x, double y)
{
    const struct draw_model *model = figure->model;
    char text[32];
    int longest = snprintf(text, sizeof(text), "+%" PRId64, (model->columns - 1) * model->scale);
    int64_t step = (int64_t)(longest * 10 * CHARACTER + 6) / figure->side + 1;

    for (int64_t c = 0; c < model->columns; c += step) {
        snprintf(text, sizeof(text), model->plane ? "%" PRId64 : "+%" PRId64, c * model->scale);
        put_text(figure->out, x + ((double)c + 0.5) * figure->side, y - 7, "middle", 10, text);
    }
}

static void put_line(const struct figure *figure, int64_t plane, int64_t line, double x, double y)
{
    const struct draw_model *model = figure->model;
    const struct draw_cell *cell = draw_cell_at(model, plane, line, 0);
    double base = y + figure->side / 2.0 + 3.6;
    char text[64];

    if (!model->plane)
        snprintf(text, sizeof(text), "%" PRId64, cell->begin);
    else
        snprintf(text, sizeof(text), "%" PRId64 "  (%" PRId64 ")",
                 model->first_line + line * model->scale_down, cell->begin);
    put_text(figure->out, x - 8, base, "end", 10, text);
    for (int64_t c = 0; c < model->columns; c++) {
        cell = draw_cell_at(model, plane, line, c);
        if (cell->kind != DRAW_OUTSIDE)
            put_cell(figure, cell, x + (double)(c * figure->side), y);
    }
    for (int64_t c = 0; c < model->columns; c++) {
        double at = x + (double)(c * figure->side);
        cell = draw_cell_at(model, plane, line, c);
        if (cell->kind == DRAW_OUTSIDE)
            break;
        if (draw_tile_begins(model, cell->begin))
            put_border(figure, at, y);
        if (draw_tile_begins(model, cell->begin + cell->size))
            put_border(figure, at + figure->side, y);
        if (cell->begin == model->survey.first && !model->plane)
            put_place(figure, at, y - 3);
    }
}

static void put_plane(const struct figure *figure, int64_t plane)
{
    const struct draw_model *model = figure->model;
    double x = MARGIN + (double)(plane % figure->across * figure->panel_width) + figure->left;
    double y = figure->top + (double)(plane / figure->across * figure->panel_height) + AXIS;
    int gap = model->plane ? 0 : 12;
    char text[256];

    if (model->plane && model->survey.dimensions > 2) {
        draw_plane_name(model, plane, text, sizeof(text));
        put_text(figure->out, x, y - AXIS + 8, "start", 12, text);
        y += LINE - 4;
    }
    put_ruler(figure, x, model->plane ? y : y - 4);
    for (int64_t line = 0; line < model->lines; line++)
        put_line(figure, plane, line, x, y + (double)(line * (figure->side + gap)));
}

/* Draws entry *entry of the legend: this cell, followed by text. */
static void put_entry(const struct figure *figure, int *entry, const struct draw_cell *cell,
                      bool place, const char *text)
{
    double x = MARGIN + *entry % figure->legend_columns * LEGEND;
    double y = figure->height - MARGIN - figure->legend + *entry / figure->legend_columns * 24;
    struct figure swatch = *figure;

    swatch.side = 16;
    if (cell)
        put_cell(&swatch, cell, x, y);
    else if (place)
        put_place(figure, x + 8, y + 15);
    else
        put_border(&swatch, x + 8, y);
    put_text(figure->out, x + 24, y + 12, "start", 11, text);
    (*entry)++;
}

static const struct {
    enum draw_kind kind;
    const char *text;
} legend[] = {
    {DRAW_PART, "one rank's, and holes"},         {DRAW_MIXED, "several ranks', no byte twice"},
    {DRAW_OVERLAP, "overlap: in several slices"}, {DRAW_HOLE, "nobody's"},
    {DRAW_BEFORE, "before the displacement"},
};
#define KINDS (sizeof(legend) / sizeof(*legend))

/* Lists the legend entries of everything that the picture uses. */
static void gather_legend(struct figure *figure)
{
    const struct draw_model *model = figure->model;

    figure->entries = 0;
    for (int i = 0; i < DRAW_COLORS; i++)
        figure->lowest[i] = -1;
    for (int64_t i = 0; i < draw_cell_count(model); i++) {
        const struct draw_cell *cell = &model->cells[i];
        for (int o = 0; o < owners_shown(cell); o++) {
            int color = (int)(cell->ranks[o] % DRAW_COLORS);
            int64_t *lowest = &figure->lowest[color];
            if (cell->kind == DRAW_MIXED && cell->owners > DRAW_OWNERS)
                break;
            figure->more[color] =
                figure->more[color] || (*lowest >= 0 && *lowest != cell->ranks[o]);
            if (*lowest < 0 || cell->ranks[o] < *lowest)
                *lowest = cell->ranks[o];
        }
    }
    for (int i = 0; i < DRAW_COLORS; i++)
        figure->entries += figure->lowest[i] >= 0;
    for (size_t i = 0; i < KINDS; i++)
        figure->entries += draw_example(model, legend[i].kind) != NULL;
    for (int64_t i = 0; i < draw_cell_count(model) && !model->plane; i++) {
        figure->borders = figure->borders || draw_tile_begins(model, model->cells[i].begin);
        figure->place = figure->place || model->cells[i].begin == model->survey.first;
    }
    figure->entries += figure->borders + figure->place;
}

static void put_legend(const struct figure *figure)
{
    int entry = 0;
    char text[64];

    for (int i = 0; i < DRAW_COLORS; i++) {
        int64_t rank = figure->lowest[i];
        struct draw_cell cell = {.kind = DRAW_WHOLE, .owners = 1, .ranks = {rank}};
        if (rank < 0)
            continue;
        snprintf(text, sizeof(text), "rank %" PRId64 "%s", rank, figure->more[i] ? ", ..." : "");
        put_entry(figure, &entry, &cell, false, text);
    }
    for (size_t i = 0; i < KINDS; i++) {
        const struct draw_cell *cell = draw_example(figure->model, legend[i].kind);
        if (cell)
            put_entry(figure, &entry, cell, false, legend[i].text);
    }
    if (figure->borders)
        put_entry(figure, &entry, NULL, false, "a tile begins");
    if (figure->place)
        put_entry(figure, &entry, NULL, true, "displacement");
}

/* Computes the sizes of all parts from the number of cells. */
static void measure_page(struct figure *figure)
{
    const struct draw_model *model = figure->model;
    int64_t longest = 0; /* width of a caption */
    int digits = draw_digits(model->end);
    char text[1024];

    figure->side = (int)vs_max(MIN_SIDE, vs_min(WIDTH / model->columns, MAX_SIDE));
    if (model->plane)
        digits += draw_digits(model->first_line + model->array_lines) + 4;
    figure->left = (int)(digits * 10 * CHARACTER) + 12;
    figure->panel_width = figure->left + (int)model->columns * figure->side + 24;
    figure->panel_height = (int)model->lines * (figure->side + (model->plane ? 0 : 12)) + AXIS + 16;
    if (model->plane && model->survey.dimensions > 2)
        figure->panel_height += LINE - 4;
    figure->across = (int)vs_min(vs_max((WIDTH + 120) / figure->panel_width, 1), model->planes);
    for (figure->captions = 0; draw_caption(model, figure->captions, text, sizeof(text));
         figure->captions++)
        longest = vs_max(longest, (int)(strlen(text) * (figure->captions ? 12 : 14) * 0.55));
    figure->top = MARGIN + figure->captions * LINE + 14;
    figure->width = 2 * MARGIN + (int)vs_max(figure->across * figure->panel_width, longest);
    figure->legend_columns = (figure->width - 2 * MARGIN) / LEGEND;
    figure->legend = (int)vs_ceil_div(figure->entries, figure->legend_columns) * 24;
    figure->height = figure->top +
                     (int)vs_ceil_div(model->planes, figure->across) * figure->panel_height +
                     figure->legend + MARGIN + 8;
}

static void put_figure(const struct figure *figure)
{
    FILE *out = figure->out;
    char text[1024];

    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" font-family=\"Helvetica, Arial, sans-serif\">\n",
            figure->width, figure->height, figure->width, figure->height);
    for (int i = 0; draw_caption(figure->model, i, text, sizeof(text)); i++) {
        if (!i) {
            fputs("<title>", out);
            put_escaped(out, text);
            fputs("</title>\n", out);
            put_patterns(figure);
            fputs("<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n", out);
        }
        put_text(out, MARGIN, MARGIN + LINE * (i + 0.7), "start", i ? 12 : 14, text);
    }
    for (int64_t plane = 0; plane < figure->model->planes; plane++)
        put_plane(figure, plane);
    put_legend(figure);
    fputs("</svg>\n", out);
}

/* Writes the figure. Removes the file on failure. */
static int write_figure(struct figure *figure, const char *path)
{
    bool to_stdout = !strcmp(path, "-");
    struct stat st;
    int lost = 0;

    figure->out = to_stdout ? stdout : fopen(path, "w");
    if (!figure->out)
        return view_failed(path, -errno);
    put_figure(figure);
    if (to_stdout)
        return VIEW_DONE;
    if (ferror(figure->out))
        lost = errno;
    if (fclose(figure->out))
        lost = errno;
    if (!lost)
        return VIEW_DONE;
    if (!stat(path, &st) && S_ISREG(st.st_mode))
        unlink(path);
    return view_failed(path, -lost);
}

int draw_svg(struct draw_model *model, const struct view_args *args)
{
    struct figure figure = {.model = model};
    struct draw_room room = {.columns = args->width ? args->width : COLUMNS,
                             .lines = LINES,
                             .array_columns = args->width ? args->width : ARRAY_COLUMNS,
                             .array_lines = ARRAY_LINES,
                             .array_planes = ARRAY_PLANES,
                             .zoom = 1};
    int status;

    do
        status = draw_layout(model, args, &room) ? VIEW_FAILED : draw_paint(model);
    while (!status && draw_zoom(model, args, &room.zoom));
    if (status)
        return status;
    gather_legend(&figure);
    measure_page(&figure);
    return write_figure(&figure, args->svg);
}
