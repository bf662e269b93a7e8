/* SPDX-License-Identifier: MIT */
#ifndef VS_SPEC_H
#define VS_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "basic.h"
#include "error.h"
#include "map.h"

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/*
 * A viewspec is a JSON text that describes how the ranks of an MPI program see a file
 * (viewspec(5)). This header parses specs and compiles their views (MPI 3.1, 13.3).
 *
 * Functions with an argument `error` return 0 or a negative errno, and fill error (not NULL) if
 * they fail. A spec is immutable once loaded. All functions are local. Functions on a loaded spec
 * or a view are thread-safe, including vs_spec_view, except the ones that free it.
 */
struct vs_spec;

/* A user-defined data representation (MPI 3.1, 13.7.3), as defined by its library. Immutable. */
struct vs_user_datarep {
    const char *name;             /* as in the spec */
    int64_t file_size[VS_BASICS]; /* bytes of each basic type in the file, by vs_basic_number; 0:
                                     the library lacks the type. Unused for packed and byte, which
                                     are never converted */
    void *library;                /* the loader's own */
};

/*
 * Loads the representation `name` from the library at an absolute path. vs_spec_parse calls it once
 * for each pair of name and library in the spec; both strings are borrowed for the call. Returns 0
 * and the representation. On failure returns a negative errno and writes one line with the reason
 * to `why`, which has why_size bytes; the spec is then refused with this reason.
 */
typedef int vs_datarep_load(void *argument, const char *name, const char *library,
                            struct vs_user_datarep **datarep, char *why, size_t why_size);

/* Values that replace parts of a spec's text. Strings are borrowed for the call only. */
struct vs_overrides {
    const char *file;           /* -f FILE, taken as it is; NULL: the text's */
    int64_t ranks;              /* -n RANKS, 1 .. 2^31-1; 0: the text's */
    const char *const *defines; /* -D NAME=VALUE, each as "NAME=VALUE" */
    size_t define_count;
    bool by_file;                /* order slices as the file is: ignore "buftype" and "memory" */
    bool file_optional;          /* accept a text without "file": vs_spec_file returns NULL then */
    const char *datarep;         /* data representation of all views; NULL: the text's */
    const char *datarep_library; /* its library if it is user-defined; else NULL */
    vs_datarep_load *load_datarep; /* NULL: user-defined representations are refused */
    /* Frees a loaded representation after the spec and the last of its views were freed, in the
       thread that releases the last reference. NULL: nothing to free. */
    void (*unload_datarep)(struct vs_user_datarep *datarep);
    void *datarep_argument; /* of load_datarep; used during vs_spec_parse only */
    /* For a view in shorthand: assembles the file from members (viewspec(5)). `members` is the
       pattern of their names; NULL: no members. `pieces` is a shorthand for the place of their
       data; NULL: the view. With pieces, the view may be "": one rank sees all bytes. */
    const char *members;
    const char *pieces;
    /* Replaces "missing" in "members": "error", "zero" or a number; NULL: keep the text's. Ignored
       without members. */
    const char *missing;
    bool from_options; /* for values that are not in the text, errors name the commands' options
                          (--view, -n, -D, ...), not the fields of this struct */
};

/* The length of the longest text that is accepted, in bytes. */
#define VS_SPEC_MAX_BYTES (64 << 20)

/*
 * Parses, checks and resolves the spec in length bytes of text. source is the name that errors
 * carry. folder is an absolute path, against which a relative "file" or "library" is resolved.
 * overrides may be NULL. Every view is checked as rank 0 has it; vs_spec_view checks again what
 * depends on the rank. The caller owns the new spec and frees it by vs_spec_free. Errors: -EINVAL
 * for a wrong spec, -ENOMEM. Thread-safe.
 */
int vs_spec_parse(const char *text, size_t length, const char *source, const char *folder,
                  const struct vs_overrides *overrides, struct vs_spec **spec,
                  struct vs_error *error);

/*
 * Parses a view in shorthand (shorthand.h) as vs_spec_parse parses JSON. overrides->defines define
 * its names. The spec is made from the JSON that the shorthand is translated to; but lines and
 * columns of errors, also of vs_spec_view, refer to the shorthand.
 */
int vs_spec_parse_shorthand(const char *text, const char *source, const char *folder,
                            const struct vs_overrides *overrides, struct vs_spec **spec,
                            struct vs_error *error);

/* Frees a spec. Views compiled from it stay valid. NULL is allowed. No thread may use it then. */
void vs_spec_free(struct vs_spec *spec);

/*
 * Returns the text that was parsed, *length bytes, and sets *shorthand if it is a view in
 * shorthand. Borrowed: valid as long as the spec.
 */
const char *vs_spec_text(const struct vs_spec *spec, size_t *length, bool *shorthand);

/*
 * Returns the path of the shared file; a relative one is prefixed by the folder. For an assembled
 * file it returns a short form of the members' names, which is for messages and cannot be opened.
 * NULL if overrides->file_optional is set and there is none. Borrowed: valid as long as the spec.
 */
const char *vs_spec_file(const struct vs_spec *spec);

/* Returns the number of ranks, 1 .. 2^31-1. */
int64_t vs_spec_ranks(const struct vs_spec *spec);

/* Returns the spec's "atomic": whether a mount begins in MPI's atomic mode (MPI 3.1, 13.6.1). */
bool vs_spec_atomic(const struct vs_spec *spec);

/* Returns the number of views, at least 1. Views are numbered from 0 in the order of the text. */
size_t vs_spec_view_count(const struct vs_spec *spec);

/* Returns the name of view number index, borrowed; NULL if the spec has the single "view". */
const char *vs_spec_view_name(const struct vs_spec *spec, size_t index);

/* Returns the number of the view of that name, or -1. */
long vs_spec_find_view(const struct vs_spec *spec, const char *name);

/* Returns true for a name that "name" and "dims" may have (viewspec(5)). Thread-safe. */
bool vs_is_label(const char *name);

/* Gets hint number index, borrowed: valid as long as the spec. False if there is none. */
bool vs_spec_hint(const struct vs_spec *spec, size_t index, const char **key, const char **value);

/* A part of a file's header, which determines where in the file its variables lie. */
struct vs_header {
    const char *file; /* absolute path, borrowed; NULL: the shared file */
    int64_t at, size; /* bytes */
    uint32_t crc32;   /* checksum of these bytes when the spec was made */
};

/* Gets part number index of "header", valid as long as the spec. False if there is none. */
bool vs_spec_header(const struct vs_spec *spec, size_t index, struct vs_header *header);

/*
 * Returns the resolved spec as JSON text that can be parsed again: overrides applied, "let"
 * evaluated unless it depends on the rank, libraries of data representations with absolute paths.
 * "file" is vs_spec_file; it is left out if that is NULL or with_file is false, and so are names of
 * members. The caller frees the string by free(). NULL: out of memory.
 */
char *vs_spec_resolved(const struct vs_spec *spec, bool with_file);

/* Returns true if the view is the same for every rank. */
bool vs_spec_view_is_common(const struct vs_spec *spec, size_t index);

/* The compiled view of one rank. */
struct vs_view;

/*
 * Compiles view number index for one rank (0 <= rank < ranks) and checks it by the rules of
 * MPI 3.1, 13.3. The view is immutable and reference-counted; the caller owns the new reference.
 * A filetype that overlaps itself is accepted here (facts->disjoint is false), but the view cannot
 * be used for writing. Errors: -EINVAL with place and reason, also if there is no such view or
 * rank; -ENOMEM. Thread-safe.
 */
int vs_spec_view(const struct vs_spec *spec, size_t index, int64_t rank, struct vs_view **view,
                 struct vs_error *error);

/* Takes a reference to view, and returns view. Thread-safe. */
struct vs_view *vs_view_ref(struct vs_view *view);

/* Releases a reference, and frees the view if it was the last. NULL is allowed. Thread-safe. */
void vs_view_unref(struct vs_view *view);

enum vs_datarep {
    VS_NATIVE,
    VS_EXTERNAL32, /* "internal" is the same */
    VS_BIG_ENDIAN,
    VS_LITTLE_ENDIAN,
    VS_USER, /* facts->user */
};

/* An array that is distributed over the ranks. In the file it fills a tile: extents are equal. */
struct vs_array {
    int64_t dimensions;   /* at least 1; may be 0 if it comes from "shape" */
    const int64_t *sizes; /* elements in each dimension, as in the spec */
    const int64_t *owned; /* the rank's part in each dimension: the shape of a tile of its slice */
    bool fortran;         /* the first dimension varies fastest, not the last */
    int64_t element;      /* bytes from one element to the next in the file: 1 or more etypes */
    int64_t etypes;       /* etypes of data in an element */
};

/*
 * Properties of a view, in addition to the facts of its map. Sizes are in bytes. Text is borrowed
 * from the view.
 */
struct vs_view_facts {
    enum vs_datarep datarep;
    const char *datarep_name; /* as in the spec */
    int64_t etype_size;       /* native size of an etype's data: slices hold whole etypes */
    int64_t etype_file_size;  /* the same in the file's representation */
    int64_t etype_extent;     /* in the file (MPI_File_get_type_extent) */
    bool identical;           /* file and native bytes are the same: no conversion is needed */
    const struct vs_user_datarep *user; /* the representation if VS_USER, borrowed; else NULL */
    const struct vs_basic *basic;       /* the type of all elements (element.h); NULL: several */
    const struct vs_array *array; /* the array if the filetype is a subarray or darray, borrowed
                                     from the view; else NULL */
    /*
     * The array that a tile of the slice forms, with the shape `owned`. Equal to `array` if the
     * slice has the file's order; NULL: none.
     */
    const struct vs_array *memory;
    int64_t work; /* cost of compiling the view or walking its types: the number of values and types
                     of the spec in it, each some tens of nanoseconds */
};

/* Return the facts and the map of view, borrowed: valid as long as view. Local, thread-safe. */
const struct vs_view_facts *vs_view_facts(const struct vs_view *view);
const struct vs_map *vs_view_map(const struct vs_view *view);

/* Returns true if "buftype" or "memory" gives the slice another order than the file. Local,
   thread-safe. */
bool vs_view_has_order(const struct vs_view *view);

/*
 * Returns the gaps of the slice, which the view's buftype leaves, as a map from packed offsets to
 * slice offsets. Packed offsets count the bytes of the slice without gaps. The map is monotonic.
 * NULL: the slice has no gaps, and packed offsets equal slice offsets. Borrowed: valid as long as
 * view. Local, thread-safe.
 */
const struct vs_map *vs_view_gaps(const struct vs_view *view);

/*
 * vs_view_offset returns the slice offset of a packed offset below the end of the last tile.
 * vs_view_packed returns the packed offset of the first byte at or after a slice offset.
 * vs_view_end returns the length of a slice that holds the first `packed` bytes without gaps: up to
 * the last of them, or to the end of the tile that they complete. All in bytes. Local, thread-safe.
 */
int64_t vs_view_offset(const struct vs_view *view, int64_t packed);
int64_t vs_view_packed(const struct vs_view *view, int64_t offset);
int64_t vs_view_end(const struct vs_view *view, int64_t packed);

/*
 * Return the etype and the filetype as the spec writes them: a name, or JSON text. The caller frees
 * the string by free(). NULL: out of memory. Local, thread-safe.
 */
char *vs_view_etype_text(const struct vs_view *view);
char *vs_view_filetype_text(const struct vs_view *view);

/*
 * Returns the order in memory as text: the buftype, "C order", "Fortran order", or "" if the spec
 * has none. The caller frees the string by free(). NULL: out of memory. Local, thread-safe.
 */
char *vs_view_order_text(const struct vs_view *view);

/*
 * Returns how many positions the view has in a file of file_size bytes: all whole etypes before the
 * first one that is not entirely inside the file. The result counts bytes of the file's
 * representation and is a multiple of etype_file_size. O(depth). Local, thread-safe.
 */
int64_t vs_view_positions(const struct vs_view *view, int64_t file_size);

/*
 * Returns the same amount of data in native bytes, without gaps (vs_view_gaps). -EFBIG if it
 * exceeds 2^63-1. Local, thread-safe.
 */
int64_t vs_view_packed_size(const struct vs_view *view, int64_t file_size);

/*
 * Returns the length of the slice in bytes, with gaps, in a file of file_size bytes. -EFBIG if it
 * exceeds 2^63-1. Local, thread-safe.
 */
int64_t vs_view_slice_size(const struct vs_view *view, int64_t file_size);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
