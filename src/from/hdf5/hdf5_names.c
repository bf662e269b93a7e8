/* SPDX-License-Identifier: MIT */
#define H5_USE_110_API
#include <hdf5.h>
#include <stdlib.h>
#include <string.h>

#include "hdf5_private.h"

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
