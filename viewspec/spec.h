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
 * A viewspec: the JSON text that describes how the ranks of an MPI program see a file
 * (viewspec(5)), and the views compiled from it (MPI 3.1, 13.3).
 *
 * Functions that can fail return 0 or a negative errno and fill error (which must not be NULL).
 * A spec is immutable once loaded; all functions on a loaded spec are local and thread-safe,
 * vs_spec_view included.
 */
struct vs_spec;

/* A user-defined data representation (MPI 3.1, 13.7.3), as its library has it. Immutable. */
struct vs_user_datarep {
    const char *name;             /* as in the spec */
    int64_t file_size[VS_BASICS]; /* bytes of each basic type in the file, by vs_basic_number; 0: it
                                     has no such type. packed and byte are never converted: theirs
                                     do not count */
    void *library;                /* the loader's own */
};

/*
 * Loads the representation `name` from the library at an absolute path. Called during
 * vs_spec_parse, once for each pair of name and library that the spec has; both are borrowed for
 * the call. Returns 0 and what it loaded, or a negative errno and in `why` (of why_size bytes) one
 * line that says what is wrong, for which the spec is then refused.
 */
typedef int vs_datarep_load(void *argument, const char *name, const char *library,
                            struct vs_user_datarep **datarep, char *why, size_t why_size);

/* What the user of a spec lays over its text. Strings are borrowed for the call only. */
struct vs_overrides {
    const char *file;           /* -f FILE, taken as it is; NULL: the text's */
    int64_t ranks;              /* -n RANKS, 1 .. 2^31-1; 0: the text's */
    const char *const *defines; /* -D NAME=VALUE, each as "NAME=VALUE" */
    size_t define_count;
    bool by_file;        /* slices in the file's order: "buftype" and "memory" are not looked at */
    bool file_optional;  /* a text without "file" will do: vs_spec_file is NULL then */
    const char *datarep; /* data representation of all views; NULL: the text's */
    const char *datarep_library;   /* its library, where it is the user's own; else NULL */
    vs_datarep_load *load_datarep; /* NULL: user-defined representations are refused */
    /* Frees what was loaded, when the spec and the last of its views are gone: in whatever thread
       gives up the last reference. NULL: nothing to free. */
    void (*unload_datarep)(struct vs_user_datarep *datarep);
    void *datarep_argument; /* of load_datarep; used during vs_spec_parse only */
    /* With a view in shorthand: the file is assembled from members, whose names this pattern gives
       (viewspec(5)), and whose data lies as pieces says, in shorthand too; NULL: as the view. Where
       there are pieces the view may be "": one rank sees all. NULL: there are no members. */
    const char *members;
    const char *pieces;
};

/* The longest text that is read. */
#define VS_SPEC_MAX_BYTES (64 << 20)

/*
 * Checks and resolves the spec in length bytes of text. source is the name that errors carry; a
 * relative "file" or "library" is taken from folder, an absolute path. overrides may be NULL. Every
 * view is checked here as rank 0 has it; what depends on the rank is checked again by vs_spec_view.
 * The new spec is the caller's: vs_spec_free.
 */
int vs_spec_parse(const char *text, size_t length, const char *source, const char *folder,
                  const struct vs_overrides *overrides, struct vs_spec **spec,
                  struct vs_error *error);

/*
 * The same for a view in shorthand (shorthand.h), for which overrides->defines define names. The
 * spec is that of the JSON it is translated to; lines and columns of errors, those of vs_spec_view
 * too, are places in the shorthand.
 */
int vs_spec_parse_shorthand(const char *text, const char *source, const char *folder,
                            const struct vs_overrides *overrides, struct vs_spec **spec,
                            struct vs_error *error);

/* Frees a spec; views compiled from it stay valid. NULL is allowed. */
void vs_spec_free(struct vs_spec *spec);

/*
 * The text that was parsed, length bytes, and whether it is a view in shorthand. Borrowed: valid as
 * long as the spec.
 */
const char *vs_spec_text(const struct vs_spec *spec, size_t *length, bool *shorthand);

/*
 * The path of the shared file: the folder is put before a relative one. NULL where overrides made
 * it optional and there is none. Of an assembled file, the names of its members in short, for
 * messages: nothing that could be opened. Borrowed.
 */
const char *vs_spec_file(const struct vs_spec *spec);

/* Number of ranks, 1 .. 2^31-1. */
int64_t vs_spec_ranks(const struct vs_spec *spec);

/* The spec's "atomic". */
bool vs_spec_atomic(const struct vs_spec *spec);

/* Number of views, at least 1, in the order of the text. */
size_t vs_spec_view_count(const struct vs_spec *spec);

/* Name of view number index, borrowed; NULL where the spec has the single "view". */
const char *vs_spec_view_name(const struct vs_spec *spec, size_t index);

/* Number of the view of that name, or -1. */
long vs_spec_find_view(const struct vs_spec *spec, const char *name);

/* Hint number index of "hints" (borrowed, valid as long as the spec); false behind the last. */
bool vs_spec_hint(const struct vs_spec *spec, size_t index, const char **key, const char **value);

/* A part of a file's header, which says where in the file its variables lie. */
struct vs_header {
    const char *file; /* absolute path, borrowed; NULL: the shared file */
    int64_t at, size; /* bytes */
    uint32_t crc32;   /* of these bytes, when the spec was made */
};

/* Part number index of "header", valid as long as the spec; false behind the last. */
bool vs_spec_header(const struct vs_spec *spec, size_t index, struct vs_header *header);

/*
 * The spec as it was resolved, as JSON text that can be read again: overrides applied, "let"
 * evaluated where it does not depend on the rank, "file" as vs_spec_file (none where that is NULL,
 * or without with_file, nor names of members), libraries of data representations with absolute
 * paths. A new string, the caller's to free(); NULL without memory.
 */
char *vs_spec_resolved(const struct vs_spec *spec, bool with_file);

/* True where the view is the same for every rank. */
bool vs_spec_view_is_common(const struct vs_spec *spec, size_t index);

/* One rank's view, compiled. */
struct vs_view;

/*
 * Compiles view number index for one rank (0 <= rank < ranks) and checks it by the rules of
 * MPI 3.1, 13.3. The view is immutable and reference-counted; the new reference is the caller's.
 * A view with overlaps inside one filetype is legal here (facts->disjoint tells): only writing
 * through it is not. Errors: -EINVAL with place and reason, also where there is no such view or
 * rank; -ENOMEM.
 */
int vs_spec_view(const struct vs_spec *spec, size_t index, int64_t rank, struct vs_view **view,
                 struct vs_error *error);

struct vs_view *vs_view_ref(struct vs_view *view);
void vs_view_unref(struct vs_view *view); /* NULL is allowed */

enum vs_datarep {
    VS_NATIVE,
    VS_EXTERNAL32, /* "internal" is the same */
    VS_BIG_ENDIAN,
    VS_LITTLE_ENDIAN,
    VS_USER, /* facts->user */
};

/* An array that ranks have parts of. In the file it fills a tile: extents are the same. */
struct vs_array {
    int64_t dimensions;   /* at least 1; 0 or more where "shape" says so */
    const int64_t *sizes; /* elements in each dimension, as the spec has them */
    const int64_t *owned; /* of those, the rank's: the shape of a tile of its slice */
    bool fortran;         /* the first dimension varies fastest, not the last */
    int64_t element;      /* bytes from one element to the next in the file: 1 or more etypes */
    int64_t etypes;       /* data in an element */
};

/* Facts of a view beside its map's; sizes in bytes, text borrowed from the view. */
struct vs_view_facts {
    enum vs_datarep datarep;
    const char *datarep_name; /* as in the spec */
    int64_t etype_size;       /* native data in one etype: slices hold whole etypes */
    int64_t etype_file_size;  /* the same in the file's representation */
    int64_t etype_extent;     /* in the file (MPI_File_get_type_extent) */
    bool identical;           /* the file's bytes are the native ones: nothing to convert */
    const struct vs_user_datarep *user; /* of VS_USER, borrowed from the view; else NULL */
    const struct vs_basic *basic; /* of all elements (element.h); NULL: they are not of one type */
    const struct vs_array *array; /* that the filetype, a subarray or darray, is a part of; borrowed
                                     from the view. NULL: another filetype */
    const struct vs_array *memory; /* the array that a tile of the slice is, with the shape `owned`;
                                      NULL: none. The same where the slice has the file's order */
    int64_t work; /* values and types of the spec that it consists of: what compiling it, and a walk
                     over its types, takes; tens of nanoseconds each */
};

/* Both are borrowed from the view. Local, thread-safe. */
const struct vs_view_facts *vs_view_facts(const struct vs_view *view);
const struct vs_map *vs_view_map(const struct vs_view *view);

/* Whether the slice's order is not the file's: "buftype" or "memory" say so. */
bool vs_view_has_order(const struct vs_view *view);

/*
 * Where the slice has gaps, which the view's buftype leaves: a map from packed offsets, which count
 * the slice's bytes without gaps, to slice offsets. It ascends. NULL: the slice has none, and
 * packed offsets are slice offsets. Borrowed. Local, thread-safe.
 */
const struct vs_map *vs_view_gaps(const struct vs_view *view);

/*
 * The slice offset of a packed one below the end of the last tile; the packed offset of the first
 * byte at or behind a slice offset; and how long the slice is with
 * so many packed bytes, from the first one on: to the last of them, or to the end of a tile that
 * they fill. Local, thread-safe.
 */
int64_t vs_view_offset(const struct vs_view *view, int64_t packed);
int64_t vs_view_packed(const struct vs_view *view, int64_t offset);
int64_t vs_view_end(const struct vs_view *view, int64_t packed);

/*
 * The etype and the filetype as the spec writes them: a name, or JSON text. A new string, the
 * caller's to free(); NULL without memory. Local, thread-safe.
 */
char *vs_view_etype_text(const struct vs_view *view);
char *vs_view_filetype_text(const struct vs_view *view);

/* The same of the order in memory: the buftype, "C order" or "Fortran order"; "": none is said. */
char *vs_view_order_text(const struct vs_view *view);

/*
 * How many positions the view shows of a file of file_size bytes: all whole etypes up to the first
 * that does not lie inside the file. In bytes of the file's representation, a multiple of
 * etype_file_size. O(depth). Local, thread-safe.
 */
int64_t vs_view_positions(const struct vs_view *view, int64_t file_size);

/* The same in native bytes, packed (vs_view_gaps). -EFBIG where it would exceed 2^63-1. */
int64_t vs_view_packed_size(const struct vs_view *view, int64_t file_size);

/*
 * The same in native bytes, with gaps: the slice's length. -EFBIG (negative) where it would exceed
 * 2^63-1.
 */
int64_t vs_view_slice_size(const struct vs_view *view, int64_t file_size);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
