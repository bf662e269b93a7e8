/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer harness for files that describe themselves, except HDF5. Either a file is refused, or
 * each variable that can be a view makes a valid spec. The first byte of the input chooses a
 * decomposition, whether the file ends with zeros after the rest of the input, and whether a data
 * file exists beside it.
 */

#include "fuzz.h"
#include "from/formats.h"
#include "from/spec.h"
#include "viewspec/spec.h"

/* The most variables of a file that are checked. */
#define LOOKED_AT 8

static const char *const decompositions[] = {
    NULL,
    "block on 3",
    "cyclic(2) on 3",
    "block,cyclic on 2x2",
    "cyclic(3),block on 3x2",
    "none,block,cyclic(2) on 1x2x2",
    "cyclic,cyclic(2),none on 2x2",
};
#define DECOMPOSITIONS (sizeof(decompositions) / sizeof(decompositions[0]))

/* Compiles the view of a variable for the first rank and the last one. */
static void check_view(const struct from_variable *variable, const struct from_grid *grid)
{
    struct vs_error error = {0}, why = {0};
    struct vs_spec *spec = NULL;
    json_t *view = from_view(variable, grid, &error);
    json_t *root = json_pack("{s:i, s:s, s:I, s:o}", "viewspec", 1, "file", "/f", "ranks",
                             (json_int_t)grid->ranks, "view", view);
    char *text = json_dumps(root, JSON_COMPACT);

    CHECK(view != NULL && text != NULL);
    CHECK(vs_spec_parse(text, strlen(text), "fuzz", "/", NULL, &spec, &why) == 0);
    for (int64_t rank = 0; rank < grid->ranks; rank += grid->ranks - 1) {
        struct vs_view *compiled = NULL;
        CHECK(vs_spec_view(spec, 0, rank, &compiled, &why) == 0);
        vs_view_unref(compiled);
        if (grid->ranks == 1)
            break;
    }
    vs_spec_free(spec);
    json_decref(root);
    free(text);
}

/* Implements read of struct from_source. self is the beginning of the file. */
static int64_t read_bytes(void *self, void *buffer, size_t length, int64_t at)
{
    const struct from_bytes *head = self;
    int64_t got = head->size - at < (int64_t)length ? head->size - at : (int64_t)length;

    CHECK(at >= 0);
    if (got <= 0)
        return 0;
    memset(buffer, 0, (size_t)got);
    if (at < (int64_t)head->length) {
        int64_t there = (int64_t)head->length - at;
        memcpy(buffer, head->bytes + at, (size_t)(there < got ? there : got));
    }
    return got;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct from_file *file;
    struct from_grid grid;
    struct vs_error error = {0}, none = {0};

    if (size < 1)
        return 0;
    struct from_bytes head = {.bytes = data + 1, .length = size - 1, .path = "fuzz.meta"};
    if (data[0] & 0x40)
        head.path = "/dev/zero.hdr";
    head.size = data[0] & 0x80 ? INT64_C(1) << 50 : (int64_t)head.length;
    const struct from_source source = {read_bytes, &head, head.size};
    head.source = &source;
    const struct from_format *format = from_format_of(&head);
    if (format == NULL || format == &from_hdf5 || format == &from_subfiling)
        return 0;
    if (format == &from_fortran && data[0] & 0x80) /* zeros are a million records */
        return 0;
    CHECK(from_grid(decompositions[data[0] % DECOMPOSITIONS], 0, &grid, &none) == 0);
    file = calloc(1, sizeof(*file));
    CHECK(file != NULL);
    file->error = &error;
    file->format = format->name;
    file->path = strdup(head.path);
    int code = format->read(&head, file);
    CHECK(code == 0 || code == -EAGAIN || (code == error.code && error.reason[0]));
    for (size_t i = 0; !code && i < file->count && i < LOOKED_AT; i++)
        if (!file->variables[i].reason)
            check_view(&file->variables[i], &grid);
    from_free(file);
    return 0;
}
