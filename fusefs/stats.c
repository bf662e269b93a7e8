/* SPDX-License-Identifier: MIT */
#include "operations.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const request_names[FS_REQUESTS] = {
    "lookup", "getattr", "readlink", "open",  "read",  "release",
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

    mpiio_store_counters(session->store, &counters);
    fprintf(out, "  \"slice_reads\": %llu,\n", (unsigned long long)counters.slice_reads);
    fprintf(out, "  \"slice_read_bytes\": %llu,\n", (unsigned long long)counters.slice_read_bytes);
    fprintf(out, "  \"store_reads\": %llu,\n", (unsigned long long)counters.store_reads);
    fprintf(out, "  \"store_read_bytes\": %llu,\n", (unsigned long long)counters.store_read_bytes);
    fprintf(out, "  \"store_map_bytes\": %llu\n", (unsigned long long)counters.store_map_bytes);
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
    print_requests(session, out);
    print_counters(session, out);
    fputs("}\n", out);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
