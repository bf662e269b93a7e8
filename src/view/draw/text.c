/* SPDX-License-Identifier: MIT */
#include "model.h"

#include <inttypes.h>

#include "viewspec/base/integer.h"

/* A picture as text. */

/* The maximum number of lines and planes. */
#define LINES       16
#define ARRAY_LINES 32
#define PLANES      4

/* The layout of lines: number and displacement on the left, then the cells. */
struct sheet {
    const struct draw_model *model;
    bool color;
    int number;  /* width of a line's number, before its displacement; 0: none */
    int label;   /* width of a displacement */
    int content; /* width of a cell's text, after the border */
};

static const char *const marks[] = {
    [DRAW_BEFORE] = "<", [DRAW_HOLE] = ".", [DRAW_MIXED] = "+", [DRAW_OVERLAP] = "#"};

/* Lays out a picture that fits into width columns. The widths of labels depend on the layout, so
   it repeats until they match. */
static int lay_out(struct draw_model *model, const struct view_args *args, int64_t width,
                   int64_t zoom, struct sheet *sheet)
{
    int digits = draw_digits(model->survey.ranks - 1);

    *sheet = (struct sheet){.model = model, .label = 6, .content = digits, .number = 3};
    for (bool again = true; again;) {
        int64_t cell = sheet->content + 1, room = (width - sheet->label - 1) / cell;
        int64_t array = (width - sheet->label - sheet->number - 2) / cell;
        struct draw_room rooms = {.columns = vs_max(room, 1),
                                  .lines = LINES,
                                  .array_columns = vs_max(array, 1),
                                  .array_lines = ARRAY_LINES,
                                  .array_planes = PLANES,
                                  .zoom = zoom};
        if (draw_layout(model, args, &rooms))
            return VIEW_FAILED;
        int before = sheet->label + sheet->number + sheet->content;
        sheet->label = (int)vs_max(sheet->label, draw_digits(model->end));
        if (model->plane)
            sheet->number =
                (int)vs_max(sheet->number, draw_digits(model->first_line + model->array_lines));
        if (draw_is_coarse(model))
            sheet->content = digits + 1;
        again = sheet->label + sheet->number + sheet->content > before;
    }
    if (!model->plane)
        sheet->number = 0;
    return VIEW_DONE;
}

/* A terminal's 16 basic colors vary from one terminal to another. The colors of the 6 x 6 x 6
   cube do not. */
static int cube_color(uint8_t value)
{
    return value < 48 ? 0 : value < 115 ? 1 : (value - 35) / 40;
}

static void begin_color(const struct draw_cell *cell)
{
    struct draw_color color = draw_color(cell->ranks[0]);

    switch (cell->kind) {
    case DRAW_WHOLE:
    case DRAW_PART:
        printf("\033[48;5;%d;38;5;%dm",
               16 + 36 * cube_color(color.red) + 6 * cube_color(color.green) +
                   cube_color(color.blue),
               color.dark ? 231 : 16);
        break;
    case DRAW_MIXED:
        printf("\033[48;5;239;38;5;231m");
        break;
    case DRAW_OVERLAP:
        printf("\033[1;7m");
        break;
    default:
        printf("\033[2m");
    }
}

/* Returns the character between a cell and the previous one. */
static char border_of(const struct draw_model *model, int64_t displacement)
{
    if (displacement == model->survey.first && displacement > 0 && !model->plane)
        return '>';
    return draw_tile_begins(model, displacement) ? '|' : ' ';
}

static void print_cell(const struct sheet *sheet, const struct draw_cell *cell)
{
    char text[32], border = border_of(sheet->model, cell->begin);

    if (cell->kind == DRAW_WHOLE || cell->kind == DRAW_PART)
        snprintf(text, sizeof(text), "%" PRId64 "%s", cell->ranks[0],
                 cell->kind == DRAW_PART ? "~" : "");
    else
        snprintf(text, sizeof(text), "%s", marks[cell->kind]);
    if (sheet->color && border == ' ')
        begin_color(cell);
    putchar(border);
    if (sheet->color && border != ' ')
        begin_color(cell);
    printf("%*s%s", sheet->content, text, sheet->color ? "\033[0m" : "");
}

static void print_line(const struct sheet *sheet, int64_t plane, int64_t line)
{
    const struct draw_model *model = sheet->model;
    const struct draw_cell *cell = draw_cell_at(model, plane, line, 0);

    if (sheet->number)
        printf("%*" PRId64 " ", sheet->number, model->first_line + line * model->scale_down);
    printf("%*" PRId64, sheet->label, cell->begin);
    for (int64_t c = 0; c < model->columns; c++) {
        cell = draw_cell_at(model, plane, line, c);
        if (cell->kind == DRAW_OUTSIDE)
            break;
        print_cell(sheet, cell);
        if (c == model->columns - 1 && draw_tile_begins(model, cell->begin + cell->size))
            putchar('|');
    }
    putchar('\n');
}

/* Prints the ruler above the columns: column numbers of an array, or distances in bytes, where
   they fit. */
static void print_ruler(const struct sheet *sheet)
{
    const struct draw_model *model = sheet->model;
    int64_t at = sheet->label + (sheet->number ? sheet->number + 1 : 0);

    int longest = snprintf(NULL, 0, "+%" PRId64, (model->columns - 1) * model->scale);
    int64_t step = (longest + sheet->content + 1) / (sheet->content + 1), written = 0;

    for (int64_t c = 0; c < model->columns; c += step) {
        char text[32];
        int length =
            snprintf(text, sizeof(text), model->plane ? "%" PRId64 : "+%" PRId64, c * model->scale);
        /* Aligned to the right, like the cells' texts. */
        int64_t end = at + (c + 1) * (sheet->content + 1);
        printf("%*s%s", (int)(end - length - written), "", text);
        written = end;
    }
    putchar('\n');
}

static void print_legend(const struct draw_model *model)
{
    static const struct {
        enum draw_kind kind;
        const char *text;
    } legend[] = {
        {DRAW_BEFORE, "< before the displacement"},
        {DRAW_HOLE, ". nobody's"},
        {DRAW_PART, "~ and holes"},
        {DRAW_MIXED, "+ several ranks', no byte twice"},
        {DRAW_OVERLAP, "# overlap: bytes in several slices, or twice in one"},
    };
    const char *between = "";

    if (draw_example(model, DRAW_WHOLE) || draw_example(model, DRAW_PART)) {
        printf("a number: that rank's");
        between = ";  ";
    }
    for (size_t i = 0; i < sizeof(legend) / sizeof(*legend); i++) {
        if (!draw_example(model, legend[i].kind))
            continue;
        printf("%s%s", between, legend[i].text);
        between = ";  ";
    }
    if (!model->plane && model->survey.tile > model->scale)
        printf("%s| a tile begins", between);
    if (!model->plane && model->survey.first > 0 && model->begin <= model->survey.first)
        printf("%s> displacement", between);
    putchar('\n');
}

int draw_text(struct draw_model *model, const struct view_args *args, int64_t width, bool color)
{
    struct sheet sheet;
    char text[1024];
    int64_t zoom = 1;
    int status;

    do
        status = lay_out(model, args, width, zoom, &sheet) ? VIEW_FAILED : draw_paint(model);
    while (!status && draw_zoom(model, args, &zoom));
    if (status)
        return status;
    sheet.color = color;
    for (int i = 0; draw_caption(model, i, text, sizeof(text)); i++)
        puts(text);
    for (int64_t p = 0; p < model->planes; p++) {
        putchar('\n');
        if (model->plane && model->survey.dimensions > 2) {
            draw_plane_name(model, p, text, sizeof(text));
            puts(text);
        }
        print_ruler(&sheet);
        for (int64_t l = 0; l < model->lines && !ferror(stdout); l++)
            print_line(&sheet, p, l);
    }
    putchar('\n');
    print_legend(model);
    return VIEW_DONE;
}
