/* SPDX-License-Identifier: MIT */
#include "pointers.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cluster/engine_channel.h"
#include "core/base/grant.h"
#include "core/store_layers.h"
#include "fusefs/session.h"
#include "viewspec/types/ranks.h"

static_assert(MPIIO_RECORD_IDENTITY == MPIIO_MOUNT_BYTES, "messages have room for the identity");

/* The suffix of the record's name. */
#define RECORD_END ".mpiio-pointers"

/* Returns true if all ranks have the same view. Keeps that view in session->common. */
static bool is_common(struct fs_session *session, size_t view)
{
    struct vs_error why = {0};

    return session->common[view] != NULL ||
           (vs_spec_view_alike(session->spec, view, VS_ALIKE_STEPS) &&
            vs_spec_view(session->spec, view, 0, &session->common[view], &why) == 0);
}

static bool fits(struct fs_session *session, size_t view)
{
    return view < MPIIO_POINTERS_MAX && is_common(session, view) &&
           vs_view_gaps(session->common[view]) == NULL &&
           vs_map_facts(vs_view_map(session->common[view]))->tile_size > 0;
}

/* Finds the end of a view's slice, in etypes. Returns 0 or a negative errno. */
static int find_end(const struct fs_session *session, size_t view, int64_t *end)
{
    const struct vs_view *common = session->common[view];
    struct stat st;
    int64_t size;
    int error = mpiio_store_stat(session->store, &st);

    if (error != 0)
        return error;
    size = vs_view_slice_size(common, st.st_size);
    if (size < 0)
        return (int)size;
    *end = size / vs_view_facts(common)->etype_size;
    return 0;
}

/* Decides which views have a "shared", and where their pointers begin. Returns true if any view has
   one. */
static bool choose(struct fs_session *session, int64_t *start, int *error)
{
    bool any = false;

    for (size_t view = 0; view < session->tree.views && *error == 0; view++) {
        session->pointers.shared[view] = fits(session, view);
        any = any || session->pointers.shared[view];
        if (session->pointers.shared[view] && session->options->append)
            *error = find_end(session, view, &start[view]);
    }
    return any;
}

static void wait_for_others(void *data, bool waits)
{
    struct fs_session *session = data;

    fs_workers_waits(&session->workers, waits);
}

static void tell_turn(void *data, size_t view, uint64_t turn, bool own)
{
    struct fs_session *session = data;

    if (session->ordered != NULL)
        mpiio_ordered_turn(session->ordered, view, turn, own);
}

/* Logs the place where the file may lack the last data of a dropped contribution. */
static void log_dropped(void *data, size_t view, uint64_t share, int node, bool exited,
                        int64_t position)
{
    struct fs_session *session = data;
    const struct vs_view *common = session->common[view];

    fs_log_line(&session->log, MPIIO_LOG_ERROR,
                "%s%sordered: node %d %s at the turn of rank %lld: what it took last, before byte "
                "%lld of a slice, may be missing",
                session->tree.folders ? vs_spec_view_name(session->spec, view) : "",
                session->tree.folders ? "/" : "", node, exited ? "has exited" : "was silent",
                (long long)(share % (uint64_t)session->tree.ranks),
                (long long)(position * vs_view_facts(common)->etype_size));
}

/*
 * Returns the path of the shared file, or of the first member that has bytes of it, as a new
 * string; or NULL with errno set. /proc/self/fd does not serve for that: a FUSE or NFS client may
 * drop the name of an open file from its cache, and the kernel then appends " (deleted)" to the
 * path.
 */
static char *find_path(const struct fs_session *session)
{
    const struct mpiio_file *file = mpiio_store_file(session->store);
    char *member, *path;

    if (!mpiio_store_has_members(session->store))
        return strdup(session->file);
    member = vs_members_file(vs_spec_members(session->spec), mpiio_assembled_first(file));
    path = member != NULL ? realpath(member, NULL) : NULL;
    free(member);
    return path;
}

/*
 * Sets the location of the record: the folder of the shared file, or of the mount option
 * "pointers". Opens the folder now, because the mount may hide it later. Returns 0 or a negative
 * errno.
 */
static int find_record(const struct fs_session *session, struct mpiio_record *record)
{
    const char *folder = session->options->pointers, *name;
    const struct mpiio_file *file = mpiio_store_file(session->store);
    char *path = find_path(session);

    if (path == NULL || fstat(file->lock_fd, &record->shared) != 0) {
        free(path);
        return -errno;
    }
    name = strrchr(path, '/') + 1;
    snprintf(record->name, sizeof(record->name), ".%.*s%s",
             (int)(sizeof(record->name) - sizeof(RECORD_END) - 1), name, RECORD_END);
    path[name - path] = '\0';
    record->folder = open(folder != NULL ? folder : path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    free(path);
    if (record->folder < 0)
        return -errno;
    record->coherence =
        folder != NULL ? mpiio_filesystem_of(record->folder)->coherence : file->coherence;
    return 0;
}

/* Disables "shared" and "ordered" on this node, and logs the reason. The mount continues. */
static void do_without(struct fs_session *session, int error)
{
    const char *reason = strerror(-error);

    if (error == -ENOSYS || error == -EOPNOTSUPP)
        reason = "the filesystem has no file locks (choose another folder with pointers=)";
    else if (error == -ENOENT)
        reason = "node 0 has not created it there (see its log, or choose a folder that all nodes "
                 "share, with pointers=)";
    else if (error == -ENOLCK)
        reason = "the filesystem keeps file locks within a node (mount it with locks that all "
                 "nodes see, or choose another folder with pointers=)";
    else if (error == -EBUSY)
        reason = "another mount uses it (choose a folder with pointers=)";
    else if (error == -EACCES || error == -EROFS)
        reason = "no permission to create it (choose a folder with pointers=)";
    fs_log_line(&session->log, MPIIO_LOG_WARNING, "no shared and ordered here: %s: %s",
                session->pointers.record.name, reason);
    session->tree.shared = NULL;
}

/* Creates the pointers. On a single node, keeps the positions in memory that programs can share, if
   the system provides it. */
static int make_pointers(struct fs_pointers *self, struct mpiio_pointers_options *options)
{
    if (options->nodes == 1)
        options->positions = mpiio_positions_new(options->count, &self->memory);
    return mpiio_pointers_new(options, &self->pointers);
}

int fs_pointers_init(struct fs_session *session)
{
    struct fs_pointers *self = &session->pointers;
    size_t views = session->tree.views;
    struct mpiio_pointers_options options = {
        .count = views < MPIIO_POINTERS_MAX ? views : MPIIO_POINTERS_MAX,
        .node = session->cluster.node,
        .nodes = session->cluster.nodes > 1 ? session->cluster.nodes : 1,
        .ranks = session->tree.ranks,
        .timeout = (int)session->options->peer_timeout,
        .wait = wait_for_others,
        .log = fs_session_log,
        .turn = tell_turn,
        .dropped = log_dropped,
        .data = session};
    int64_t *start;
    int error = 0;

    self->record.folder = self->memory = -1;
    if (session->mode == FS_MODE_UNIQUE)
        return 0;
    self->shared = calloc(views, sizeof(*self->shared));
    start = calloc(views, sizeof(*start));
    options.start = start;
    if (self->shared == NULL || start == NULL)
        error = -ENOMEM;
    else if (choose(session, start, &error) && error == 0)
        error = make_pointers(self, &options);
    free(start);
    if (error == 0 && self->pointers != NULL && options.nodes > 1)
        error = find_record(session, &self->record);
    if (error == 0 && self->pointers != NULL)
        session->tree.shared = self->shared;
    return error;
}

void fs_pointers_offer(struct fs_session *session, uint8_t mount[MPIIO_RECORD_IDENTITY])
{
    struct fs_pointers *self = &session->pointers;
    int error = 0;

    memset(mount, 0, MPIIO_RECORD_IDENTITY);
    if (session->tree.shared == NULL || session->cluster.node != 0)
        return;
    if (getrandom(self->record.identity, MPIIO_RECORD_IDENTITY, 0) != MPIIO_RECORD_IDENTITY)
        error = -errno;
    if (error == 0)
        error = mpiio_pointers_meet(self->pointers, &self->record);
    if (error == 0)
        memcpy(mount, self->record.identity, MPIIO_RECORD_IDENTITY);
    else
        do_without(session, error);
}

void fs_pointers_meet(struct fs_session *session, const uint8_t mount[MPIIO_RECORD_IDENTITY])
{
    struct fs_pointers *self = &session->pointers;
    static const uint8_t none[MPIIO_RECORD_IDENTITY];
    int error = -ENOENT;

    if (session->tree.shared == NULL || session->cluster.node == 0)
        return;
    memcpy(self->record.identity, mount, MPIIO_RECORD_IDENTITY);
    if (memcmp(mount, none, sizeof(none)) != 0)
        error = mpiio_pointers_meet(self->pointers, &self->record);
    if (error != 0)
        do_without(session, error);
}

void fs_pointers_free(struct fs_pointers *pointers)
{
    mpiio_pointers_free(pointers->pointers);
    pointers->pointers = NULL;
    if (pointers->record.folder >= 0)
        close(pointers->record.folder);
    free(pointers->shared);
}
