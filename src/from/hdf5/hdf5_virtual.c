/* SPDX-License-Identifier: MIT */
#include "hdf5_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viewspec/base/integer.h"

/* Virtual datasets. */

/* The maximum number of boxes of a virtual dataset, and of boxes that no source covers. */
#define BOXES_MAX 16384

/* A source dataset. Its file stays open while successive mappings refer to the same source. */
struct source {
    char *name, *set_name; /* as in the mapping */
    char *path;
    struct from_hdf5_file file;
    bool is_missing;
    struct from_variable variable;
};

struct virtual_set {
    const struct from_hdf5_set *of;
    struct from_variable *variable;
    struct source source; /* the current one */
    struct from_boxes boxes, gaps;
    int64_t elements; /* mapped to sources */
};

static bool has_failed(const struct virtual_set *self)
{
    return self->variable->reason || self->of->file->error->code;
}

/* Sources. */

static void drop_source(struct source *source)
{
    if (source->path)
        from_hdf5_file_close(&source->file);
    free(source->name);
    free(source->set_name);
    free(source->path);
    from_drop(&source->variable);
    *source = (struct source){0};
}

/* Records that the source is missing. Its values read as the fill value, as with libhdf5. */
static void miss_source(struct virtual_set *self)
{
    struct from_file *file = self->of->file;

    self->source.is_missing = true;
    if (self->of->wanted && !file->note &&
        asprintf(&file->note, "%s: %s of %s is missing: its values read as the fill value",
                 self->variable->name, self->source.set_name, self->source.name) < 0)
        file->note = NULL;
}

/* Adds the source's object header, and its file's superblock, to the parts of the spec's header. */
static void add_parts(struct virtual_set *self)
{
    const struct from_part *part = &self->source.variable.part;
    struct from_file *file = self->of->file;
    const struct from_hdf5_file *in = &self->source.file;

    if (self->source.path)
        from_add_part(file, self->source.path, in->base, in->super);
    from_add_part(file, self->source.path, part->at, part->bytes);
}

/* Makes the values of a contiguous source a box, like those of other sources. */
static void take_source(struct virtual_set *self)
{
    static const int64_t start[FROM_DIMENSIONS_MAX];
    struct from_variable *source = &self->source.variable;

    source->boxes.dimensions = source->dimensions;
    if (!source->boxes.count &&
        from_boxes_add(&source->boxes, source->at, start, source->shape, source->shape))
        from_no_memory(self->of->file);
    if (self->of->wanted)
        add_parts(self);
}

/* Returns true if a contiguous dataset extends beyond its file, where other files begin in the
   whole. */
static bool is_cut(const struct from_variable *variable, const struct from_hdf5_file *in)
{
    int64_t end = from_end(variable);

    return !variable->chunk[0] && !variable->is_assembled &&
           (end < 0 || end > in->place + in->source->size);
}

/* Fills the source's variable. Refuses the virtual dataset if the source cannot be used. */
static void read_source(struct virtual_set *self, hid_t set, struct from_hdf5_file *in)
{
    struct source *source = &self->source;
    H5D_layout_t layout = H5D_LAYOUT_ERROR;
    hid_t mine = H5Dget_type(self->of->set), its = H5Dget_type(set);
    hid_t properties = H5Dget_create_plist(set);
    H5O_info_t info;

    if (H5Oget_info2(set, &info, H5O_INFO_BASIC) >= 0)
        layout = from_hdf5_read(&(struct from_hdf5_set){self->of->file, self->of->whole, in, set,
                                                        properties, true, &source->variable},
                                in->base + (int64_t)info.addr);
    if (source->variable.reason)
        from_refuse(self->variable, "%s of %s: %s", source->set_name, source->name,
                    source->variable.reason);
    else if (layout == H5D_VIRTUAL)
        from_refuse(self->variable, "%s of %s is virtual, too", source->set_name, source->name);
    else if (H5Tequal(mine, its) <= 0)
        from_refuse(self->variable, "%s of %s has another type", source->set_name, source->name);
    else if (is_cut(&source->variable, in))
        from_refuse(self->variable, "%s extends beyond the end of %s", source->set_name,
                    source->name);
    else
        take_source(self);
    H5Pclose(properties);
    H5Tclose(mine);
    H5Tclose(its);
}

/* Returns the source's file: the virtual dataset's own, or another one, which it opens. Returns
   NULL if the file is missing, and on error. */
static struct from_hdf5_file *open_file(struct virtual_set *self)
{
    struct source *source = &self->source;
    const struct from_whole_file *whole_file;

    if (!strcmp(source->name, "."))
        return self->of->in;
    source->path = from_hdf5_beside(self->of->in->path, source->name, true);
    if (source->path == NULL) {
        from_no_memory(self->of->file);
        return NULL;
    }
    int code = from_hdf5_file_open(&source->file, source->path, NULL);
    if (code == -ENOENT)
        miss_source(self);
    else if (code)
        from_refuse(self->variable, "%s: %s", source->path,
                    code == -EINVAL ? "libhdf5 cannot open it" : strerror(-code));
    else if ((whole_file = from_hdf5_place(self->of, source->path))) {
        source->file.place = whole_file->at;
        return &source->file;
    }
    return NULL;
}

/* Returns false if a link on the path does not exist. */
static bool is_there(hid_t root, const char *path)
{
    char *part = strdup(path);
    htri_t found = part ? 1 : -1;

    for (char *slash = part; slash && found > 0;) {
        slash = strchr(slash + 1, '/');
        if (slash)
            *slash = '\0';
        found = H5Lexists(root, part, H5P_DEFAULT);
        if (slash)
            *slash = '/';
    }
    free(part);
    return found != 0;
}

static void open_source(struct virtual_set *self)
{
    struct source *source = &self->source;
    struct from_hdf5_file *in = open_file(self);
    hid_t set;

    if (in == NULL)
        return;
    set = H5Dopen2(in->root, source->set_name, H5P_DEFAULT);
    if (set >= 0)
        read_source(self, set, in);
    else if (is_there(in->root, source->set_name))
        from_refuse(self->variable, "%s of %s cannot be opened", source->set_name, source->name);
    else
        miss_source(self);
    if (set >= 0)
        H5Dclose(set);
}

/* Reads the name of the file, or of the dataset, from a mapping. Returns NULL on error. */
static char *read_name(const struct virtual_set *self, size_t number,
                       ssize_t (*get)(hid_t, size_t, char *, size_t))
{
    ssize_t length = get(self->of->properties, number, NULL, 0);
    char *name = length < 0 ? NULL : calloc((size_t)length + 1, 1);

    if (name && get(self->of->properties, number, name, (size_t)length + 1) < 0) {
        free(name);
        name = NULL;
    }
    return name;
}

/* Makes the source of a mapping the current one. */
static void find_source(struct virtual_set *self, size_t number)
{
    struct source *source = &self->source;
    char *name = read_name(self, number, H5Pget_virtual_filename);
    char *set_name = read_name(self, number, H5Pget_virtual_dsetname);

    if (name && set_name && source->name && !strcmp(name, source->name) &&
        !strcmp(set_name, source->set_name)) {
        free(name);
        free(set_name);
        return;
    }
    drop_source(source);
    source->name = name;
    source->set_name = set_name;
    if (name == NULL || set_name == NULL)
        from_refuse(self->variable, "libhdf5 does not tell where its values are");
    else if (strchr(name, '%') || strchr(set_name, '%'))
        from_refuse(self->variable, "it is virtual, with numbered sources");
    else
        open_source(self);
}

/* Boxes. */

/* Removes a box from the gaps: a gap that meets it is replaced by the boxes around it. */
static void take_out(struct virtual_set *self, const int64_t *start, const int64_t *length)
{
    struct from_boxes rest = {.dimensions = self->gaps.dimensions};
    int failed = 0;
    size_t n = (size_t)rest.dimensions;

    for (size_t i = 0; i < self->gaps.count; i++) {
        struct from_box gap = from_box(&self->gaps, i);
        int64_t *from = gap.start, *count = gap.length;
        bool meets = true;
        for (size_t d = 0; d < n; d++)
            meets = meets && from[d] < start[d] + length[d] && start[d] < from[d] + count[d];
        for (size_t d = 0; d < n && meets; d++) {
            int64_t at = from[d], end = at + count[d], cut = vs_max(at, start[d]);
            int64_t cut_end = vs_min(end, start[d] + length[d]);
            count[d] = cut - at;
            if (cut > at)
                failed |= from_boxes_add(&rest, 0, from, count, count);
            from[d] = cut_end;
            count[d] = end - cut_end;
            if (end > cut_end)
                failed |= from_boxes_add(&rest, 0, from, count, count);
            from[d] = cut;
            count[d] = cut_end - cut;
        }
        if (!meets)
            failed |= from_boxes_add(&rest, 0, from, count, count);
    }
    free(self->gaps.records);
    self->gaps = rest;
    if (failed)
        from_no_memory(self->of->file);
}

/*
 * Adds the intersection of a box of the pairing and one of the source to the boxes of the virtual
 * dataset. Its shape gives the paired dimensions the strides of that part in the file. It is 1 in
 * all others.
 */
static void add_part(struct virtual_set *self, const struct from_pairing *pairing,
                     const struct from_box *part)
{
    int64_t start[FROM_DIMENSIONS_MAX], length[FROM_DIMENSIONS_MAX], shape[FROM_DIMENSIONS_MAX];
    int64_t from[FROM_DIMENSIONS_MAX], count[FROM_DIMENSIONS_MAX], at = *part->at, stride = 1;
    int64_t inner_stride = 1;
    int k = pairing->count - 1, inner = -1; /* the paired dimension visited last */

    from_pairing_box(pairing, false, start, length);
    from_pairing_box(pairing, true, from, count);
    for (int d = 0; d < self->variable->dimensions; d++)
        shape[d] = 1;
    for (int d = pairing->from.dimensions - 1; d >= 0; d--) {
        int64_t first = vs_max(from[d], part->start[d]);
        int64_t end = vs_min(from[d] + count[d], part->start[d] + part->length[d]);
        if (first >= end)
            return;
        at += (first - part->start[d]) * stride * self->variable->size;
        if (k >= 0 && pairing->from_dimension[k] == d) {
            int to = pairing->to_dimension[k--];
            start[to] += first - from[d];
            length[to] = end - first;
            if (length[to] > 1 && inner < 0 && stride > 1)
                from_refuse(self->variable, "it is virtual, and parts of it are columns");
            if (inner >= 0)
                shape[inner] = stride / inner_stride;
            shape[to] = part->shape[d];
            inner_stride = inner < 0 ? 1 : stride;
            inner = to;
        }
        stride *= part->shape[d];
    }
    if (from_boxes_add(&self->boxes, at, start, length, shape))
        from_no_memory(self->of->file);
}

/* Adds the values that the current source has for the virtual dataset, box by box. */
static void add_boxes(struct virtual_set *self, struct from_pairing *pairing)
{
    const struct from_variable *source = &self->source.variable;
    int64_t start[FROM_DIMENSIONS_MAX], length[FROM_DIMENSIONS_MAX];

    do {
        int64_t elements = 1;
        from_pairing_box(pairing, false, start, length);
        for (int d = 0; d < self->variable->dimensions; d++)
            elements *= length[d];
        self->elements += elements;
        take_out(self, start, length);
        for (size_t i = 0; i < source->boxes.count; i++) {
            struct from_box part = from_box(&source->boxes, i);
            add_part(self, pairing, &part);
        }
        if (self->boxes.count > BOXES_MAX || self->gaps.count > BOXES_MAX)
            from_refuse(self->variable, "it is virtual, of more than %d parts", BOXES_MAX);
    } while (!has_failed(self) && from_pairing_next(pairing));
}

static void map_part(struct virtual_set *self, size_t number)
{
    struct from_pairing pairing;
    hid_t to = H5Pget_virtual_vspace(self->of->properties, number);
    hid_t from = H5Pget_virtual_srcspace(self->of->properties, number);

    find_source(self, number);
    if (!has_failed(self) && !self->source.is_missing) {
        if (!from_selection_read(to, self->variable, &pairing.to) ||
            !from_selection_read(from, &self->source.variable, &pairing.from) ||
            !from_pairing_start(&pairing, self->source.variable.shape))
            from_refuse(self->variable, "it is virtual, by selections that are not alike boxes");
        else
            add_boxes(self, &pairing);
    }
    H5Sclose(to);
    H5Sclose(from);
}

/* Adds boxes for the gaps, which read as the fill value. Refuses mappings that overlap. */
static void fill_gaps(struct virtual_set *self)
{
    int64_t size = self->variable->size, elements = 0, at;

    for (size_t i = 0; i < self->gaps.count; i++) {
        struct from_box gap = from_box(&self->gaps, i);
        *gap.at = elements * size; /* displacement in the hole */
        int64_t product = 1;
        for (int d = 0; d < self->variable->dimensions; d++)
            product *= gap.length[d];
        elements += product;
    }
    if (self->elements + elements != from_elements(self->variable)) {
        from_refuse(self->variable, "it is virtual, and its parts overlap");
        return;
    }
    at = elements ? from_hdf5_hole(self->of, elements * size) : 0;
    for (size_t i = 0; i < self->gaps.count && at >= 0; i++) {
        struct from_box gap = from_box(&self->gaps, i);
        if (from_boxes_add(&self->boxes, at + *gap.at, gap.start, gap.length, gap.length))
            from_no_memory(self->of->file);
    }
}

static void map_all(struct virtual_set *self, size_t count)
{
    int64_t start[FROM_DIMENSIONS_MAX] = {0};

    if (from_elements(self->variable) > 0 &&
        from_boxes_add(&self->gaps, 0, start, self->variable->shape, self->variable->shape))
        from_no_memory(self->of->file);
    for (size_t i = 0; i < count && !has_failed(self); i++)
        map_part(self, i);
    if (!has_failed(self))
        fill_gaps(self);
    if (!has_failed(self))
        from_boxes_keep(&self->boxes, self->variable);
}

void from_hdf5_virtual(const struct from_hdf5_set *set)
{
    struct from_variable *variable = set->variable;
    struct virtual_set self = {.of = set,
                               .variable = variable,
                               .boxes.dimensions = variable->dimensions,
                               .gaps.dimensions = variable->dimensions};
    size_t count = 0;

    if (set->whole == NULL)
        from_refuse(variable, "it is virtual");
    else if (variable->dimensions == 0 || H5Pget_virtual_count(set->properties, &count) < 0)
        from_refuse(variable, "a damaged header");
    else if (from_elements(variable) > 0 || count > 0)
        map_all(&self, count);
    variable->is_assembled = true;
    drop_source(&self.source);
    free(self.boxes.records);
    free(self.gaps.records);
}
