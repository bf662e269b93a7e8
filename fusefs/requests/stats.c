/* SPDX-License-Identifier: MIT */
#include "requests.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/store_layers.h"
#include "fusefs/storing/nodes.h"
#include "handle_ops.h"

/* The text of stats.json. */

static const char *const request_names[FS_REQUESTS] = {
    [FS_LOOKUP] = "lookup",   [FS_GETATTR] = "getattr", [FS_READLINK] = "readlink",
    [FS_OPEN] = "open",       [FS_READ] = "read",       [FS_WRITE] = "write",
    [FS_RELEASE] = "release", [FS_LSEEK] = "lseek",     [FS_FSYNC] = "fsync",
    [FS_READDIR] = "readdir", [FS_XATTR] = "xattr",     [FS_OTHER] = "other",
};

static void print_requests(struct fs_session *session, FILE *out)
{
    fputs("  \"requests\": {", out);
    for (int i = FS_UNCOUNTED + 1; i < FS_REQUESTS; i++)
        fprintf(out, "\"%s\": %llu, ", request_names[i],
                (unsigned long long)atomic_load(&session->trace.requests[i]));
    fprintf(out, "\"dropped\": %llu},\n",
            (unsigned long long)(atomic_load(&session->notifier.dropped) +
                                 atomic_load(&session->dropper.dropped)));
}

/* Prints a member of the object that has this indentation. */
static void print_number(FILE *out, const char *indent, const char *name, uint64_t number)
{
    fprintf(out, "%s\"%s\": %llu,\n", indent, name, (unsigned long long)number);
}

static void print_counters(struct fs_session *session, FILE *out)
{
    struct mpiio_counters counters;
    int error;

    mpiio_store_counters(session->store, &counters);
    print_number(out, "  ", "slice_reads", counters.slice_reads);
    print_number(out, "  ", "slice_read_bytes", counters.slice_read_bytes);
    print_number(out, "  ", "slice_writes", counters.slice_writes);
    print_number(out, "  ", "slice_write_bytes", counters.slice_write_bytes);
    print_number(out, "  ", "store_reads", counters.store_reads);
    print_number(out, "  ", "store_read_bytes", counters.store_read_bytes);
    print_number(out, "  ", "store_map_bytes", counters.store_map_bytes);
    print_number(out, "  ", "store_writes", counters.store_writes);
    print_number(out, "  ", "store_write_bytes", counters.store_write_bytes);
    print_number(out, "  ", "store_map_write_bytes", counters.store_map_write_bytes);
    fprintf(out, "  \"lost_bytes\": %llu\n",
            (unsigned long long)fs_unwritten_bytes(&session->unwritten, &error));
}

/* Prints the dirty data of this node, and the results of its flushes. */
static void print_cache(struct fs_session *session, FILE *out)
{
    struct mpiio_cache_stats stats = {0};

    if (session->cache == NULL)
        return;
    mpiio_cache_get_stats(session->cache, &stats);
    print_number(out, "  ", "dirty_bytes", (uint64_t)stats.dirty_bytes);
    print_number(out, "  ", "dirty_blocks", (uint64_t)stats.dirty_blocks);
    print_number(out, "  ", "dirty_memory", (uint64_t)stats.dirty_memory);
    print_number(out, "  ", "dirty_max", (uint64_t)session->options->dirty_max);
    print_number(out, "  ", "room_waits", stats.waits);
    print_number(out, "  ", "flushes", stats.flushes);
    print_number(out, "  ", "blocks_stored", stats.stored);
    print_number(out, "  ", "blocks_failed", stats.failed);
}

static void print_atomic(struct fs_session *session, FILE *out)
{
    bool on = fs_atomic_is_on(&session->atomic);
    struct mpiio_exclusion_stats stats = {0};

    if (on)
        mpiio_exclusion_stats(&session->atomic.accesses, &stats);
    fprintf(out, "  \"atomic\": %s,\n", on ? "true" : "false");
    print_number(out, "  ", "accesses", stats.calls);
    print_number(out, "  ", "access_waits", stats.waits);
    print_number(out, "  ", "lock_waits", stats.lock_waits);
}

static void print_peers(struct fs_cluster *cluster, FILE *out)
{
    struct mpiio_peer_status peer;

    fputs("    \"peers\": [", out);
    for (int i = 0; mpiio_peers_peer(cluster->peers, i, &peer) == 0; i++) {
        fprintf(out, "%s\n      {\"node\": %d, \"host\": ", i == 0 ? "" : ",", peer.node);
        fs_json_string(out, peer.host);
        fprintf(out, ", \"state\": \"%s\", \"last_heard_ms\": %lld", peer.state,
                (long long)peer.age);
        fprintf(out, ", \"received_bytes\": %llu, \"sent_bytes\": %llu}",
                (unsigned long long)peer.received, (unsigned long long)peer.sent);
    }
    fputs("]\n", out);
}

/* Prints the state of the cluster and this node's counters of epochs. */
static void print_cluster(struct fs_session *session, FILE *out)
{
    struct fs_cluster *cluster = &session->cluster;
    struct mpiio_epoch_counters sum;
    struct mpiio_peers_status status;
    uint64_t epochs;

    if (!fs_cluster_is_on(cluster))
        return;
    pthread_mutex_lock(&cluster->lock);
    sum = cluster->counters;
    epochs = cluster->epochs;
    pthread_mutex_unlock(&cluster->lock);
    mpiio_peers_status(cluster->peers, &status);
    fprintf(out, "  \"cluster\": {\n    \"node\": %d,\n    \"state\": \"%s\",\n", cluster->node,
            fs_nodes_is_degraded(cluster) ? "degraded" : "ok");
    if (status.dead >= 0) {
        fprintf(out, "    \"dead\": {\"node\": %d, \"host\": ", status.dead);
        fs_json_string(out, status.dead_host);
        fputs(", \"why\": ", out);
        fs_json_string(out, status.why);
        fputs("},\n", out);
    }
    print_number(out, "    ", "epochs", epochs);
    print_number(out, "    ", "dirty_bytes", sum.dirty_bytes);
    print_number(out, "    ", "sent_bytes", sum.sent_bytes);
    print_number(out, "    ", "received_bytes", sum.received_bytes);
    print_number(out, "    ", "merged_runs", sum.merged_runs);
    print_number(out, "    ", "stored_bytes", sum.stored_bytes);
    print_number(out, "    ", "store_calls", sum.store_calls);
    print_number(out, "    ", "store_map_bytes", sum.store_map_bytes);
    print_number(out, "    ", "rounds", sum.rounds);
    print_number(out, "    ", "left_blocks", sum.left_blocks);
    fprintf(out, "    \"hints\": {%s},\n", cluster->hints != NULL ? cluster->hints : "");
    print_peers(cluster, out);
    fputs("  },\n", out);
}

/* Prints this node's use of the pool, and its service to others. */
static void print_pool(struct fs_session *session, FILE *out)
{
    struct mpiio_pool_stats stats;

    if (session->pool.pool == NULL)
        return;
    mpiio_pool_get_stats(session->pool.pool, &stats);
    fputs("  \"pool\": {\n", out);
    print_number(out, "    ", "hits", stats.hits);
    print_number(out, "    ", "blocks", stats.blocks);
    print_number(out, "    ", "ahead", stats.ahead);
    print_number(out, "    ", "storage_bytes", stats.storage_bytes);
    print_number(out, "    ", "sent_bytes", stats.sent_bytes);
    print_number(out, "    ", "received_bytes", stats.received_bytes);
    print_number(out, "    ", "served", stats.served);
    print_number(out, "    ", "passed", stats.passed);
    fprintf(out, "    \"held_bytes\": %lld,\n    \"size\": %lld\n  },\n", (long long)stats.held,
            (long long)stats.size);
}

/* Prints the counters of shared file pointers. */
static void print_pointers(struct fs_session *session, FILE *out)
{
    struct mpiio_pointers_stats stats;

    if (session->tree.shared == NULL)
        return;
    mpiio_pointers_get_stats(session->pointers.pointers, &stats);
    print_number(out, "  ", "shared_takes", stats.takes);
    print_number(out, "  ", "shared_etypes", stats.etypes);
}

/* Prints the counters of "ordered". */
static void print_ordered(struct fs_session *session, FILE *out)
{
    struct mpiio_ordered_stats stats;

    if (session->ordered == NULL || session->tree.shared == NULL)
        return;
    mpiio_ordered_get_stats(session->ordered, &stats);
    print_number(out, "  ", "ordered_shares", stats.shares);
    print_number(out, "  ", "ordered_waits", stats.waits);
    print_number(out, "  ", "ordered_waiting_bytes", (uint64_t)stats.waiting);
}

/* Prints the type of the file's filesystem and its coherence. A sequential mount has neither. */
static void print_filesystem(struct fs_session *session, FILE *out)
{
    const struct mpiio_file *file;

    if (session->options->sequential)
        return;
    file = mpiio_store_file(session->store);
    fprintf(out, "  \"filesystem\": \"%s\",\n  \"coherence\": \"%s\",\n", file->filesystem->name,
            mpiio_coherence_name(file->coherence));
}

char *fs_stats_text(struct fs_session *session)
{
    char *text = NULL;
    size_t length;
    struct tm tm;
    char mounted[32];
    FILE *out = open_memstream(&text, &length);

    if (out == NULL)
        return NULL;
    gmtime_r(&session->mounted, &tm);
    strftime(mounted, sizeof(mounted), "%Y-%m-%dT%H:%M:%SZ", &tm);
    fprintf(out, "{\n  \"version\": \"%s\",\n  \"pid\": %ld,\n", MPIIO_VERSION, (long)getpid());
    fprintf(out, "  \"mounted\": \"%s\",\n  \"nodes\": %d,\n", mounted, session->cluster.nodes);
    fprintf(out, "  \"ranks\": %lld,\n  \"views\": %zu,\n", (long long)session->tree.ranks,
            session->tree.views);
    fprintf(out, "  \"writable\": %s,\n  \"writeback\": %s,\n  \"passthrough\": %s,\n",
            session->read_only == 0 ? "true" : "false",
            session->mode == FS_MODE_UNIQUE ? "true" : "false",
            fs_passthrough_is_on(&session->passthrough) ? "true" : "false");
    print_filesystem(session, out);
    if (session->options->direct)
        print_number(out, "  ", "prefetched", atomic_load(&session->prefetchers.taken));
    print_requests(session, out);
    print_atomic(session, out);
    print_number(out, "  ", "grants", atomic_load(&session->grants.given));
    print_number(out, "  ", "grants_taken_back", atomic_load(&session->grants.taken_back));
    print_cache(session, out);
    print_cluster(session, out);
    print_pool(session, out);
    print_pointers(session, out);
    print_ordered(session, out);
    print_counters(session, out);
    fputs("}\n", out);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static int text_open(struct fs_session *session, fuse_ino_t inode, pid_t thread,
                     struct fs_handle *handle, struct fuse_file_info *info)
{
    (void)thread;
    if ((info->flags & O_ACCMODE) != O_RDONLY)
        return -EACCES;
    handle->text = fs_tree_node(&session->tree, inode).kind == FS_STATS ? fs_stats_text(session)
                                                                        : strdup(session->resolved);
    if (handle->text == NULL)
        return -ENOMEM;
    handle->length = strlen(handle->text);
    info->direct_io = 1; /* the kernel's size may be from another time */
    info->noflush = 1;
    return 0;
}

static ssize_t text_read(struct fs_read *read)
{
    const struct fs_handle *handle = read->handle;
    size_t start = (size_t)read->offset < handle->length ? (size_t)read->offset : handle->length;
    size_t left = handle->length - start, size = read->size < left ? read->size : left;

    memcpy(read->buffer, handle->text + start, size);
    return (ssize_t)size;
}

const struct fs_handle_ops fs_text_ops = {
    .open = text_open,
    .read = text_read,
};
