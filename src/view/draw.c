/* SPDX-License-Identifier: MIT */
#include "view.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "view/draw/model.h"
#include "viewspec/base/integer.h"

/* Returns the width of the terminal in columns, or a default if there is none. */
static int64_t terminal_width(void)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    int64_t width = 80;

    if (isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col)
        width = size.ws_col;
    else if (columns && atoi(columns) > 0)
        width = atoi(columns);
    return vs_max(20, vs_min(width, 1000));
}

static bool wants_color(const struct view_args *args)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

    if (strcmp(args->color, "auto") != 0)
        return !strcmp(args->color, "always");
    return isatty(STDOUT_FILENO) && !(no_color && *no_color) && term && strcmp(term, "dumb") != 0;
}

static int run_draw(const struct view_args *args, const struct vs_spec *spec)
{
    struct draw_model model = {.spec = spec,
                               .title = args->shorthand ? args->shorthand : args->spec};
    struct vs_error why = {0}; /* a picture does not require the file */
    long index = view_choose(args, spec);
    int status;

    if (index < 0)
        return VIEW_USAGE;
    model.index = (size_t)index;
    model.file_size = view_file_size(spec, &why);
    status = draw_survey(&model);
    if (!status && args->svg)
        status = draw_svg(&model, args);
    else if (!status)
        status = draw_text(&model, args, args->width ? args->width : terminal_width(),
                           wants_color(args));
    draw_free(&model);
    return status;
}

const struct view_command view_draw = {
    .name = "draw",
    .options = VIEW_TAKES_PICTURE | VIEW_NEEDS_NO_FILE | VIEW_BY_FILE,
    .run = run_draw,
    .summary = "a picture of who owns what: on the terminal or as SVG",
    .help =
        "Usage: mpiio-view draw SPEC [-v VIEW] [--offset O] [--window W] [--svg FILE]\n"
        "Draws the first tiles of a view, a cell an etype, and in it the number of the rank that\n"
        "owns it. Subarrays and darrays of two dimensions are drawn as lines and columns, of more\n"
        "as planes. Of what is too large for that a cell stands for more; the picture says for "
        "how\n"
        "much. The file need not be there.\n"
        "\n"
        "  -v, --view=VIEW  which view, where the spec has several\n"
        "  --offset=O       begin at displacement O (default: at the view's displacement); of an\n"
        "                   array, the tile and the lines or planes from there on\n"
        "  --window=W       draw W bytes of the file (default: some tiles, or one)\n"
        "  --svg=FILE       write a figure, as SVG (-: to standard output)\n"
        "  --width=COLS     columns of the drawing (default: the terminal's), or with --svg cells\n"
        "                   in a line\n"
        "  --color=WHEN     always, never or auto: on a terminal, if NO_COLOR is not set\n"
        "\n"
        "Examples:\n"
        "  mpiio-view draw heat.json\n"
        "  mpiio-view draw heat.json --offset 1G --window 64k\n"
        "  mpiio-view draw heat.json --svg heat.svg\n",
};
