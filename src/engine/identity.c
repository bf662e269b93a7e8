/* SPDX-License-Identifier: MIT */
#include "identity.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "core/base/filesystem.h"

bool engine_identity_is_local(const char *path)
{
    return mpiio_filesystem_at(path)->one_machine;
}

static void read_boot(char *boot, size_t size)
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

    if (file == NULL)
        return;
    if (fgets(boot, (int)size, file) == NULL)
        *boot = '\0';
    fclose(file);
}

struct engine_identity engine_identify(struct engine_identifier *identifier, const char *path)
{
    struct engine_identity identity;
    struct statx st;

    memset(&identity, 0, sizeof(identity));
    if (statx(AT_FDCWD, path, AT_STATX_FORCE_SYNC, STATX_BASIC_STATS | STATX_BTIME, &st) != 0)
        return identity;
    identity.found = true;
    identity.device = S_ISBLK(st.stx_mode);
    identity.inode = st.stx_ino;
    identity.dev = makedev(st.stx_dev_major, st.stx_dev_minor);
    if (*identifier->boot == '\0')
        read_boot(identifier->boot, sizeof(identifier->boot));
    if (!identifier->looked || identifier->dev != identity.dev) {
        identifier->looked = true;
        identifier->dev = identity.dev;
        identifier->local = engine_identity_is_local(path);
    }
    memcpy(identity.boot, identifier->boot, sizeof(identity.boot));
    identity.local = identifier->local;
    identity.rdev = makedev(st.stx_rdev_major, st.stx_rdev_minor);
    identity.has_birth = (st.stx_mask & STATX_BTIME) != 0;
    identity.birth[0] = st.stx_btime.tv_sec;
    identity.birth[1] = st.stx_btime.tv_nsec;
    return identity;
}

enum engine_same engine_identity_compare(const struct engine_identity *a,
                                         const struct engine_identity *b)
{
    bool one_kernel = a->boot[0] != '\0' && strcmp(a->boot, b->boot) == 0;

    if (!a->found || !b->found)
        return ENGINE_SAME;
    /* No other machine's cache follows what this one writes to a device. */
    if (a->device || b->device)
        return one_kernel && a->device && b->device && a->rdev == b->rdev ? ENGINE_SAME
                                                                          : ENGINE_OTHER;
    if (a->inode != b->inode)
        return ENGINE_OTHER;
    if (a->local && b->local)
        return one_kernel && a->dev == b->dev ? ENGINE_SAME : ENGINE_OTHER;
    if (a->has_birth && b->has_birth && (a->birth[0] != b->birth[0] || a->birth[1] != b->birth[1]))
        return ENGINE_OTHER;
    return ENGINE_UNKNOWN;
}
