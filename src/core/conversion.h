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
 * Conversions between native values and those of a view's data representation (MPI 3.1, 13.7).
 * All functions are local and thread-safe.
 */

/* The treatment of an integer that is too large for the file's representation. */
enum mpiio_narrow {
    MPIIO_NARROW_REFUSE,   /* -ERANGE */
    MPIIO_NARROW_TRUNCATE, /* its least significant bytes are stored */
};

/* "refuse" or "truncate", as options have them: true where text is one. */
bool mpiio_narrow_parse(const char *text, enum mpiio_narrow *narrow);

/*
 * How elements of one basic type are converted. Immutable; holds nothing that must be freed. Valid
 * as long as the view.
 */
struct mpiio_conversion {
    size_t native, file; /* bytes of an element; a complex number is one element */
    /*
     * Each byte in the file is one native byte, so that single bytes can be stored alone: the
     * element's bytes stand reversed within units of so many bytes (1: as they are).
     */
    bool bytewise;
    size_t unit; /* where bytewise; divides native, which is file */

    /* The converters' own. */
    bool (*read)(void *to, const void *from, size_t values);
    bool (*write)(void *to, const void *from, size_t values);
    size_t values; /* in an element */
    bool truncate;
    const struct vs_user_datarep *user; /* borrowed from the view: its library converts; or NULL */
    size_t number;                      /* of the basic type */
};

/*
 * Finds the conversion of elements of type basic in the representation of a view with these facts,
 * and fills conversion. -ENOTSUP where there is none.
 */
int mpiio_conversion_find(const struct vs_basic *basic, const struct vs_view_facts *facts,
                          enum mpiio_narrow narrow, struct mpiio_conversion *conversion);

/*
 * Converts count elements that stand side by side. No pointer needs to be aligned. The buffers do
 * not overlap, but they may be the same one where native and file are equal. Returns 0, or -EIO
 * where a converter of the user's fails.
 */
int mpiio_to_native(const struct mpiio_conversion *conversion, void *native, const void *file,
                    size_t count);

/*
 * The same the other way. -ERANGE where a value does not fit into the file's: all elements were
 * converted nevertheless, that one to its least significant bytes.
 */
int mpiio_to_file(const struct mpiio_conversion *conversion, void *file, const void *native,
                  size_t count);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
