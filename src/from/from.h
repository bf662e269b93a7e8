/* SPDX-License-Identifier: MIT */
#ifndef FROM_FROM_H
#define FROM_FROM_H

/*
 * What is in a file that describes itself: its variables, where they lie, and which of the file's
 * bytes say so. Formats fill these in; specs are made of them (spec.h). Local; not thread-safe.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "viewspec/error.h"

/* As many dimensions as NumPy and HDF5 have. */
#define FROM_DIMENSIONS_MAX 32

/* A part of a file that says where variables lie. */
struct from_part {
    int64_t at, bytes;
    char *path; /* of the file, owned; NULL: that of struct from_file */
};

/* Where the chunks of a variable lie, each as large as the others, those at the edges too. */
struct from_chunks {
    int64_t sizes[FROM_DIMENSIONS_MAX]; /* of a chunk, in elements */
    size_t count;                       /* 0: the variable has none */
    int64_t *at;                        /* count displacements, upwards; owned */
    int64_t *starts; /* for each, the index of its first element in each dimension; owned */
};

/* An array of elements of one type. */
struct from_variable {
    char *name;    /* as in the file, owned */
    json_t *etype; /* an element as viewspec(5) has it, owned; may be NULL where reason is not */
    const char *datarep; /* NULL: each value has one byte */
    bool has_gaps;       /* there are bytes in an element that belong to no value */
    int64_t size;        /* bytes from one element to the next, in the file */
    int dimensions;
    int64_t shape[FROM_DIMENSIONS_MAX];
    bool fortran;   /* the first index runs fastest */
    int64_t at;     /* displacement of the first element */
    int64_t stride; /* bytes from one index of the first dimension to the next; 0: without gaps */
    int64_t gap;    /* bytes at the end of an element that hold none of its values; the file may end
                       before those of the last element */
    struct from_chunks chunks; /* instead of at and stride */
    struct from_part part;     /* that says where this one lies, beside those of the file */
    char *reason;              /* why it cannot be a view, owned; NULL: it can */
};

/* Another name of a variable, or of a group of them. */
struct from_link {
    char *name, *target; /* paths of names without a / at their beginning; owned */
};

struct from_file {
    const char *format;  /* its name for people */
    char *path;          /* of the file that says so, as it was given; owned */
    char *data;          /* path of the file that has the values, owned; NULL: the same */
    const char *datarep; /* of values in variables of bytes; NULL: native */
    char *note;          /* for people, about the file: NULL: nothing; owned */
    json_t *members;     /* instead of data: "members" as viewspec(5) has it, owned */
    struct from_variable *variables;
    size_t count, room;
    struct from_link *links;
    size_t link_count, link_room;
    struct from_part *parts;
    size_t part_count, part_room;
};

/* The beginning of a file, which holds all of its header, or not yet. */
struct from_bytes {
    const unsigned char *bytes;
    size_t length; /* of bytes */
    int64_t size;  /* of the file */
    const char *path;
};

/* A file's bytes, wherever they are: read is as pread(2), all of them but where the file ends, and
   returns a negative errno. */
struct from_source {
    int64_t (*read)(void *self, void *buffer, size_t length, int64_t at);
    void *self;
    int64_t size;
};

/*
 * A format. parse adds what it finds to file: 0, -EAGAIN where it needs more of the file's
 * beginning, or a negative errno with error filled. scan, where there is one, is called instead,
 * for headers that lie between data. list, where there is one, is called instead, and reads the
 * file itself. find, where there is one, tells the path of the file that describes what goes by a
 * name which is no file's: a new string, or NULL.
 */
struct from_format {
    const char *name;
    bool (*is_it)(const struct from_bytes *head);
    int (*parse)(const struct from_bytes *head, struct from_file *file, struct vs_error *error);
    int (*scan)(const struct from_source *source, const char *path, struct from_file *file,
                struct vs_error *error);
    int (*list)(const char *path, struct from_file *file, struct vs_error *error);
    char *(*find)(const char *name);
};

void from_free(struct from_file *file); /* NULL is allowed */

/* Forgets what was found in it, to begin again. */
void from_clear(struct from_file *file);

/* For formats: a new variable of that name (length bytes, copied), or NULL without memory. */
struct from_variable *from_add(struct from_file *file, const char *name, size_t length);

/* For formats: one more part of the header. 0 or -ENOMEM. */
int from_add_part(struct from_file *file, int64_t at, int64_t bytes);

/* The same, a part of the file at path (copied). */
int from_add_part_of(struct from_file *file, const char *path, int64_t at, int64_t bytes);

/* For formats: adds another name (both are copied). Returns 0 or -ENOMEM. */
int from_add_link(struct from_file *file, const char *name, const char *target);

/* Returns the number of the variable of that name, or which links lead to; -1 if there is none. */
long from_find(const struct from_file *file, const char *name);

/* For formats: the variable cannot be a view; the first reason stays. */
void from_refuse(struct from_variable *variable, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* For formats: fills error, for the file at path. Returns code. */
int from_fail(struct vs_error *error, int code, const char *path, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Number of elements of a variable; -1: more than 2^63-1 bytes of them. */
int64_t from_elements(const struct from_variable *variable);

/* The byte behind the last value of a variable without chunks, or 0 if it has none; -1: more than
   2^63-1. */
int64_t from_end(const struct from_variable *variable);

#endif
