/* SPDX-License-Identifier: MIT */
#include "hdf5_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "viewspec/base/integer.h"
#include "viewspec/base/list.h"
#include "viewspec/members/members.h"

/* The positions of a variable's values: boxes of one file, or of a whole of several. */

/* Boxes. */

/* Returns the size of a box in memory. */
static size_t width_of(const struct from_boxes *boxes)
{
    return (1 + 3 * (size_t)boxes->dimensions) * sizeof(*boxes->records);
}

int from_boxes_add(struct from_boxes *boxes, int64_t at, const int64_t *start,
                   const int64_t *length, const int64_t *shape)
{
    size_t bytes = (size_t)boxes->dimensions * sizeof(*start);
    int64_t *more = vs_list_grow(boxes->records, boxes->count, &boxes->room, width_of(boxes));

    if (more == NULL)
        return -ENOMEM;
    boxes->records = more;
    struct from_box box = from_box(boxes, boxes->count++);
    *box.at = at;
    memcpy(box.start, start, bytes);
    memcpy(box.length, length, bytes);
    memcpy(box.shape, shape, bytes);
    return 0;
}

static int compare_boxes(const void *a, const void *b)
{
    return vs_compare(*(const int64_t *)a, *(const int64_t *)b);
}

/* Returns the displacement after the last element of a box. */
static int64_t end_of(const struct from_box *box, int dimensions, int64_t size)
{
    int64_t end = *box->at + size, stride = size;

    for (int d = dimensions - 1; d >= 0; d--) {
        end += (box->length[d] - 1) * stride;
        stride *= box->shape[d];
    }
    return end;
}

void from_boxes_keep(struct from_boxes *boxes, struct from_variable *variable)
{
    qsort(boxes->records, boxes->count, width_of(boxes), compare_boxes);
    for (size_t i = 1; i < boxes->count && !variable->chunk[0]; i++) {
        struct from_box box = from_box(boxes, i - 1);
        if (end_of(&box, boxes->dimensions, variable->size) > *from_box(boxes, i).at) {
            from_refuse(variable, "its parts lie between each other, or are the same");
            return;
        }
    }
    variable->boxes = *boxes;
    *boxes = (struct from_boxes){0};
}

/* Selections of datasets, and the boxes that they pair. */

static int64_t comb_total(const struct from_comb *comb)
{
    return comb->count * comb->block;
}

/* Returns true if the indices are consecutive. */
static bool is_range(const struct from_comb *comb)
{
    return comb->count == 1 || comb->stride == comb->block;
}

static int64_t index_of(const struct from_comb *comb, int64_t at)
{
    return comb->start + at / comb->block * comb->stride + at % comb->block;
}

/* Returns the number of consecutive indices from the selected index number at on. */
static int64_t run_of(const struct from_comb *comb, int64_t at)
{
    return is_range(comb) ? comb_total(comb) - at : comb->block - at % comb->block;
}

/* Returns true if all indices lie in a dimension of that length. */
static bool comb_fits(const struct from_comb *comb, int64_t length)
{
    return comb->start >= 0 && comb->stride > 0 && comb->count > 0 && comb->block > 0 &&
           vs_add_capped(comb->start, vs_add_capped(vs_mul_capped(comb->count - 1, comb->stride),
                                                    comb->block)) <= length;
}

bool from_selection_read(hid_t space, const struct from_variable *variable,
                         struct from_selection *selection)
{
    hsize_t start[FROM_DIMENSIONS_MAX], stride[FROM_DIMENSIONS_MAX], count[FROM_DIMENSIONS_MAX],
        block[FROM_DIMENSIONS_MAX];
    H5S_sel_type kind = H5Sget_select_type(space);
    int n = variable->dimensions;

    selection->dimensions = n;
    if (kind == H5S_SEL_ALL) { /* the dataspace may have other dimensions */
        for (int d = 0; d < n; d++)
            selection->combs[d] = (struct from_comb){0, 1, 1, variable->shape[d]};
    } else if (kind == H5S_SEL_HYPERSLABS && H5Sget_simple_extent_ndims(space) == n &&
               H5Sis_regular_hyperslab(space) > 0 &&
               H5Sget_regular_hyperslab(space, start, stride, count, block) >= 0) {
        for (int d = 0; d < n; d++)
            selection->combs[d] = (struct from_comb){(int64_t)start[d], (int64_t)stride[d],
                                                     (int64_t)count[d], (int64_t)block[d]};
    } else {
        return false;
    }
    for (int d = 0; d < n; d++)
        if (!comb_fits(&selection->combs[d], variable->shape[d]))
            return false;
    return true;
}

/* Lists the dimensions with more than one selected index. Returns their number. */
static int list_dimensions(const struct from_selection *selection, int *list)
{
    int count = 0;

    for (int d = 0; d < selection->dimensions; d++)
        if (comb_total(&selection->combs[d]) > 1)
            list[count++] = d;
    return count;
}

static const struct from_comb *comb_of(const struct from_pairing *pairing, int k, bool in_from)
{
    return in_from ? &pairing->from.combs[pairing->from_dimension[k]]
                   : &pairing->to.combs[pairing->to_dimension[k]];
}

static void measure_box(struct from_pairing *pairing, int k)
{
    int64_t at = pairing->at[k];

    pairing->length[k] = pairing->is_split[k] ? 1
                                              : vs_min(run_of(comb_of(pairing, k, false), at),
                                                       run_of(comb_of(pairing, k, true), at));
}

/*
 * Splits dimensions, so that boxes have one index in each of them. If `from` selects a dimension
 * with gaps, all dimensions before it are split; otherwise boxes would interleave in the file. All
 * are split if the elements of the last one are not adjacent in the file.
 */
static void split_dimension(struct from_pairing *pairing, const int64_t *from_shape)
{
    int last = pairing->count - 1;

    for (int k = 0; k <= last; k++) {
        pairing->is_split[k] = false;
        if (!is_range(comb_of(pairing, k, true)))
            for (int before = 0; before < k; before++)
                pairing->is_split[before] = true;
    }
    for (int d = last < 0 ? 0 : pairing->from_dimension[last] + 1;
         last >= 0 && d < pairing->from.dimensions; d++)
        if (from_shape[d] > 1)
            for (int k = 0; k <= last; k++)
                pairing->is_split[k] = true;
}

bool from_pairing_start(struct from_pairing *pairing, const int64_t *from_shape)
{
    pairing->count = list_dimensions(&pairing->to, pairing->to_dimension);
    if (list_dimensions(&pairing->from, pairing->from_dimension) != pairing->count)
        return false;
    for (int k = 0; k < pairing->count; k++)
        if (comb_total(comb_of(pairing, k, false)) != comb_total(comb_of(pairing, k, true)))
            return false;
    split_dimension(pairing, from_shape);
    for (int k = 0; k < pairing->count; k++) {
        pairing->at[k] = 0;
        measure_box(pairing, k);
    }
    return true;
}

bool from_pairing_next(struct from_pairing *pairing)
{
    for (int k = pairing->count - 1; k >= 0; k--) {
        bool more = pairing->at[k] + pairing->length[k] < comb_total(comb_of(pairing, k, false));
        pairing->at[k] = more ? pairing->at[k] + pairing->length[k] : 0;
        measure_box(pairing, k);
        if (more)
            return true;
    }
    return false;
}

void from_pairing_box(const struct from_pairing *pairing, bool in_from, int64_t *start,
                      int64_t *length)
{
    const struct from_selection *selection = in_from ? &pairing->from : &pairing->to;

    for (int d = 0; d < selection->dimensions; d++) {
        start[d] = selection->combs[d].start;
        length[d] = 1;
    }
    for (int k = 0; k < pairing->count; k++) {
        int d = in_from ? pairing->from_dimension[k] : pairing->to_dimension[k];
        start[d] = index_of(&selection->combs[d], pairing->at[k]);
        length[d] = pairing->length[k];
    }
}

/* The whole of several files. */

/* Files and holes begin at multiples of this. */
#define ALIGNMENT 8

/* Half of the range, so that sums do not overflow. */
#define WHOLE_MAX (INT64_MAX / 2)

/* Extends the whole by that many bytes. Returns their displacement, or -EFBIG. */
static int64_t extend_whole(struct from_whole *whole, int64_t bytes)
{
    int64_t at = whole->end + (ALIGNMENT - whole->end % ALIGNMENT) % ALIGNMENT;

    if (bytes > WHOLE_MAX - at)
        return -EFBIG;
    whole->end = at + bytes;
    return at;
}

int64_t from_whole_add(struct from_whole *whole, const char *path)
{
    struct from_whole_file file;
    struct stat st;

    if (stat(path, &st) != 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -EINVAL;
    json_t *text = json_string(path);
    if (text == NULL) /* not UTF-8, which a spec requires */
        return -EILSEQ;
    json_decref(text);
    for (size_t i = 0; i < whole->count; i++)
        if (whole->files[i].device == st.st_dev && whole->files[i].inode == st.st_ino)
            return (int64_t)i;
    if (!VS_LIST_ROOM(whole->files, whole->count, whole->room))
        return -ENOMEM;
    file = (struct from_whole_file){NULL, st.st_dev, st.st_ino, extend_whole(whole, st.st_size),
                                    st.st_size};
    file.path = file.at < 0 ? NULL : strdup(path);
    if (file.path == NULL)
        return file.at < 0 ? file.at : -ENOMEM;
    whole->files[whole->count] = file;
    return (int64_t)whole->count++;
}

/* Appends count ranges of size bytes to "fill", the first at displacement at. Returns 0 or
   -ENOMEM. */
static int add_fill(struct from_whole *whole, int64_t at, int64_t size, int64_t count,
                    int64_t every, const unsigned char *value, size_t length)
{
    char text[2 * VS_FILL_BYTES + 1];
    json_t *fill;

    for (size_t i = 0; i < length; i++)
        sprintf(text + 2 * i, "%02x", value[i]);
    if (!whole->fills)
        whole->fills = json_array();
    fill =
        json_pack("{s:I, s:I, s:s}", "at", (json_int_t)at, "size", (json_int_t)size, "value", text);
    if (count > 1) {
        json_object_set_new(fill, "count", json_integer(count));
        json_object_set_new(fill, "every", json_integer(every));
    }
    return json_array_append_new(whole->fills, fill) ? -ENOMEM : 0;
}

int64_t from_whole_hole(struct from_whole *whole, int64_t bytes, const unsigned char *value,
                        size_t length)
{
    int64_t at = extend_whole(whole, bytes);
    int code = 0;

    if (at >= 0 && length <= VS_FILL_BYTES)
        code = add_fill(whole, at, bytes, 1, bytes, value, length);
    for (size_t i = 0; at >= 0 && length > VS_FILL_BYTES && i < length && !code;
         i += VS_FILL_BYTES) {
        size_t part = (size_t)vs_min(VS_FILL_BYTES, (int64_t)(length - i));
        code = add_fill(whole, at + (int64_t)i, (int64_t)part, bytes / (int64_t)length,
                        (int64_t)length, value + i, part);
    }
    return code ? code : at;
}

json_t *from_whole_members(const struct from_whole *whole)
{
    json_t *names = json_array(), *views = json_array(), *members;

    for (size_t i = 0; i < whole->count; i++) {
        const struct from_whole_file *file = &whole->files[i];
        json_array_append_new(names, json_string(file->path));
        json_array_append_new(views, json_pack("{s:I, s:o}", "disp", (json_int_t)file->at,
                                               "filetype", from_contiguous(file->size)));
    }
    members =
        json_pack("{s:o, s:{s:i, s:o}}", "files", names, "view", "tiles", 1, "per_rank", views);
    if (members && whole->fills)
        json_object_set(members, "fill", whole->fills);
    return members;
}

void from_whole_clear(struct from_whole *whole)
{
    for (size_t i = 0; i < whole->count; i++)
        free(whole->files[i].path);
    free(whole->files);
    json_decref(whole->fills);
}
