/* SPDX-License-Identifier: MIT */
#include "hdf5_private.h"

#include "viewspec/base/integer.h"

/* Selections of datasets. */

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
