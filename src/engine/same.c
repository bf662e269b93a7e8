/* SPDX-License-Identifier: MIT */
#include "file.h"

#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "core/base/filesystem.h"

/* A node's knowledge of its file. */

void engine_read_boot(char boot[ENGINE_BOOT_SIZE])
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

    if (file == NULL || fgets(boot, ENGINE_BOOT_SIZE, file) == NULL)
        *boot = '\0';
    if (file != NULL)
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
        engine_read_boot(identifier->boot);
    if (!identifier->looked || identifier->dev != identity.dev) {
        identifier->looked = true;
        identifier->dev = identity.dev;
        identifier->local = mpiio_filesystem_at(path)->one_machine;
    }
    memcpy(identity.boot, identifier->boot, sizeof(identity.boot));
    identity.local = identifier->local;
    identity.rdev = makedev(st.stx_rdev_major, st.stx_rdev_minor);
    identity.has_birth = (st.stx_mask & STATX_BTIME) != 0;
    identity.birth[0] = st.stx_btime.tv_sec;
    identity.birth[1] = st.stx_btime.tv_nsec;
    return identity;
}

static enum engine_same compare_identities(const struct engine_identity *a,
                                           const struct engine_identity *b)
{
    bool one_kernel = a->boot[0] != '\0' && strcmp(a->boot, b->boot) == 0;

    if (!a->found || !b->found)
        return ENGINE_SAME;
    /* No other machine's page cache is coherent with writes to a block device. */
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

/* Verifying that all nodes have one file. */

/* Attempts to find a mark before it is considered missing, and ms between them. */
#define LOOKS 20
#define PAUSE 100

/* Bytes of a mark's name. */
#define MARK_SIZE 64

/* Collective: returns true if some node is uncertain, and none has another file. */
static bool any_unknown(struct engine_collective *group, enum engine_same same)
{
    int64_t most[2] = {same == ENGINE_UNKNOWN, same == ENGINE_OTHER};

    engine_collective_max(group, most, 2);
    return most[0] != 0 && most[1] == 0;
}

/* Returns a random number that cannot be guessed, or 0 on failure. */
static uint64_t draw_number(void)
{
    uint64_t number;

    return getrandom(&number, sizeof(number), 0) == (ssize_t)sizeof(number) ? number : 0;
}

static struct flock byte_at(uint64_t place)
{
    return (struct flock){
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)place, .l_len = 1};
}

/* Locks a byte far beyond any data, on node 0. Returns its position, or 0 on failure. */
static uint64_t set_lock(int fd)
{
    uint64_t place = draw_number() >> 3 | (uint64_t)1 << 60;
    struct flock byte = byte_at(place);

    return fcntl(fd, F_OFD_SETLK, &byte) == 0 ? place : 0;
}

static bool sees_lock(int fd, uint64_t place)
{
    struct flock byte = byte_at(place);

    /* Another program's lock on the whole file is no mark. */
    return fcntl(fd, F_OFD_GETLK, &byte) == 0 && byte.l_type != F_UNLCK &&
           byte.l_start == (off_t)place && byte.l_len == 1;
}

/* Collective. A lock that is not visible proves nothing. */
static enum engine_same try_lock(struct engine_collective *group, const char *path,
                                 enum engine_same same)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    uint64_t place = group->node == 0 ? set_lock(fd) : 0;

    engine_collective_share(group, &place, sizeof(place), 0);
    if (place != 0 && same == ENGINE_UNKNOWN && sees_lock(fd, place))
        same = ENGINE_SAME;
    engine_collective_join(group);
    if (fd >= 0)
        close(fd);
    return same;
}

/* Opens the real folder of the file, if it is on the same filesystem. Returns a descriptor or
   -1. */
static int open_folder(const char *path)
{
    char *real = realpath(path, NULL);
    struct stat file, folder;
    int fd = -1;

    if (real != NULL && stat(real, &file) == 0)
        fd = open(dirname(real), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(real);
    if (fd < 0 || (fstat(fd, &folder) == 0 && folder.st_dev == file.st_dev))
        return fd;
    close(fd);
    return -1;
}

/* Makes the mark on node 0. Sets name to its name, or "" on failure. */
static void make_mark(int folder, char name[MARK_SIZE])
{
    uint64_t number = draw_number();
    int fd = -1;

    snprintf(name, MARK_SIZE, ".mpiio-mark-%016llx", (unsigned long long)number);
    if (number != 0)
        fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    else
        *name = '\0';
}

static bool finds_mark(int folder, const char *name)
{
    const struct timespec pause = {.tv_nsec = PAUSE * 1000000};
    struct stat st;

    for (int i = 0; i < LOOKS; i++) {
        if (i > 0)
            nanosleep(&pause, NULL);
        if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            return true;
    }
    return false;
}

/*
 * Collective. No client has a negative cache entry for a name that is new. So if the mark is not
 * found, it does not exist there.
 */
static enum engine_same try_mark(struct engine_collective *group, const char *path,
                                 enum engine_same same)
{
    char name[MARK_SIZE] = "";
    int folder = open_folder(path);

    if (group->node == 0)
        make_mark(folder, name);
    engine_collective_share(group, name, sizeof(name), 0);
    if (*name != '\0' && same == ENGINE_UNKNOWN && folder >= 0)
        same = finds_mark(folder, name) ? ENGINE_SAME : ENGINE_OTHER;
    engine_collective_join(group);
    if (group->node == 0 && *name != '\0')
        unlinkat(folder, name, 0);
    if (folder >= 0)
        close(folder);
    return same;
}

enum engine_same engine_same_file(struct engine_collective *group, const char *path)
{
    struct engine_identifier identifier = {0};
    struct engine_identity mine = engine_identify(&identifier, path), first = mine;
    enum engine_same same;

    engine_collective_share(group, &first, sizeof(first), 0);
    same = group->node == 0 ? ENGINE_SAME : compare_identities(&first, &mine);
    if (any_unknown(group, same))
        same = try_lock(group, path, same);
    if (any_unknown(group, same))
        same = try_mark(group, path, same);
    return same;
}
