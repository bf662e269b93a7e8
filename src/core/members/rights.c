/* SPDX-License-Identifier: MIT */
#include "rights.h"

#include <stdlib.h>

#include "assembled_private.h"
#include "core/file/acl.h"

/*
 * One who is not the owner of a member may be in its group or not: then what both may do counts.
 * And one who is not the owner of the first member may be that of another one.
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

int64_t mpiio_members_find_list(const struct mpiio_file *file)
{
    const struct mpiio_assembled *self = file->self;
    const struct vs_members *members = self->table.members;

    for (int64_t i = 0; i < vs_members_count(members); i++) {
        char *path =
            vs_assembly_bytes(self->places, (size_t)i) > 0 ? vs_members_file(members, i) : NULL;
        bool has = path != NULL && mpiio_acl_is_beyond_mode(path);

        free(path);
        if (has)
            return i;
    }
    return -1;
}
