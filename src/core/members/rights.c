/* SPDX-License-Identifier: MIT */
#include "rights.h"

#include <stdlib.h>
#include <unistd.h>

#include "assembled_private.h"
#include "core/base/fd_link.h"
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

/* A member that is not there, or is another file by now, may have any list. */
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
