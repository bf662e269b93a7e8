/* SPDX-License-Identifier: MIT */
#include "operations.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const request_names[FS_REQUESTS] = {
    "lookup", "getattr", "readlink", "open",  "read",  "write",   "release",
    "lseek",  "fsync",   "readdir",  "xattr", "other", "dropped",
};

static void print_requests(struct fs_session *session, FILE *out)
{
    fputs("  \"requests\": {", out);
    for (int i = 0; i < FS_REQUESTS; i++)
        fprintf(out, "%s\"%s\": %llu", i == 0 ? "" : ", ", request_names[i],
                (unsigned long long)atomic_load(&session->requests[i]));
    fputs("},\n", out);
}

static void print_counters(struct fs_session *session, FILE *out)
{
    struct mpiio_counters counters;
    int error;
    const struct {
        const char *name;
        const uint64_t *value;
    } lines[] = {
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
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
        fprintf(out, "  \"%s\": %llu,\n", lines[i].name, (unsigned long long)*lines[i].value);
    fprintf(out, "  \"lost_bytes\": %llu\n",
            (unsigned long long)fs_losses_bytes(&session->losses, &error));
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
    fprintf(out, "  \"mounted\": \"%s\",\n  \"nodes\": 1,\n", mounted);
    fprintf(out, "  \"ranks\": %lld,\n  \"views\": %zu,\n", (long long)session->tree.ranks,
            session->tree.views);
    fprintf(out, "  \"writable\": %s,\n  \"writeback\": %s,\n",
            session->read_only == 0 ? "true" : "false", session->writeback ? "true" : "false");
    print_requests(session, out);
    print_counters(session, out);
    fputs("}\n", out);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
