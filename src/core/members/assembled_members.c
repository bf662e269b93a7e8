/* SPDX-License-Identifier: MIT */
#include "assembled.h"

#include <stdlib.h>
#include <unistd.h>

#include "assembled_private.h"
#include "core/base/fd_link.h"
#include "core/file/acl.h"
#include "viewspec/base/integer.h"
#include "viewspec/base/search.h"

/* Functions of an assembled file that concern single members. */

/* Finding the member that has a byte. */

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

/* Shortens place to the bytes before the next byte of a member that takes precedence. */
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

/* Holding all members open. */

/* The number of bytes whose read from the page cache takes as long as the system call itself. */
#define WORTH_CALL (2 << 10)

/* Returns the smallest read of the whole whose part of the member is worth a system call. */
static int64_t grain_of(const struct mpiio_member *member, int64_t bytes)
{
    const struct vs_map *map = vs_view_map(member->view);
    const struct vs_map_facts *facts = vs_map_facts(map);

    if (mpiio_assembled_is_run(map, 0, bytes < WORTH_CALL ? bytes : WORTH_CALL) ||
        facts->tile_size / facts->tile_runs >= WORTH_CALL)
        return 0;
    return vs_mul_capped(facts->tile_extent / facts->tile_size, WORTH_CALL);
}

int mpiio_assembled_hold(struct mpiio_file *file, int64_t *grain)
{
    struct mpiio_assembled *self = (struct mpiio_assembled *)file;

    *grain = 0;
    for (int64_t i = 0; i < vs_members_count(self->table.members); i++) {
        struct mpiio_member *member;
        int error;

        if (vs_assembly_bytes(self->places, (size_t)i) == 0)
            continue;
        error = mpiio_member_acquire(&self->table, (size_t)i, &member);
        if (error != 0)
            return error;
        *grain = vs_max(*grain, grain_of(member, vs_assembly_bytes(self->places, (size_t)i)));
    }
    return 0;
}

/* Rights. */

/*
 * Other users than a member's owner may or may not be in its group, so only rights of both classes
 * count. Other users than the first member's owner may own another member.
 */
void mpiio_members_restrict(struct stat *st, const struct stat *member)
{
    mode_t owner = member->st_mode >> 6 & 7, group = member->st_mode >> 3 & 7;
    mode_t other = member->st_mode & 7, either = group & other;
    bool same_owner = member->st_uid == st->st_uid, same_group = member->st_gid == st->st_gid;
    mode_t of_owner = same_owner ? owner : either;
    mode_t of_group = (same_owner ? 7 : owner) & (same_group ? group : either);
    mode_t of_other = (same_owner ? 7 : owner) & (same_group ? other : either);

    st->st_mode &= ~(mode_t)0777 | of_owner << 6 | of_group << 3 | of_other;
}

/* Returns true if a member has a list beyond its mode. A member that was removed or replaced may
   have any list. */
static bool has_list(struct mpiio_assembled *self, size_t member)
{
    char link[MPIIO_FD_LINK_SIZE];
    int fd = mpiio_member_open_path(&self->table, member);
    bool has;

    if (fd < 0)
        return true;
    mpiio_fd_link(fd, link);
    has = mpiio_acl_is_beyond_mode(link);
    close(fd);
    return has;
}

int64_t mpiio_members_find_list(const struct mpiio_file *file)
{
    struct mpiio_assembled *self = (struct mpiio_assembled *)file;

    for (int64_t i = 0; i < vs_members_count(self->table.members); i++)
        if (vs_assembly_bytes(self->places, (size_t)i) > 0 && has_list(self, (size_t)i))
            return i;
    return -1;
}
