/* SPDX-License-Identifier: MIT */
#include "requests.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/store_members.h"
#include "fusefs/storing/nodes.h"
#include "handle_ops.h"

/* The text of stats.json. */

static const char *const request_names[FS_REQUESTS] = {
    "lookup",  "getattr", "readlink", "open",    "read",  "write",
    "release", "lseek",   "fsync",    "readdir", "xattr", "other",
};

static void print_requests(struct fs_session *session, FILE *out)
{
    fputs("  \"requests\": {", out);
    for (int i = 0; i < FS_REQUESTS; i++)
        fprintf(out, "\"%s\": %llu, ", request_names[i],
                (unsigned long long)atomic_load(&session->requests[i]));
    fprintf(out, "\"dropped\": %llu},\n",
            (unsigned long long)(atomic_load(&session->notifier.dropped) +
                                 atomic_load(&session->dropper.dropped)));
}

/* A counter and its name. */
struct line {
    const char *name;
    const uint64_t *value;
};

static void print_lines(const struct line *lines, size_t count, const char *indent, FILE *out)
{
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%s\"%s\": %llu,\n", indent, lines[i].name,
                (unsigned long long)*lines[i].value);
}

static void print_counters(struct fs_session *session, FILE *out)
{
    struct mpiio_counters counters;
    int error;
    const struct line lines[] = {
        {"slice_reads", &counters.slice_reads},
        {"slice_read_bytes", &counters.slice_read_bytes},
        {"slice_writes", &counters.slice_writes},
        {"slice_write_bytes", &counters.slice_write_bytes},
        {"store_reads", &counters.store_reads},
        {"store_read_bytes", &counters.store_read_bytes},
        {"store_map_bytes", &counters.store_map_bytes},
        {"store_writes", &counters.store_writes},
        {"store_write_bytes", &counters.store_write_bytes},
        {"store_map_write_bytes", &counters.store_map_write_bytes},
    };

    mpiio_store_counters(session->store, &counters);
    print_lines(lines, sizeof(lines) / sizeof(*lines), "  ", out);
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
    fprintf(out, "  \"dirty_bytes\": %lld,\n  \"dirty_blocks\": %lld,\n",
            (long long)stats.dirty_bytes, (long long)stats.dirty_blocks);
    fprintf(out, "  \"dirty_memory\": %lld,\n  \"dirty_max\": %lld,\n",
            (long long)stats.dirty_memory, (long long)session->options->dirty_max);
    fprintf(out, "  \"room_waits\": %llu,\n  \"flushes\": %llu,\n", (unsigned long long)stats.waits,
            (unsigned long long)stats.flushes);
    fprintf(out, "  \"blocks_stored\": %llu,\n  \"blocks_failed\": %llu,\n",
            (unsigned long long)stats.stored, (unsigned long long)stats.failed);
}

static void print_atomic(struct fs_session *session, FILE *out)
{
    bool on = fs_atomic_is_on(&session->atomic);
    struct mpiio_exclusion_stats stats = {0};

    if (on)
        mpiio_exclusion_stats(&session->atomic.accesses, &stats);
    fprintf(out, "  \"atomic\": %s,\n", on ? "true" : "false");
    fprintf(out, "  \"accesses\": %llu,\n  \"access_waits\": %llu,\n  \"lock_waits\": %llu,\n",
            (unsigned long long)stats.calls, (unsigned long long)stats.waits,
            (unsigned long long)stats.lock_waits);
}

static void print_grants(struct fs_session *session, FILE *out)
{
    fprintf(out, "  \"grants\": %llu,\n  \"grants_taken_back\": %llu,\n",
            (unsigned long long)atomic_load(&session->grants.given),
            (unsigned long long)atomic_load(&session->grants.taken_back));
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
    const struct line lines[] = {
        {"epochs", &epochs},
        {"dirty_bytes", &sum.dirty_bytes},
        {"sent_bytes", &sum.sent_bytes},
        {"received_bytes", &sum.received_bytes},
        {"merged_runs", &sum.merged_runs},
        {"stored_bytes", &sum.stored_bytes},
        {"store_calls", &sum.store_calls},
        {"store_map_bytes", &sum.store_map_bytes},
        {"rounds", &sum.rounds},
        {"left_blocks", &sum.left_blocks},
    };

    if (!fs_cluster_is_on(cluster))
        return;
    epochs = fs_cluster_counters(cluster, &sum);
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
    print_lines(lines, sizeof(lines) / sizeof(*lines), "    ", out);
    fprintf(out, "    \"hints\": {%s},\n", cluster->hints != NULL ? cluster->hints : "");
    print_peers(cluster, out);
    fputs("  },\n", out);
}

/* Prints this node's use of the pool, and its service to others. */
static void print_pool(struct fs_session *session, FILE *out)
{
    struct mpiio_pool_stats stats;
    const struct line lines[] = {
        {"hits", &stats.hits},
        {"blocks", &stats.blocks},
        {"ahead", &stats.ahead},
        {"storage_bytes", &stats.storage_bytes},
        {"sent_bytes", &stats.sent_bytes},
        {"received_bytes", &stats.received_bytes},
        {"served", &stats.served},
        {"passed", &stats.passed},
    };

    if (session->pool.pool == NULL)
        return;
    mpiio_pool_get_stats(session->pool.pool, &stats);
    fputs("  \"pool\": {\n", out);
    print_lines(lines, sizeof(lines) / sizeof(*lines), "    ", out);
    fprintf(out, "    \"held_bytes\": %lld,\n    \"size\": %lld\n  },\n", (long long)stats.held,
            (long long)stats.size);
}

/* Prints the counters of shared file pointers. */
static void print_pointers(struct fs_session *session, FILE *out)
{
    struct mpiio_pointers_stats stats;
    const struct line lines[] = {
        {"shared_takes", &stats.takes},
        {"shared_etypes", &stats.etypes},
    };

    if (session->tree.shared == NULL)
        return;
    mpiio_pointers_get_stats(session->pointers.pointers, &stats);
    print_lines(lines, sizeof(lines) / sizeof(*lines), "  ", out);
}

/* Prints the counters of "ordered". */
static void print_ordered(struct fs_session *session, FILE *out)
{
    struct mpiio_ordered_stats stats;
    uint64_t waiting;
    const struct line lines[] = {
        {"ordered_shares", &stats.shares},
        {"ordered_waits", &stats.waits},
        {"ordered_waiting_bytes", &waiting},
    };

    if (session->ordered == NULL || session->tree.shared == NULL)
        return;
    mpiio_ordered_get_stats(session->ordered, &stats);
    waiting = (uint64_t)stats.waiting;
    print_lines(lines, sizeof(lines) / sizeof(*lines), "  ", out);
}

/* Prints the type of the file's filesystem and its coherence. A sequential mount has neither. */
static void print_filesystem(struct fs_session *session, FILE *out)
{
    if (session->options->sequential)
        return;
    fprintf(out, "  \"filesystem\": \"%s\",\n  \"coherence\": \"%s\",\n",
            mpiio_store_filesystem(session->store)->name,
            mpiio_coherence_name(mpiio_store_coherence(session->store)));
}

/* Prints the number of requests answered from read-ahead. */
static void print_ahead(struct fs_session *session, FILE *out)
{
    if (session->options->direct)
        fprintf(out, "  \"prefetched\": %llu,\n",
                (unsigned long long)atomic_load(&session->prefetchers.taken));
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
            session->mode->holds_writes ? "true" : "false",
            fs_passthrough_is_on(&session->passthrough) ? "true" : "false");
    print_filesystem(session, out);
    print_ahead(session, out);
    print_requests(session, out);
    print_atomic(session, out);
    print_grants(session, out);
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
