/* SPDX-License-Identifier: MIT */
#include "store_private.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convert/codec.h"
#include "core/members/assembled.h"

/* Stores of specs: one file, or members with fill values for holes. */

/* Fill values of holes. */

/* One element of the views, its bytes in the file, and its displacement modulo its size. */
struct element {
    struct vs_fill fill;
    const struct vs_basic *basic;
    char representation[64];
};

static bool put_integer(const struct vs_basic *basic, const char *text, unsigned char *native)
{
    unsigned spare = 64 - 8U * basic->size; /* high bits of value: the sign's, or 0 */
    bool is_signed = basic->kind == VS_INTEGER;
    char *end;

    errno = 0;
    uint64_t value = is_signed ? (uint64_t)strtoll(text, &end, 10) : strtoull(text, &end, 10);
    if (errno || end == text || *end || basic->size > 8 || (!is_signed && *text == '-'))
        return false;
    if (is_signed ? (int64_t)(value << spare) >> spare != (int64_t)value
                  : value << spare >> spare != value)
        return false;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    memcpy(native, (const char *)&value + sizeof(value) - basic->size, basic->size);
#else
    memcpy(native, &value, basic->size);
#endif
    return true;
}

/* Converts the text of a number. Does not change the padding bytes of an x87 number. Returns
   false if the number is too large, or there is no type of that size. */
static bool put_float(unsigned size, bool extended, const char *text, unsigned char *native)
{
    long double number = strtold(text, NULL);
    double binary64 = strtod(text, NULL);
    float binary32 = strtof(text, NULL);

    if ((size == sizeof(float) && isinf(binary32) && !isinf(number)) ||
        (size == sizeof(double) && isinf(binary64) && !isinf(number)))
        return false;
    if (size == sizeof(float))
        memcpy(native, &binary32, size);
    else if (size == sizeof(double))
        memcpy(native, &binary64, size);
    else if (size == sizeof(long double))
        memcpy(native, &number, extended ? 10 : size);
    else
        return false;
    return true;
}

/* Converts the text of a number to an element. Both parts of a complex element get the number. */
static bool put_number(const struct vs_basic *basic, const char *text, unsigned char *native)
{
    unsigned part = basic->size / basic->parts;

    if (basic->kind != VS_FLOAT)
        return put_integer(basic, text, native);
    for (unsigned i = 0; i < basic->parts; i++)
        if (!put_float(part, basic->extended, text, native + i * part))
            return false;
    return true;
}

static int encode_fill(const struct vs_view *view, const unsigned char *native,
                       struct vs_fill *fill)
{
    struct mpiio_codec *codec;
    struct vs_elements one;
    bool bytewise;
    int error;

    if (!vs_elements_find(view, 0, &one) || one.file > VS_FILL_BYTES)
        return -ENOTSUP;
    fill->length = (unsigned)one.file;
    error = mpiio_codec_new(view, MPIIO_NARROW_REFUSE, &codec);
    if (error != 0)
        return error;
    error = mpiio_codec_encode(codec, 0, (size_t)one.native, fill->value, native, &bytewise);
    free(codec);
    return error;
}

/* Converts text to an element of the view. Sets *wrong to the reason if it fails. */
static int make_element(const struct vs_view *view, const char *text, struct element *element,
                        const char **wrong)
{
    const struct vs_view_facts *facts = vs_view_facts(view);
    unsigned char native[MPIIO_ELEMENT_NATIVE] = {0};

    *wrong = "the values of a view are of several types";
    element->basic = facts->basic;
    if (facts->basic == NULL)
        return -EINVAL;
    *wrong = "the views' type does not have this value";
    if (!put_number(facts->basic, text, native) || encode_fill(view, native, &element->fill) != 0)
        return -EINVAL;
    *wrong = "the elements of a view are not aligned to their size";
    if (facts->etype_extent % element->fill.length != 0 ||
        (facts->etype_file_size != facts->etype_extent &&
         facts->etype_file_size != element->fill.length))
        return -EINVAL;
    snprintf(element->representation, sizeof(element->representation), "%s", facts->datarep_name);
    element->fill.at = vs_map_displacement(vs_view_map(view), 0) % element->fill.length;
    element->fill.size = INT64_MAX - element->fill.at;
    element->fill.count = 1;
    return 0;
}

static bool is_same(const struct element *one, const struct element *other)
{
    return one->basic == other->basic && one->fill.at == other->fill.at &&
           !strcmp(one->representation, other->representation);
}

/* Makes the element of one view of one rank, and checks that all previous views have the same. */
static int add_view(const struct vs_spec *spec, size_t index, int64_t rank, struct element *common,
                    struct vs_error *why)
{
    const struct vs_members *members = vs_spec_members(spec);
    const char *text = vs_members_facts(members)->missing_value, *wrong = NULL;
    struct element element = {0};
    struct vs_view *view = NULL;
    int error = vs_spec_view(spec, index, rank, &view, why);

    if (error)
        return error;
    if (vs_map_facts(vs_view_map(view))->tile_size > 0) {
        error = make_element(view, text, &element, &wrong);
        if (error == 0 && common->basic && !is_same(common, &element)) {
            wrong = "the views differ in type, representation or alignment";
            error = -EINVAL;
        }
        *common = element;
    }
    vs_view_unref(view);
    return error ? vs_members_fail(members, error, why, "missing=%s: %s", text, wrong) : 0;
}

/* Makes the single fill of "missing". It must be the same for all views and ranks. */
static int make_value(const struct vs_spec *spec, struct vs_fill *fill, struct vs_error *why)
{
    struct element common = {0};
    int error = 0;

    for (size_t i = 0; i < vs_spec_view_count(spec); i++)
        for (int64_t rank = 0; rank < vs_spec_ranks(spec) && error == 0; rank++)
            error = add_view(spec, i, rank, &common, why);
    if (error == 0 && common.basic == NULL)
        error = vs_members_fail(vs_spec_members(spec), -EINVAL, why,
                                "missing=%s: no view selects anything, so that it has no type",
                                vs_members_facts(vs_spec_members(spec))->missing_value);
    *fill = common.fill;
    return error;
}

/*
 * Makes the fill values for holes of the spec's assembled file: the values of "fill", or the value
 * of "missing" in the views' representation. Returns 0, or a negative errno with why filled:
 * -EINVAL if the views' elements differ in type, representation or alignment, or if their type
 * cannot represent the value. The caller frees fills->list. Local.
 */
static int make_fills(const struct vs_spec *spec, struct mpiio_fills *fills, struct vs_error *why)
{
    const struct vs_members *members = vs_spec_members(spec);
    const struct vs_members_facts *facts = vs_members_facts(members);

    fills->count = facts->missing_value ? 1 : facts->fill_count;
    fills->list = fills->count ? calloc(fills->count, sizeof(*fills->list)) : NULL;
    if (fills->count && fills->list == NULL)
        return vs_members_fail(members, -ENOMEM, why, "%s", strerror(ENOMEM));
    if (facts->missing_value)
        return make_value(spec, fills->list, why);
    if (fills->count)
        memcpy(fills->list, facts->fills, fills->count * sizeof(*fills->list));
    return 0;
}

int mpiio_store_open_spec(const struct vs_spec *spec, int flags, struct mpiio_store **store,
                          struct vs_error *why)
{
    const struct vs_members *members = vs_spec_members(spec);
    struct mpiio_fills fills = {0};
    struct mpiio_file *file;
    int error;

    if (members == NULL)
        return mpiio_store_open(vs_spec_file(spec), flags, store);
    error = make_fills(spec, &fills, why);
    if (error != 0) {
        free(fills.list);
        return error;
    }
    error = mpiio_assemble(members, flags, fills, &file, why);
    return error != 0 ? error : mpiio_store_of_file(file, store);
}
