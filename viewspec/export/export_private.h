/* SPDX-License-Identifier: MIT */
#ifndef VS_EXPORT_PRIVATE_H
#define VS_EXPORT_PRIVATE_H

#include "export.h"
#include "viewspec/base/place.h"

/* Private to viewspec/export/: makes the pieces of files. Functions return 0 or -ENOMEM. */

/* Adds text of length bytes, of which it takes the ownership, also on failure. NULL: -ENOMEM. */
int vs_export_text(struct vs_export *file, char *text, int64_t length);

/* Adds `length` zeros. */
int vs_export_zeros(struct vs_export *file, int64_t length);

/*
 * Adds values, and takes the ownership of their view, also on failure. Their last dimensions may be
 * without padding.
 */
int vs_export_values(struct vs_export *file, const struct vs_values *values, int64_t length);

/* Returns true if values of a field are big-endian when read: raw if vs_global_is_raw, else native.
 */
bool vs_export_big_endian(const struct vs_global *global, const struct vs_global_field *field);

/* Returns the coordinates of count elements along dimension d, from start on, or NULL. The caller
   frees them by free(). */
double *vs_export_coordinates(const struct vs_global *global, int64_t d, int64_t start,
                              int64_t count);

/* The most coordinates that a file has for a dimension. */
#define VS_COORDINATES_MAX ((int64_t)1 << 20)

/* Returns the name of a field in a file: its own, or the array's if it is the only field. */
static inline const char *vs_export_name(const struct vs_global *global, int64_t field)
{
    const struct vs_global_facts *facts = vs_global_facts(global);

    return facts->field[field].name[0] ? facts->field[field].name : facts->name;
}

/* The part of an array that a file shows. */
struct vs_shown {
    const struct vs_global *global;
    int64_t rank; /* -1: all ranks */
    struct vs_local local;
    int64_t cells;   /* elements in the part of a record */
    int64_t records; /* 1 if the array has none */
};

/*
 * Finds the part of a rank, or of all ranks. Fails if it has no shape. Returns 0 or a negative
 * errno with error filled.
 */
int vs_export_show(const struct vs_global *global, int64_t rank, int64_t file_size,
                   struct vs_shown *shown, struct vs_error *error);

/*
 * Adds the values of a field in the part, of length bytes: raw if vs_global_is_raw. `swap` is as in
 * struct vs_values. Returns 0 or a negative errno with error filled.
 */
int vs_export_field(const struct vs_shown *shown, int64_t field, int64_t swap, int64_t length,
                    struct vs_export *file, struct vs_error *error);

/* The longest type string of NumPy, with its zero byte. */
#define VS_NPY_TYPE 16

/* npy.c: writes NumPy's type string of values into text (VS_NPY_TYPE bytes), as in "<f8". */
void vs_npy_type(const struct vs_basic *basic, bool big_endian, char *text);

/* Records why a format cannot show an array. Returns -EINVAL, or the code of an earlier error. */
#define vs_export_fail(error, ...)                                                                 \
    vs_fail((error), (&(const struct vs_text){.source = ""}), NULL, false, __VA_ARGS__)

/*
 * local.c: sets *records to the number of complete records in a rank's part, or in the whole array
 * if rank is -1, in a file of that size. A part's differs from vs_global_records if the records
 * themselves are distributed: without dimensions. Returns 0 or a negative errno with error filled.
 */
int vs_global_local_records(const struct vs_global *global, int64_t rank, int64_t file_size,
                            int64_t *records, struct vs_error *error);

#endif
