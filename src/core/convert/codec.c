/* SPDX-License-Identifier: MIT */
#include "codec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/datarep.h"
#include "kernels.h"
#include "viewspec/types/byte_order.h"

/* Conversions of elements. */

bool mpiio_narrow_parse(const char *text, enum mpiio_narrow *narrow)
{
    *narrow = strcmp(text, "truncate") == 0 ? MPIIO_NARROW_TRUNCATE : MPIIO_NARROW_REFUSE;
    return *narrow == MPIIO_NARROW_TRUNCATE || strcmp(text, "refuse") == 0;
}

/* Finds a conversion between equal sizes, with bytes reversed within units. */
static void find_swap(struct mpiio_conversion *conversion, size_t unit)
{
    conversion->bytewise = true;
    conversion->unit = unit;
    conversion->values = conversion->native / unit;
    conversion->read = conversion->write = mpiio_swap_kernel(unit);
}

/* Finds a conversion of native formats to one byte order: unchanged or reversed, with the parts of
   complex numbers separately. */
static void find_order(struct mpiio_conversion *conversion, const struct vs_basic *basic,
                       enum vs_datarep order)
{
    find_swap(conversion, order == VS_NATIVE_ORDER ? 1 : (size_t)basic->size / basic->parts);
}

/* Table 13.2: integers of other sizes, x87, and otherwise native formats in big-endian order. */
static void find_external32(struct mpiio_conversion *conversion, const struct vs_basic *basic)
{
    bool is_signed = basic->kind == VS_INTEGER;

    conversion->file = basic->external;
    conversion->values = basic->parts;
    if (basic->extended != 0) {
        conversion->read = mpiio_binary128_to_extended;
        conversion->write = mpiio_x87_to_binary128;
    } else if (basic->external == basic->size) {
        find_order(conversion, basic, VS_BIG_ENDIAN);
    } else if (basic->external * 2 == basic->size) {
        conversion->read = mpiio_widen_kernel(basic->size, is_signed);
        conversion->write = mpiio_narrow_kernel(basic->size, is_signed);
    }
}

/* Finds the conversion of a user's representation. The type has a size there, because viewspec
   refuses views with types that have none. */
static int find_user(struct mpiio_conversion *conversion, const struct vs_basic *basic,
                     const struct vs_user_datarep *user)
{
    size_t number = vs_basic_number(basic);

    if (basic->kind == VS_BYTES) {
        find_swap(conversion, 1);
        return 0;
    }
    if (user->file_size[number] == 0)
        return -ENOTSUP;
    conversion->file = (size_t)user->file_size[number];
    conversion->user = user;
    conversion->number = number;
    return 0;
}

int mpiio_conversion_find(const struct vs_basic *basic, const struct vs_view_facts *facts,
                          enum mpiio_narrow narrow, struct mpiio_conversion *conversion)
{
    *conversion = (struct mpiio_conversion){
        .native = basic->size,
        .file = basic->size,
        .truncate = narrow == MPIIO_NARROW_TRUNCATE,
    };
    switch (facts->datarep) {
    case VS_NATIVE:
        find_swap(conversion, 1);
        break;
    case VS_LITTLE_ENDIAN:
    case VS_BIG_ENDIAN:
        find_order(conversion, basic, facts->datarep);
        break;
    case VS_EXTERNAL32:
        find_external32(conversion, basic);
        break;
    case VS_USER:
        return find_user(conversion, basic, facts->user);
    }
    return conversion->read != NULL && conversion->write != NULL ? 0 : -ENOTSUP;
}

int mpiio_to_native(const struct mpiio_conversion *conversion, void *native, const void *file,
                    size_t count)
{
    if (conversion->user != NULL)
        return mpiio_datarep_to_native(conversion->user, conversion->number, native, file, count);
    conversion->read(native, file, count * conversion->values);
    return 0;
}

int mpiio_to_file(const struct mpiio_conversion *conversion, void *file, const void *native,
                  size_t count)
{
    if (conversion->user != NULL)
        return mpiio_datarep_to_file(conversion->user, conversion->number, file, native, count);
    bool fits = conversion->write(file, native, count * conversion->values);
    return fits || conversion->truncate ? 0 : -ERANGE;
}

/* Codecs of views. */

static const struct mpiio_conversion *conversion_of(const struct mpiio_codec *codec,
                                                    const struct vs_basic *basic)
{
    return &codec->conversions[codec->uniform ? 0 : vs_basic_number(basic)];
}

static int find_conversion(const struct mpiio_codec *codec, const struct vs_basic *basic,
                           enum mpiio_narrow narrow, struct mpiio_conversion *conversion)
{
    int error = mpiio_conversion_find(basic, vs_view_facts(codec->view), narrow, conversion);

    if (error != 0)
        return error;
    return conversion->native <= MPIIO_ELEMENT_NATIVE && conversion->file <= MPIIO_ELEMENT_FILE
               ? 0
               : -ENOTSUP;
}

/* Finds the conversions of all types. A type without one causes an error only when an element of
   it is converted. */
static void find_all(struct mpiio_codec *codec, enum mpiio_narrow narrow)
{
    for (size_t i = 0; i < VS_BASICS; i++)
        if (find_conversion(codec, vs_basic_at(i), narrow, &codec->conversions[i]) != 0)
            codec->conversions[i] = (struct mpiio_conversion){.native = 0};
}

int mpiio_codec_new(const struct vs_view *view, enum mpiio_narrow narrow,
                    struct mpiio_codec **codec)
{
    const struct vs_view_facts *facts = vs_view_facts(view);
    size_t count = facts->basic != NULL ? 1 : VS_BASICS;
    struct mpiio_codec *new = malloc(sizeof(*new) + count * sizeof(new->conversions[0]));
    int error = 0;

    if (new == NULL)
        return -ENOMEM;
    *new = (struct mpiio_codec){.view = view, .uniform = facts->basic != NULL};
    if (new->uniform)
        error = find_conversion(new, facts->basic, narrow, &new->conversions[0]);
    else
        find_all(new, narrow);
    if (error != 0) {
        free(new);
        return error;
    }
    new->plain = new->uniform &&new->conversions[0].bytewise;
    *codec = new;
    return 0;
}

struct mpiio_element mpiio_codec_element(const struct mpiio_codec *codec, int64_t offset)
{
    struct vs_element_cursor cursor;
    struct vs_elements run;

    if (codec->uniform) {
        const struct mpiio_conversion *conversion = &codec->conversions[0];
        int64_t number = offset / (int64_t)conversion->native;

        return (struct mpiio_element){conversion, number * (int64_t)conversion->native,
                                      number * (int64_t)conversion->file};
    }
    vs_elements_start(&cursor, codec->view, offset, 1);
    vs_elements_next(&cursor, &run);
    return (struct mpiio_element){conversion_of(codec, run.basic), run.offset, run.position};
}

struct mpiio_element mpiio_codec_element_at(const struct mpiio_codec *codec, int64_t position)
{
    struct vs_elements run;

    vs_elements_find(codec->view, position, &run);
    return (struct mpiio_element){conversion_of(codec, run.basic), run.offset, run.position};
}

void mpiio_codec_span(const struct mpiio_codec *codec, int64_t offset, int64_t end,
                      int64_t *position, int64_t *length)
{
    struct mpiio_element last = mpiio_codec_element(codec, end - 1);

    *position = mpiio_codec_element(codec, offset).position;
    *length = last.position + (int64_t)last.conversion->file - *position;
}

/* The rest of a range to be decoded. */
struct decoding {
    int64_t skip; /* bytes of the next element to skip */
    size_t left;
    char *native;
    const char *file;
    size_t size; /* bytes left in file */
};

/* Records that `native` bytes were decoded from `file` bytes of the file. */
static void decoding_pass(struct decoding *d, size_t native, size_t file)
{
    d->native += native;
    d->left -= native;
    d->file += file;
    d->size -= file;
}

/* Decodes the next element, or the requested part of it. */
static int decode_part(struct decoding *d, const struct mpiio_conversion *conversion)
{
    char value[MPIIO_ELEMENT_NATIVE];
    size_t bytes = conversion->native - (size_t)d->skip;
    int error = mpiio_to_native(conversion, value, d->file, 1);

    if (error != 0)
        return error;
    bytes = bytes < d->left ? bytes : d->left;
    memcpy(d->native, value + d->skip, bytes);
    decoding_pass(d, bytes, conversion->file);
    d->skip = 0;
    return 0;
}

/* Decodes up to count elements, as many as there are bytes for: whole ones at once. */
static int decode_run(struct decoding *d, const struct mpiio_conversion *conversion, int64_t count)
{
    size_t there = d->size / conversion->file;
    size_t wanted = (size_t)count < there ? (size_t)count : there;
    int error = 0;

    while (error == 0 && wanted > 0 && d->left > 0) {
        size_t fit = d->skip > 0 ? 0 : d->left / conversion->native;
        size_t whole = wanted < fit ? wanted : fit;

        if (whole > 0) {
            error = mpiio_to_native(conversion, d->native, d->file, whole);
            if (error == 0)
                decoding_pass(d, whole * conversion->native, whole * conversion->file);
        } else {
            error = decode_part(d, conversion);
        }
        wanted -= whole > 0 ? whole : 1;
    }
    return error;
}

size_t mpiio_codec_decode(const struct mpiio_codec *codec, int64_t offset, size_t length,
                          void *native, const void *file, size_t size, int *error)
{
    struct decoding d = {.left = length, .native = native, .file = file, .size = size};
    struct vs_element_cursor cursor;
    struct vs_elements run;

    *error = 0;
    d.skip = offset - mpiio_codec_element(codec, offset).offset;
    vs_elements_start(&cursor, codec->view, offset, (int64_t)length);
    while (*error == 0 && vs_elements_next(&cursor, &run)) {
        const struct mpiio_conversion *conversion = conversion_of(codec, run.basic);

        if (conversion->native == 0)
            *error = -ENOTSUP;
        else if (d.size < conversion->file)
            break;
        else
            *error = decode_run(&d, conversion, run.count);
    }
    return length - d.left;
}

int mpiio_codec_encode(const struct mpiio_codec *codec, int64_t offset, size_t length, void *file,
                       const void *native, bool *bytewise)
{
    const char *from = native;
    char *to = file;
    struct vs_element_cursor cursor;
    struct vs_elements run;
    int error = 0;

    *bytewise = true;
    vs_elements_start(&cursor, codec->view, offset, (int64_t)length);
    while (error == 0 && vs_elements_next(&cursor, &run)) {
        const struct mpiio_conversion *conversion = conversion_of(codec, run.basic);
        size_t count = (size_t)run.count;

        error = conversion->native == 0 ? -ENOTSUP : mpiio_to_file(conversion, to, from, count);
        *bytewise = *bytewise && conversion->bytewise;
        from += count * conversion->native;
        to += count * conversion->file;
    }
    return error;
}
