/* SPDX-License-Identifier: MIT */
#include "hdf5_private.h"

#include <stdlib.h>
#include <string.h>

/* The types of elements, and the names of dimensions. */

/* The maximum nesting depth of types. */
#define DEPTH_MAX 16

struct reader {
    struct from_variable *variable;
    char order;
};

static json_t *read_type(struct reader *r, hid_t type, int depth);

static bool meet_order(struct reader *r, hid_t type)
{
    H5T_order_t order = H5Tget_order(type);

    if (H5Tget_size(type) == 1)
        return true;
    if (order != H5T_ORDER_LE && order != H5T_ORDER_BE)
        from_refuse(r->variable, "a byte order that is not known");
    else if (from_order(&r->order, order == H5T_ORDER_LE ? '<' : '>'))
        return true;
    else
        from_refuse(r->variable, "values of both byte orders");
    return false;
}

static json_t *read_integer(struct reader *r, hid_t type)
{
    size_t size = H5Tget_size(type);

    if (H5Tget_precision(type) != 8 * size || H5Tget_offset(type) != 0)
        from_refuse(r->variable, "integers that do not fill their bytes");
    else if (meet_order(r, type))
        return from_number(H5Tget_sign(type) == H5T_SGN_2 ? 'i' : 'u', (int64_t)size);
    return NULL;
}

/* Returns true if its fields are as in IEEE 754's binary16. */
static bool is_half(hid_t type)
{
    size_t sign, exponent, exponent_size, mantissa, mantissa_size;

    return H5Tget_size(type) == 2 &&
           H5Tget_fields(type, &sign, &exponent, &exponent_size, &mantissa, &mantissa_size) >= 0 &&
           sign == 15 && exponent == 10 && exponent_size == 5 && mantissa == 0 &&
           mantissa_size == 10 && H5Tget_ebias(type) == 15;
}

static json_t *read_float(struct reader *r, hid_t type)
{
    bool ieee = H5Tequal(type, H5T_IEEE_F32LE) > 0 || H5Tequal(type, H5T_IEEE_F32BE) > 0 ||
                H5Tequal(type, H5T_IEEE_F64LE) > 0 || H5Tequal(type, H5T_IEEE_F64BE) > 0;

    if (!ieee && !is_half(type) && H5Tequal(type, H5T_NATIVE_LDOUBLE) <= 0)
        from_refuse(r->variable, "real numbers that are neither IEEE's nor this machine's");
    else if (meet_order(r, type))
        return from_number('f', (int64_t)H5Tget_size(type));
    return NULL;
}

static json_t *read_string(struct reader *r, hid_t type)
{
    if (H5Tis_variable_str(type) <= 0)
        return from_several(json_string("char"), (int64_t)H5Tget_size(type));
    from_refuse(r->variable, "strings of variable length");
    return NULL;
}

/* Reads an array, or an enumeration, which is a single value of its base type. */
static json_t *read_array(struct reader *r, hid_t type, int depth)
{
    hid_t super = H5Tget_super(type);
    size_t size = H5Tget_size(super);
    json_t *one = read_type(r, super, depth + 1);

    H5Tclose(super);
    return one && size ? from_several(one, (int64_t)(H5Tget_size(type) / size)) : NULL;
}

/* Returns true for h5py's complex numbers: structures of two reals, r and i. */
static bool is_complex(hid_t type)
{
    if (H5Tget_nmembers(type) != 2 || H5Tget_member_class(type, 0) != H5T_FLOAT)
        return false;
    hid_t first = H5Tget_member_type(type, 0), second = H5Tget_member_type(type, 1);
    char *names[] = {H5Tget_member_name(type, 0), H5Tget_member_name(type, 1)};
    size_t size = H5Tget_size(first);
    bool is_it = H5Tequal(first, second) > 0 && H5Tget_member_offset(type, 0) == 0 &&
                 H5Tget_member_offset(type, 1) == size && H5Tget_size(type) == 2 * size &&
                 size >= 4 && names[0] && names[1] && !strcmp(names[0], "r") &&
                 !strcmp(names[1], "i");

    H5free_memory(names[0]);
    H5free_memory(names[1]);
    H5Tclose(first);
    H5Tclose(second);
    return is_it;
}

static json_t *read_complex(struct reader *r, hid_t type)
{
    hid_t part = H5Tget_member_type(type, 0);
    json_t *real = read_float(r, part);

    H5Tclose(part);
    if (real == NULL)
        return NULL;
    json_decref(real);
    return from_number('c', (int64_t)H5Tget_size(type));
}

/* Returns the member of a structure with the lowest offset above displacement, or -1. */
static int member_behind(hid_t type, int members, int64_t displacement)
{
    int found = -1;

    for (int i = 0; i < members; i++) {
        int64_t at = (int64_t)H5Tget_member_offset(type, (unsigned)i);
        if (at > displacement &&
            (found < 0 || at < (int64_t)H5Tget_member_offset(type, (unsigned)found)))
            found = i;
    }
    return found;
}

static json_t *read_structure(struct reader *r, hid_t type, int depth)
{
    int members = H5Tget_nmembers(type), member;
    int64_t at = -1, bytes = 0;
    json_t *structure = from_struct();

    while ((member = member_behind(type, members, at)) >= 0 && !r->variable->reason) {
        hid_t one = H5Tget_member_type(type, (unsigned)member);
        at = (int64_t)H5Tget_member_offset(type, (unsigned)member);
        bytes += (int64_t)H5Tget_size(one);
        from_member(structure, at, read_type(r, one, depth + 1));
        H5Tclose(one);
    }
    if (bytes != (int64_t)H5Tget_size(type))
        r->variable->has_gaps = true;
    return from_spaced(structure, (int64_t)H5Tget_size(type));
}

static json_t *read_type(struct reader *r, hid_t type, int depth)
{
    H5T_class_t kind = H5Tget_class(type);

    if (depth > DEPTH_MAX)
        from_refuse(r->variable, "types nest too deep");
    else if (kind == H5T_INTEGER)
        return read_integer(r, type);
    else if (kind == H5T_FLOAT)
        return read_float(r, type);
    else if (kind == H5T_STRING)
        return read_string(r, type);
    else if (kind == H5T_ARRAY || kind == H5T_ENUM)
        return read_array(r, type, depth);
    else if (kind == H5T_COMPOUND)
        return is_complex(type) ? read_complex(r, type) : read_structure(r, type, depth);
    else
        from_refuse(r->variable, "%s",
                    kind == H5T_BITFIELD    ? "bit fields"
                    : kind == H5T_OPAQUE    ? "values without a type (opaque)"
                    : kind == H5T_REFERENCE ? "references"
                    : kind == H5T_VLEN      ? "values of variable length"
                    : kind == H5T_TIME      ? "values of HDF5's time type"
                                            : "values of a type that is not known");
    return NULL;
}

void from_hdf5_element(struct from_variable *variable, hid_t type)
{
    struct reader reader = {.variable = variable};

    variable->size = (int64_t)H5Tget_size(type);
    variable->etype = read_type(&reader, type, 0);
    variable->datarep = from_datarep(reader.order);
    if (!variable->etype)
        from_refuse(variable, "values of %lld bytes", (long long)variable->size);
}

/* The names of a dataset's dimensions, as the HDF5 Dimension Scales specification stores them. */

bool from_hdf5_says(hid_t set, const char *attribute, const char *text)
{
    char value[128] = "";
    bool says = false;

    if (H5Aexists(set, attribute) <= 0)
        return false;
    hid_t opened = H5Aopen(set, attribute, H5P_DEFAULT), type = H5Aget_type(opened);
    if (H5Tget_class(type) == H5T_STRING && !H5Tis_variable_str(type) &&
        H5Tget_size(type) < sizeof(value) && H5Aget_storage_size(opened) < sizeof(value))
        says = H5Aread(opened, type, value) >= 0 && !strncmp(value, text, strlen(text));
    H5Tclose(type);
    H5Aclose(opened);
    return says;
}

/*
 * Reads an attribute of a dataset that has a value for each dimension. Sets *type to a copy of its
 * type in memory, which free_attribute() closes. Returns the values, or NULL if there is none of
 * this class.
 */
static void *read_attribute(hid_t set, const char *name, H5T_class_t class, size_t size,
                            int dimensions, hid_t *type)
{
    void *values = NULL;

    if (H5Aexists(set, name) <= 0)
        return NULL;
    hid_t attribute = H5Aopen(set, name, H5P_DEFAULT), space = H5Aget_space(attribute);
    hid_t stored = H5Aget_type(attribute);
    *type = H5Tget_native_type(stored, H5T_DIR_DEFAULT);
    if (H5Sget_simple_extent_npoints(space) == dimensions && H5Tget_class(*type) == class &&
        H5Tget_size(*type) == size)
        values = calloc((size_t)dimensions, size);
    if (values && H5Aread(attribute, *type, values) < 0) {
        free(values);
        values = NULL;
    }
    if (values == NULL)
        H5Tclose(*type);
    H5Tclose(stored);
    H5Sclose(space);
    H5Aclose(attribute);
    return values;
}

/* Frees the values of read_attribute(), and the memory that they refer to. */
static void free_attribute(void *values, int dimensions, hid_t type)
{
    hsize_t count = (hsize_t)dimensions;
    hid_t space = H5Screate_simple(1, &count, NULL);

    H5Dvlen_reclaim(type, space, H5P_DEFAULT, values);
    H5Sclose(space);
    H5Tclose(type);
    free(values);
}

/* Returns the last component of an object's path, as a new string. */
static json_t *name_of(hid_t object)
{
    char path[4096] = "";
    ssize_t length = H5Iget_name(object, path, sizeof(path));
    const char *slash;

    if (length <= 0 || length >= (ssize_t)sizeof(path))
        return NULL;
    slash = strrchr(path, '/');
    return json_string(slash ? slash + 1 : path);
}

/* Takes the names of the scales that are attached to the dimensions. */
static void take_scales(hid_t set, int dimensions, json_t **names)
{
    hid_t type, base;
    hvl_t *lists =
        read_attribute(set, "DIMENSION_LIST", H5T_VLEN, sizeof(*lists), dimensions, &type);

    if (lists == NULL)
        return;
    base = H5Tget_super(type);
    for (int d = 0; d < dimensions && H5Tequal(base, H5T_STD_REF_OBJ) > 0; d++) {
        hid_t scale = -1;

        if (lists[d].len > 0)
            scale = H5Rdereference2(set, H5P_DEFAULT, H5R_OBJECT, lists[d].p);
        if (scale >= 0 && from_hdf5_says(scale, "CLASS", "DIMENSION_SCALE"))
            names[d] = name_of(scale);
        if (scale >= 0)
            H5Oclose(scale);
    }
    H5Tclose(base);
    free_attribute(lists, dimensions, type);
}

/* Takes the labels of dimensions that have no scale. */
static void take_labels(hid_t set, int dimensions, json_t **names)
{
    hid_t type;
    char **labels =
        read_attribute(set, "DIMENSION_LABELS", H5T_STRING, sizeof(*labels), dimensions, &type);

    if (labels == NULL)
        return;
    for (int d = 0; d < dimensions && H5Tis_variable_str(type) > 0; d++)
        if (names[d] == NULL && labels[d])
            names[d] = json_string(labels[d]);
    free_attribute(labels, dimensions, type);
}

void from_hdf5_names(hid_t set, struct from_variable *variable)
{
    json_t *names[FROM_DIMENSIONS_MAX] = {NULL}, *dims = json_array();
    bool all = variable->dimensions > 0;

    if (variable->dimensions == 1 && from_hdf5_says(set, "CLASS", "DIMENSION_SCALE"))
        names[0] = name_of(set);
    else
        take_scales(set, variable->dimensions, names);
    take_labels(set, variable->dimensions, names);
    for (int d = 0; d < variable->dimensions; d++)
        all = json_array_append_new(dims, names[d]) == 0 && all;
    if (all)
        variable->dims = dims;
    else
        json_decref(dims);
}
