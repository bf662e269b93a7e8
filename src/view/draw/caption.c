/* SPDX-License-Identifier: MIT */
#include "model.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "viewspec/base/line.h"

/* Captions and colors. */

/*
 * Colors that most color-blind readers can distinguish (after Okabe and Ito). The first four differ
 * in gray, too.
 */
static const uint8_t colors[][3] = {
    {0x00, 0x72, 0xb2}, {0xf0, 0xe4, 0x42}, {0xd5, 0x5e, 0x00}, {0x56, 0xb4, 0xe9},
    {0x00, 0x9e, 0x73}, {0xe6, 0x9f, 0x00}, {0xcc, 0x79, 0xa7}, {0x7f, 0x4f, 0x24},
};
#define HUES ((int64_t)(sizeof(colors) / sizeof(*colors)))
_Static_assert(sizeof(colors) / sizeof(*colors) * 3 == DRAW_COLORS, "each hue in three tints");

struct draw_color draw_color(int64_t rank)
{
    const uint8_t *hue = colors[rank % HUES];
    uint8_t value[3];

    for (int i = 0; i < 3; i++) {
        int64_t tint = rank / HUES % 3;
        value[i] = (uint8_t)(tint == 0   ? hue[i]
                             : tint == 1 ? (hue[i] + 255) / 2 /* lighter, */
                                         : hue[i] * 6 / 10);  /* darker */
    }
    return (struct draw_color){value[0], value[1], value[2],
                               .dark =
                                   299 * value[0] + 587 * value[1] + 114 * value[2] < 128 * 1000};
}

__attribute__((format(printf, 3, 4))) static void append(char *text, size_t size,
                                                         const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;

    va_start(args, format);
    vsnprintf(text + used, size - used, format, args);
    va_end(args);
    vs_line_clean(text + used);
}

static void say_view(const struct draw_model *model, char *text, size_t size)
{
    const struct draw_survey *survey = &model->survey;
    const char *name = vs_spec_view_name(model->spec, model->index);

    append(text, size, "%s%s%s: %" PRId64 " rank%s", model->title, name ? ", view " : "",
           name ? name : "", survey->ranks, view_plural(survey->ranks));
    if (survey->first == survey->last)
        append(text, size, ", displacement %" PRId64, survey->first);
    else
        append(text, size, ", displacements %" PRId64 " to %" PRId64, survey->first, survey->last);
    if (survey->etype)
        append(text, size, ", etype %" PRId64 " byte%s", survey->etype, view_plural(survey->etype));
    if (survey->tile)
        append(text, size, ", tile %" PRId64 " byte%s", survey->tile, view_plural(survey->tile));
    else if (survey->idle)
        append(text, size, ", no rank owns anything");
    else
        append(text, size, ", tiles up to %" PRId64 " bytes", survey->longest);
}

/* Formats the scale of a cell. */
static void say_cell(const struct draw_model *model, char *text, size_t size)
{
    int64_t etype = model->survey.etype, scale = model->scale;

    if (model->plane)
        return;
    if (etype && scale % etype == 0)
        append(text, size, "a cell is %" PRId64 " etype%s: %" PRId64 " byte%s", scale / etype,
               view_plural(scale / etype), scale, view_plural(scale));
    else
        append(text, size, "a cell is %" PRId64 " byte%s", scale, view_plural(scale));
    append(text, size, "; from displacement %" PRId64 " to %" PRId64,
           model->begin < 0 ? 0 : model->begin, model->end);
}

static void say_array(const struct draw_model *model, char *text, size_t size)
{
    const struct draw_survey *survey = &model->survey;
    int64_t n = survey->dimensions;

    if (!model->plane)
        return;
    append(text, size, "array ");
    for (int64_t d = 0; d < n; d++)
        append(text, size, "%s%" PRId64, d ? " x " : "",
               survey->sizes[survey->fortran ? n - 1 - d : d]);
    append(text, size, " in %s order: dimension %" PRId64 " along a line, %" PRId64 " down",
           survey->fortran ? "Fortran" : "C", survey->fortran ? 0 : n - 1,
           survey->fortran ? 1 : n - 2);
}

static void say_scale(const struct draw_model *model, char *text, size_t size)
{
    if (!model->plane)
        return;
    if (draw_is_coarse(model))
        append(text, size,
               "a cell is %" PRId64 " line%s of %" PRId64 " element%s of %" PRId64 " byte%s",
               model->scale_down, view_plural(model->scale_down), model->scale,
               view_plural(model->scale), model->survey.element,
               view_plural(model->survey.element));
    else
        append(text, size, "a cell is an element: %" PRId64 " byte%s", model->survey.element,
               view_plural(model->survey.element));
    if (model->tile)
        append(text, size, "; tile %" PRId64, model->tile);
    if (model->array_planes == 1 &&
        model->array_lines < model->survey.sizes[model->survey.dimensions - 2])
        append(text, size, "; lines %" PRId64 " to %" PRId64, model->first_line,
               model->first_line + model->array_lines - 1);
    if (model->array_columns < model->survey.sizes[model->survey.dimensions - 1])
        append(text, size, "; only columns 0 to %" PRId64, model->array_columns - 1);
    if (model->planes < model->array_planes)
        append(text, size, "; %" PRId64 " of %" PRId64 " planes", model->planes,
               model->array_planes);
}

static void say_limits(const struct draw_model *model, char *text, size_t size)
{
    const struct draw_survey *survey = &model->survey;

    if (model->sampled)
        append(text, size, "; not every line of a cell was looked at");
    if (survey->step > 1 && !survey->common)
        append(text, size, "; each %" PRId64 "th rank was looked at", survey->step);
    if (model->unseen)
        append(text, size, "; the last %" PRId64 " ranks were not looked at", model->unseen);
    if (survey->common && survey->ranks > 1)
        append(text, size, "; all ranks have this view");
    if (model->file_size >= 0 && model->file_size < model->end)
        append(text, size, "; the file ends at %" PRId64, model->file_size);
    if (*text)
        memmove(text, text + 2, strlen(text) - 1);
}

bool draw_caption(const struct draw_model *model, int number, char *text, size_t size)
{
    static void (*const parts[])(const struct draw_model *, char *, size_t) = {
        say_view, say_cell, say_array, say_scale, say_limits,
    };

    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        text[0] = '\0';
        parts[i](model, text, size);
        if (text[0] && !number--)
            return true;
    }
    return false;
}

void draw_plane_name(const struct draw_model *model, int64_t plane, char *text, size_t size)
{
    const struct draw_survey *survey = &model->survey;
    int64_t slow = survey->dimensions - 2;

    text[0] = '\0';
    append(text, size, "plane ");
    for (int64_t i = 0; i < slow; i++) {
        int64_t d = survey->fortran ? slow - 1 - i : i, index = model->plane[plane];
        for (int64_t faster = slow - 1; faster > d; faster--)
            index /= survey->sizes[faster];
        append(text, size, "%s%" PRId64, i ? ", " : "", index % survey->sizes[d]);
    }
}
