/* SPDX-License-Identifier: MIT */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/fd_link.h"
#include "core/members/assembled.h"
#include "core/members/identity.h"
#include "viewspec/base/hash.h"

/* The engine's side of a file that is assembled from members. */

/* The most filesystems on which a member is verified. */
#define PLACES 16

/* The number of digests in a message. */
#define PORTION 65536

/* Opening. */

static int parse_members(int fd, struct vs_spec **spec, struct vs_error *why)
{
    size_t length;
    char *text = mpiio_channel_unpack(fd, &length);
    int error = -ENOMEM;

    if (text != NULL)
        error = vs_spec_parse(text, length, "members", "/", NULL, spec, why);
    free(text);
    return error;
}

int engine_members_open(const struct mpiio_message_hello *hello, struct engine_file *file,
                        char *text, size_t size)
{
    struct vs_error why = {0};
    int error = parse_members(hello->members, &file->members, &why);

    if (error == 0)
        error = mpiio_assemble(vs_spec_members(file->members), O_RDWR, (struct mpiio_fills){0},
                               &file->posix, &why);
    if (error != 0) {
        snprintf(text, size, "%s", *why.reason != '\0' ? why.reason : strerror(-error));
        return -1;
    }
    mpiio_file_set_coherence(file->posix, hello->coherence);
    if (mpiio_assembled_identity(file->posix) == hello->inode)
        return 0;
    snprintf(text, size, "%s: members have been replaced, or have become longer or shorter",
             hello->path);
    return -1;
}

/* The identity of members. */

/* A node's knowledge of a member. */
struct digest {
    uint64_t file;  /* hash of everything that must match; 0: no file needed */
    uint64_t birth; /* like file, and includes its creation time */
    int64_t held;
};

/* A node's knowledge of all members. It is sent as it is in memory. */
struct summary {
    uint64_t file, birth;
    bool has_birth;         /* each file on a shared filesystem has a creation time */
    bool failed;            /* memory is exhausted */
    int places;             /* filesystems that several machines may share, PLACES at most */
    int64_t member[PLACES]; /* one member on each of them */
};

static struct digest digest_of(const struct engine_identity *identity, int64_t held)
{
    uint64_t file = vs_hash_mix(vs_hash_mix(1, identity->inode), (uint64_t)held);

    /* On a filesystem of one machine, or without a file, device and kernel must match, too. */
    if (identity->local || !identity->found)
        file = vs_hash_text(vs_hash_mix(vs_hash_mix(file, identity->dev), identity->found),
                            identity->boot);
    return (struct digest){.file = file,
                           .birth = vs_hash_mix(vs_hash_mix(file, (uint64_t)identity->birth[0]),
                                                (uint64_t)identity->birth[1]),
                           .held = held};
}

/* Records a member of a filesystem that several machines may share. */
static void note_place(struct summary *summary, uint64_t devices[PLACES], uint64_t device,
                       int64_t member)
{
    for (int i = 0; i < summary->places; i++)
        if (devices[i] == device)
            return;
    if (summary->places < PLACES) {
        devices[summary->places] = device;
        summary->member[summary->places++] = member;
    }
}

/* Examines each member that holds data. */
static void look_at_members(const struct vs_members *members, const struct mpiio_file *file,
                            struct digest *digests, struct summary *summary)
{
    struct engine_identifier identifier = {0};
    uint64_t devices[PLACES];

    *summary = (struct summary){.has_birth = true, .failed = digests == NULL};
    for (int64_t i = 0; i < vs_members_count(members) && !summary->failed; i++) {
        int64_t held = mpiio_assembled_held(file, i);
        char *path = held > 0 ? vs_members_file(members, i) : NULL;
        struct engine_identity identity;

        summary->failed = held > 0 && path == NULL;
        if (path == NULL)
            continue;
        identity = engine_identify(&identifier, path);
        free(path);
        digests[i] = digest_of(&identity, held);
        summary->file = vs_hash_mix(summary->file, digests[i].file);
        summary->birth = vs_hash_mix(summary->birth, digests[i].birth);
        if (identity.local || !identity.found)
            continue;
        summary->has_birth = summary->has_birth && identity.has_birth;
        note_place(summary, devices, identity.dev, i);
    }
}

static bool is_other(const struct digest *a, const struct digest *b, bool births)
{
    return a->file != b->file || (births && a->birth != b->birth);
}

static void say_other(const struct vs_members *members, int64_t member, const char *what,
                      char *text, size_t size)
{
    char *path = vs_members_file(members, member);

    snprintf(text, size, "member %" PRId64 ", %s: %s", member, path != NULL ? path : "?", what);
    free(path);
}

/* Collective: if this node differs, stores the first member that differs in text. */
static void find_other(struct engine_collective *group, const struct vs_members *members,
                       const struct digest *mine, bool births, char *text, size_t size)
{
    int64_t count = vs_members_count(members), most = count < PORTION ? count : PORTION;
    struct digest *first = calloc((size_t)most, sizeof(*first));

    /* If memory is exhausted, this node can neither take part nor report that. */
    if (first == NULL)
        abort();
    for (int64_t start = 0; start < count; start += most) {
        size_t part = (size_t)(count - start < most ? count - start : most);

        if (group->node == 0)
            memcpy(first, mine + start, part * sizeof(*first));
        engine_collective_share(group, first, part * sizeof(*first), 0);
        for (size_t i = 0; i < part && *text == '\0'; i++)
            if (is_other(&first[i], &mine[start + (int64_t)i], births))
                say_other(members, start + (int64_t)i,
                          first[i].held != mine[start + (int64_t)i].held
                              ? "not the same amount of data here as on node 0"
                              : "not the same file here as on node 0",
                          text, size);
    }
    free(first);
}

/* Collective: returns true if any node has other members than node 0. text then names the first
   one on a node that differs. */
static bool members_differ(struct engine_collective *group, const struct vs_members *members,
                           const struct digest *digests, const struct summary *mine,
                           const struct summary *first, char *text, size_t size)
{
    int64_t most[2] = {mine->failed, !mine->has_birth};
    bool births;

    if (mine->failed)
        snprintf(text, size, "%s", strerror(ENOMEM));
    engine_collective_max(group, most, 2);
    if (most[0] != 0)
        return true;
    births = most[1] == 0;
    most[0] = mine->file != first->file || (births && mine->birth != first->birth);
    engine_collective_max(group, most, 1);
    if (most[0] != 0)
        find_other(group, members, digests, births, text, size);
    return most[0] != 0;
}

/* Collective: verifies one member of each shared filesystem, as a proof for all members there. */
static bool is_proved(struct engine_collective *group, const struct vs_members *members,
                      const struct mpiio_file *file, const struct summary *first, char *text,
                      size_t size)
{
    int64_t other = 0;

    for (int i = 0; i < first->places && other == 0; i++) {
        int fd = mpiio_assembled_open_path(file, first->member[i]);
        char link[MPIIO_FD_LINK_SIZE] = "";

        if (fd >= 0)
            mpiio_fd_link(fd, link);
        if (engine_same_file(group, link) == ENGINE_OTHER) {
            say_other(members, first->member[i], "not the same file here as on node 0", text, size);
            other = 1;
        }
        if (fd >= 0)
            close(fd);
        engine_collective_max(group, &other, 1);
    }
    return other == 0;
}

bool engine_members_same(struct engine_collective *group, const struct vs_members *members,
                         const struct mpiio_file *file, char *text, size_t size)
{
    struct digest *digests = calloc((size_t)vs_members_count(members), sizeof(*digests));
    struct summary mine, first;
    bool same;

    look_at_members(members, file, digests, &mine);
    first = mine;
    engine_collective_share(group, &first, sizeof(first), 0);
    same = !members_differ(group, members, digests, &mine, &first, text, size) &&
           is_proved(group, members, file, &first, text, size);
    free(digests);
    return same;
}
