/* SPDX-License-Identifier: MIT */
#include "core/conversion.h"

#include <errno.h>
#include <string.h>

#include "core/datarep.h"
#include "viewspec/types/byte_order.h"
#include "kernels.h"

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
    } else if (basic->kind == VS_FLOAT && basic->external == 2 * basic->size) {
        /* A long double that is a double. */
        conversion->read = mpiio_binary128_to_binary64;
        conversion->write = mpiio_binary64_to_binary128;
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
