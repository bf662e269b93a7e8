/* SPDX-License-Identifier: MIT */
#include "assembled_find.h"

#include <stdlib.h>

#include "viewspec/base/search.h"
#include "assembled_private.h"

static void find_in_member(const struct mpiio_member *member, int64_t displacement,
                           struct mpiio_member_place *place)
{
    const struct vs_map *view = vs_view_map(member->view), *local = vs_view_map(member->local);
    int64_t position = vs_map_lower_bound(view, displacement);
    place->member = (int64_t)member->number;
    place->displacement = vs_map_displacement(local, position);
    place->length = VS_FIRST(length, 1, place->length,
                             !mpiio_assembled_is_run(view, position, length + 1) ||
                                 !mpiio_assembled_is_run(local, position, length + 1));
}

/* The bytes before the next one of a member that goes before this one. */
static int cut_overlap(struct mpiio_assembled *self, int64_t displacement,
                       struct mpiio_member_place *place)
{
    struct vs_assembly_part *parts;
    size_t count;
    int error =
        vs_assembly_parts(self->places, displacement, displacement + place->length, &parts, &count);

    for (size_t i = 0; i < count && error == 0; i++) {
        int64_t member = (int64_t)parts[i].member;
        int64_t begin = vs_assembly_place(self->places, parts[i].member, parts[i].position);

        if (self->overlap == VS_OVERLAP_FIRST ? member < place->member : member > place->member)
            place->length =
                begin - displacement < place->length ? begin - displacement : place->length;
    }
    free(parts);
    return error;
}

static int find_in_part(struct mpiio_assembled *self, const struct vs_assembly_part *part,
                        int64_t displacement, struct mpiio_member_place *place)
{
    struct mpiio_member *member;
    int error = mpiio_member_acquire(&self->table, part->member, &member);

    if (error != 0)
        return error;
    place->length = vs_assembly_bytes(self->places, part->member) - part->position;
    find_in_member(member, displacement, place);
    mpiio_member_release(&self->table, member);
    return self->overlap == VS_OVERLAP_ERROR ? 0 : cut_overlap(self, displacement, place);
}

int mpiio_assembled_find(struct mpiio_file *file, int64_t displacement,
                         struct mpiio_member_place *place)
{
    struct mpiio_assembled *self = (struct mpiio_assembled *)file;
    struct vs_assembly_part *parts;
    size_t count;
    int error = vs_assembly_parts(self->places, displacement, displacement + 1, &parts, &count);

    if (error != 0)
        return error;
    *place = (struct mpiio_member_place){.member = -1};
    if (count == 0)
        place->length = vs_assembly_seek(self->places, displacement, false) - displacement;
    else
        error = find_in_part(self, &parts[self->overlap == VS_OVERLAP_LAST ? count - 1 : 0],
                             displacement, place);
    free(parts);
    return error;
}
