/* SPDX-License-Identifier: MIT */
#ifndef FROM_FROM_H
#define FROM_FROM_H

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "viewspec/error.h"

/*
 * The contents of a file that describes itself: its variables, their positions, and the parts of
 * the file that describe them. Formats fill these in, and spec.h makes specs of them. Local; not
 * thread-safe.
 */

/* The maximum number of dimensions, as in NumPy and HDF5. */
#define FROM_DIMENSIONS_MAX 32

/* A part of a file that describes the positions of variables. */
struct from_part {
    int64_t at, bytes;
    char *path; /* of the file, owned; NULL: path of struct from_file */
};

/* The boxes that an array consists of: chunks, or parts of any size. A zeroed struct has none. */
struct from_boxes {
    int dimensions;
    size_t count, room;
    int64_t *records; /* the integers of struct from_box for each; owned */
};

/* A box, which begins an array in the file: a chunk, even at the edges, or another array. */
struct from_box {
    int64_t *at;     /* the displacement of the first element */
    int64_t *start;  /* for each dimension: the index of the first element, */
    int64_t *length; /* the length of the box, */
    int64_t *shape;  /* and the length of the array in the file */
};

/* An array of elements of one type. */
struct from_variable {
    char *name;          /* as in the file, owned */
    json_t *dims;        /* names of its dimensions, owned; NULL: the file has none */
    json_t *etype;       /* an element in viewspec(5), owned; may be NULL if reason is set */
    const char *datarep; /* NULL: each value has one byte */
    bool has_gaps;       /* an element has bytes that belong to no value */
    int64_t size;        /* bytes from one element to the next, in the file */
    int dimensions;
    int64_t shape[FROM_DIMENSIONS_MAX];
    bool fortran;   /* the first index varies fastest */
    int64_t at;     /* displacement of the first element */
    int64_t stride; /* bytes from one index of the first dimension to the next; 0: without gaps */
    int64_t gap;    /* bytes at the end of an element without any of its values; the file may end
                       before the gap of the last element */
    int64_t chunk[FROM_DIMENSIONS_MAX]; /* the shape of the chunks; 0: no chunks */
    struct from_boxes boxes; /* instead of at and stride, by ascending displacements; none: there
                                are no chunks, or they were not looked up */
    bool is_assembled;       /* displacements are in struct from_file's assembly */
    struct from_part part;   /* describes this variable, in addition to the file's parts */
    char *reason;            /* why it cannot be a view, owned; NULL: it can */
};

/* Another name of a variable, or of a group of them. */
struct from_link {
    char *name, *target; /* paths without a leading /; owned */
};

/* The variables that the caller makes specs of. The positions of others may be omitted, unless they
   decide whether a view is possible. */
struct from_wanted {
    const char *const *names;
    size_t count;
    bool all; /* every variable, regardless of names */
};

/* The contents of a file. Functions that read it record the first error in it. */
struct from_file {
    struct vs_error *error; /* borrowed */
    struct from_wanted wanted;
    const char *format;  /* its name in messages */
    char *path;          /* of the file with the header, as the user typed it; owned */
    char *data;          /* path of the file that has the values, owned; NULL: the same */
    const char *datarep; /* of values in variables of bytes; NULL: native */
    char *note;          /* a message to the user about the file, owned; NULL: none */
    json_t *members;     /* instead of data: "members" of viewspec(5), owned */
    json_t *assembly;    /* "members" for specs of assembled variables, owned */
    struct from_variable *variables;
    size_t count, room;
    struct from_link *links;
    size_t link_count, link_room;
    struct from_part *parts;
    size_t part_count, part_room;
};

/* A source of a file's bytes. read works like pread(2), but returns a negative errno on error, and
   fewer bytes than requested only at the end of the file. */
struct from_source {
    int64_t (*read)(void *self, void *buffer, size_t length, int64_t at);
    void *self;
    int64_t size;
};

/* The beginning of a file. It may not hold all of the header yet. */
struct from_bytes {
    const unsigned char *bytes;
    size_t length; /* of bytes */
    int64_t size;  /* of the file */
    const char *path;
    const struct from_source *source; /* of the whole file, for headers that lie between data */
};

/*
 * A format. read adds the variables that it finds to file. It returns 0, -EAGAIN if it needs more
 * of the file's beginning, or a negative errno with the file's error filled. If a name is not that
 * of a file, the optional find returns the path of the file that describes it, a new string, or
 * NULL.
 */
struct from_format {
    const char *name;
    bool (*is_it)(const struct from_bytes *head);
    int (*read)(const struct from_bytes *head, struct from_file *file);
    char *(*find)(const char *name);
};

/* Opens a regular file for reading, and sets *size to its size in bytes. Returns the descriptor, or
   a negative errno: -EINVAL, without blocking, if the file is of another type. */
int from_open_regular(const char *path, int64_t *size);

/* Implements read of struct from_source. self points to a descriptor. */
int64_t from_read(void *self, void *buffer, size_t length, int64_t at);

/* Returns the path of the file with that name in the folder of path; name itself if it begins with
   a /. A new string, or NULL if memory is exhausted. */
char *from_beside(const char *path, const char *name);

/* Returns the unsigned number of up to 8 bytes in that byte order. */
uint64_t from_load(const unsigned char *bytes, int64_t size, bool big);

/* Returns a box of a list. Valid until another one is added. */
struct from_box from_box(const struct from_boxes *boxes, size_t number);

/* Frees the contents of a variable. */
void from_drop(struct from_variable *variable);

void from_free(struct from_file *file); /* NULL is allowed */

/* Removes everything that was found in the file, to start again. */
void from_clear(struct from_file *file);

/* The next five functions are for formats, and record an error in the file. */

/* Records that memory is exhausted. Returns the code of the file's error. */
int from_no_memory(const struct from_file *file);

/* Records that the file is wrong: printf's arguments follow the file. Returns the code of the
   file's error. A macro. */
#define from_wrong(file, ...) from_fail((file)->error, -EINVAL, (file)->path, __VA_ARGS__)

/* Adds a variable of that name (length bytes, copied). Returns NULL if memory is exhausted. */
struct from_variable *from_add(struct from_file *file, const char *name, size_t length);

/* Adds a part of the header: bytes of the file at path (copied); NULL: of the file itself. */
void from_add_part(struct from_file *file, const char *path, int64_t at, int64_t bytes);

/* Adds another name (both are copied). */
void from_add_link(struct from_file *file, const char *name, const char *target);

/* Returns the index of the variable with that name, following links; -1 if there is none. */
long from_find(const struct from_file *file, const char *name);

/* For formats: marks a variable that cannot be a view with the reason. Keeps an earlier reason. */
void from_refuse(struct from_variable *variable, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* For formats: fills error for the file at path. Returns code. */
int from_fail(struct vs_error *error, int code, const char *path, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* For formats: does the same with the text of code, a negative errno. */
int from_fail_code(struct vs_error *error, int code, const char *path);

/* Returns the number of elements of a variable; -1 if they have more than 2^63-1 bytes. */
int64_t from_elements(const struct from_variable *variable);

/* Returns the displacement after the last value of a variable without chunks, 0 if it has no
   values, or -1 if that is more than 2^63-1. */
int64_t from_end(const struct from_variable *variable);

/*
 * Types of elements in viewspec(5). Each function returns a new reference, or NULL if there is no
 * such type or memory is exhausted. Functions that take a type steal it; if it is NULL, they return
 * NULL.
 */

/* Returns the type of a number of that size by its kind in NumPy: i, u, f (IEEE binary16, 32, 64,
   or this machine's long double) or c, of two such reals; V: none. */
json_t *from_number(char kind, int64_t size);

/* Sets a variable's etype, size and data representation to such numbers. order is '<' or '>'. It is
   ignored, and may be 0, if size is 1. */
void from_set_number(struct from_variable *variable, char kind, int64_t size, char order);

/* Returns that many adjacent elements without a type: bytes, or etypes of a view. */
json_t *from_contiguous(int64_t count);

/* Returns an array of count adjacent elements. */
json_t *from_several(json_t *type, int64_t count);

/* Returns the same type with another extent in bytes. */
json_t *from_spaced(json_t *type, int64_t extent);

/* Returns a structure without members. */
json_t *from_struct(void);

/* Adds a member to a structure, at a higher displacement than all previous members. Returns 0 or
   -1. */
int from_member(json_t *structure, int64_t displacement, json_t *type);

/*
 * Combines byte orders: *order is the order of the values so far ('<', '>', or 0 for none), more
 * the order of another value. Returns false if they differ, which a view does not support.
 */
bool from_order(char *order, char more);

/* Returns the data representation of that byte order; NULL for none. */
const char *from_datarep(char order);

#endif
