/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_CONVERSION_H
#define MPIIO_CONVERSION_H

#include <stdbool.h>
#include <stddef.h>

#include "basic.h"
#include "spec.h"

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/*
 * Conversions between the native representation and a view's (MPI 3.1, 13.7). All functions are
 * local and thread-safe.
 */

/* The treatment of an integer that is too large for the file's representation. */
enum mpiio_narrow {
    MPIIO_NARROW_REFUSE,   /* -ERANGE */
    MPIIO_NARROW_TRUNCATE, /* its least significant bytes are stored */
};

/* Parses an option's value: "refuse" or "truncate". Returns false for any other text. */
bool mpiio_narrow_parse(const char *text, enum mpiio_narrow *narrow);

/*
 * The conversion of elements of one basic type. Immutable. Needs no freeing. Valid as long as the
 * view.
 */
struct mpiio_conversion {
    size_t native, file; /* bytes of an element; a complex number is one element */
    /*
     * Each byte in the file is one native byte, so that single bytes can be stored. The element's
     * bytes are reversed within units of `unit` bytes (1: unchanged).
     */
    bool bytewise;
    size_t unit; /* if bytewise; divides native, which then equals file */

    /* For the converters only. */
    bool (*read)(void *to, const void *from, size_t values);
    bool (*write)(void *to, const void *from, size_t values);
    size_t values; /* number of values in an element */
    bool truncate;
    const struct vs_user_datarep *user; /* its library converts; borrowed from the view; or NULL */
    size_t number;                      /* of the basic type */
};

/*
 * Finds the conversion of elements of type basic in the representation of a view with these facts.
 * Returns 0, or -ENOTSUP if there is none.
 */
int mpiio_conversion_find(const struct vs_basic *basic, const struct vs_view_facts *facts,
                          enum mpiio_narrow narrow, struct mpiio_conversion *conversion);

/*
 * Converts count adjacent elements. Pointers need no alignment. The buffers must not overlap, but
 * may be equal if native and file are. Returns 0, or -EIO if a user's converter fails.
 */
int mpiio_to_native(const struct mpiio_conversion *conversion, void *native, const void *file,
                    size_t count);

/*
 * The opposite direction. Returns -ERANGE if a value does not fit in the file's type. All elements
 * are converted nevertheless, such a value to its least significant bytes.
 */
int mpiio_to_file(const struct mpiio_conversion *conversion, void *file, const void *native,
                  size_t count);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
