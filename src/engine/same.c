/* SPDX-License-Identifier: MIT */
#include "same.h"

#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "identity.h"

/* Looks for a mark before it is taken to be missing, and ms between them. */
#define LOOKS 20
#define PAUSE 100

/* Collective: whether some node does not know, and none has another file. */
static bool any_unknown(struct engine_collective *group, enum engine_same same)
{
    int64_t most[2] = {same == ENGINE_UNKNOWN, same == ENGINE_OTHER};

    engine_collective_max(group, most, 2);
    return most[0] != 0 && most[1] == 0;
}

/* A number that nobody can guess; 0: there is none. */
static uint64_t draw(void)
{
    uint64_t number;

    return getrandom(&number, sizeof(number), 0) == (ssize_t)sizeof(number) ? number : 0;
}

static struct flock byte_at(uint64_t place)
{
    return (struct flock){
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)place, .l_len = 1};
}

/* Node 0: locks a byte far behind any data. Returns the descriptor, which holds the lock, or -1. */
static int set_lock(const char *path, uint64_t *place)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    struct flock byte;

    *place = draw() >> 3 | (uint64_t)1 << 60;
    byte = byte_at(*place);
    if (fd >= 0 && fcntl(fd, F_OFD_SETLK, &byte) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    *place = 0;
    return -1;
}

static bool sees_lock(const char *path, uint64_t place)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    struct flock byte = byte_at(place);
    bool seen;

    if (fd < 0)
        return false;
    /* Another program's lock on the whole file is no mark. */
    seen = fcntl(fd, F_OFD_GETLK, &byte) == 0 && byte.l_type != F_UNLCK &&
           byte.l_start == (off_t)place && byte.l_len == 1;
    close(fd);
    return seen;
}

/* Collective. A lock that is not seen proves nothing. */
static enum engine_same try_lock(struct engine_collective *group, const char *path,
                                 enum engine_same same)
{
    uint64_t place = 0;
    int fd = -1;

    if (group->node == 0)
        fd = set_lock(path, &place);
    engine_collective_share(group, &place, sizeof(place), 0);
    if (place != 0 && same == ENGINE_UNKNOWN && sees_lock(path, place))
        same = ENGINE_SAME;
    engine_collective_join(group);
    if (fd >= 0)
        close(fd);
    return same;
}

/* The folder that the file really is in, on its own filesystem: an open descriptor, or -1. */
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

static void name_mark(uint64_t number, char *name, size_t size)
{
    snprintf(name, size, ".mpiio-mark-%016llx", (unsigned long long)number);
}

/* Node 0: makes the mark. Returns its number, or 0. */
static uint64_t make_mark(int folder)
{
    uint64_t number = folder >= 0 ? draw() : 0;
    char name[64];
    int fd;

    if (number == 0)
        return 0;
    name_mark(number, name, sizeof(name));
    fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return 0;
    close(fd);
    return number;
}

static bool finds_mark(int folder, uint64_t number)
{
    const struct timespec pause = {.tv_nsec = PAUSE * 1000000};
    struct stat st;
    char name[64];

    name_mark(number, name, sizeof(name));
    for (int i = 0; i < LOOKS; i++) {
        if (i > 0)
            nanosleep(&pause, NULL);
        if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            return true;
    }
    return false;
}

/*
 * Collective. A name that nobody has looked for yet is in no cache: so a mark that is not found is
 * not there.
 */
static enum engine_same try_mark(struct engine_collective *group, const char *path,
                                 enum engine_same same)
{
    int folder = open_folder(path);
    uint64_t number = group->node == 0 ? make_mark(folder) : 0;
    char name[64];

    engine_collective_share(group, &number, sizeof(number), 0);
    if (number != 0 && same == ENGINE_UNKNOWN && folder >= 0)
        same = finds_mark(folder, number) ? ENGINE_SAME : ENGINE_OTHER;
    engine_collective_join(group);
    if (group->node == 0 && number != 0) {
        name_mark(number, name, sizeof(name));
        unlinkat(folder, name, 0);
    }
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
    same = group->node == 0 ? ENGINE_SAME : engine_identity_compare(&first, &mine);
    if (any_unknown(group, same))
        same = try_lock(group, path, same);
    if (any_unknown(group, same))
        same = try_mark(group, path, same);
    return same;
}
