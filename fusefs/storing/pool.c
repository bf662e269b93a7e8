/* SPDX-License-Identifier: MIT */
#include "pool.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "core/base/process.h"
#include "core/store_layers.h"
#include "fusefs/base/memory.h"
#include "fusefs/session.h"
#include "viewspec/members/members.h"

/*
 * BLOCKS_MIN is the smallest useful pool. By default, the pool gets one PART-th of the free memory.
 */
#define BLOCKS_MIN 4
#define PART       4
/* The maximum number of members of an assembled file that has a pool. */
#define MEMBERS_MAX 16384

/* Returns true if the map belongs to a view that all ranks share. */
static bool is_common(const struct fs_session *session, const struct vs_map *map)
{
    bool common = false;

    for (size_t view = 0; view < session->tree.views && !common; view++)
        common = session->common[view] != NULL && vs_view_map(session->common[view]) == map;
    return common;
}

/*
 * Returns true if reads of the map should use the pool. Long runs of a single rank are read by its
 * own node, because the transfer from a home would gain nothing. On a single node there are no
 * transfers.
 */
static bool is_shared(const struct fs_session *session, const struct vs_map *map)
{
    const struct vs_map_facts *facts = vs_map_facts(map);

    return session->cluster.nodes == 1 || facts->tile_runs == 0 ||
           facts->tile_size / facts->tile_runs < MPIIO_POOL_BLOCK || is_common(session, map);
}

static bool read_runs(struct mpiio_reader *reader, const struct mpiio_transfer *transfer)
{
    struct fs_pool *self = (struct fs_pool *)reader;

    return is_shared(self->session, transfer->map) && mpiio_pool_read(self->pool, transfer);
}

/*
 * Returns false while the file is being changed, here or on another node. All nodes see the same
 * version of an unchanged file.
 */
static bool look_at_version(void *data, const struct mpiio_pool_version *seen,
                            struct mpiio_pool_version *version)
{
    struct fs_session *session = data;
    struct fs_version now;

    *version = (struct mpiio_pool_version){0};
    if (fs_atomic_is_on(&session->atomic) || !fs_flusher_rests(&session->flusher, &version->epoch))
        return false;
    if (mpiio_store_has_members(session->store)) {
        version->size = mpiio_file_size(mpiio_store_file(session->store));
        return fs_members_version_look(&session->pool.members, &session->settling, seen, version);
    }
    if (fs_settling_sample(&session->settling, &now, true) != 0)
        return false;
    version->size = now.size;
    version->times[0] = now.mtime.tv_sec;
    version->times[1] = now.mtime.tv_nsec;
    version->times[2] = now.ctime.tv_sec;
    version->times[3] = now.ctime.tv_nsec;
    return now.settled;
}

static int64_t read_file(void *data, void *buffer, size_t length, int64_t displacement)
{
    struct fs_session *session = data;

    return mpiio_store_read_file(session->store, buffer, length, displacement);
}

/* Returns the pool's size in bytes, or 0 for no pool. */
static int64_t choose_size(const struct fs_session *session)
{
    const struct fs_options *options = session->options;
    int64_t size = options->pool;

    if (size == FS_POOL_AUTO)
        size = session->cluster.nodes > 1 ? fs_free_memory("") / PART : 0;
    return size >= BLOCKS_MIN * MPIIO_POOL_BLOCK ? size : 0;
}

/*
 * Returns true if the file's version can be checked. The times of a device do not show its changes,
 * and a very large number of members takes too long to check.
 */
static bool is_fit(const struct fs_session *session)
{
    const struct vs_members *members = vs_spec_members(session->spec);
    struct stat st;

    return (members == NULL || vs_members_count(members) <= MEMBERS_MAX) &&
           mpiio_store_stat(session->store, &st) == 0 && S_ISREG(st.st_mode);
}

static int make(struct fs_session *session, int64_t size)
{
    const struct fs_cluster *cluster = &session->cluster;
    struct mpiio_pool_options options = {
        .file = {.look = look_at_version, .read = read_file, .data = session},
        .size = size,
        .net = cluster->nodes > 1 ? cluster->net : NULL,
        .timeout = (int)session->options->peer_timeout,
        .wait = fs_workers_waits,
        .data = &session->workers};

    return mpiio_pool_new(&options, &session->pool.pool);
}

int fs_pool_init(struct fs_session *session)
{
    struct fs_pool *self = &session->pool;
    int64_t size = choose_size(session);
    int error;

    self->reader.read = read_runs;
    self->session = session;
    if (size == 0 || !is_fit(session))
        return 0;
    fs_members_version_init(&self->members);
    error = make(session, size);
    if (error != 0) {
        fs_members_version_destroy(&self->members);
        return fs_fail(session->options, 1, "pool: %s", mpiio_rlimit_text(error));
    }
    mpiio_store_set_reader(session->store, &self->reader);
    return 0;
}

void fs_pool_free(struct fs_pool *pool)
{
    if (pool->pool != NULL) {
        mpiio_pool_free(pool->pool);
        fs_members_version_destroy(&pool->members);
    }
    pool->pool = NULL;
}

void fs_pool_look_again(struct fs_pool *pool)
{
    if (pool->pool != NULL)
        atomic_store(&pool->members.again, true);
}
