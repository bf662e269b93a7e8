/* SPDX-License-Identifier: MIT */
#include "assembled_hold.h"

#include "assembled_private.h"
#include "viewspec/base/integer.h"

/* The bytes of a member that take as long to read from the page cache as the call itself takes. */
#define WORTH_CALL (2 << 10)

/* Returns the least read of the whole that asks the member for a part that is worth a call. */
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
