/* SPDX-License-Identifier: MIT */
#include "prometheus.h"

#include <inttypes.h>
#include <string.h>

/* Each number of stats.json under a metric's name; what is not a counter may fall, too. */
static const struct metric {
    const char *path, *name, *help;
    bool counter;
} metrics[] = {
    {"slice_reads", "slice_reads_total", "Reads of slices.", true},
    {"slice_read_bytes", "slice_read_bytes_total", "Bytes of slices that were read.", true},
    {"slice_writes", "slice_writes_total", "Writes of slices.", true},
    {"slice_write_bytes", "slice_write_bytes_total", "Bytes of slices that were written.", true},
    {"store_reads", "store_reads_total", "System calls that read the file.", true},
    {"store_read_bytes", "store_read_bytes_total", "Bytes that they read.", true},
    {"store_map_bytes", "store_map_bytes_total", "Bytes read through mappings of the file.", true},
    {"store_writes", "store_writes_total", "System calls that wrote the file.", true},
    {"store_write_bytes", "store_write_bytes_total", "Bytes that they wrote.", true},
    {"store_map_write_bytes", "store_map_write_bytes_total",
     "Bytes written through mappings of the file.", true},
    {"dirty_bytes", "dirty_bytes", "Bytes that wait to be stored.", false},
    {"dirty_max", "dirty_max_bytes", "Memory that they may take.", false},
    {"room_waits", "room_waits_total", "Times that a writer waited for that memory.", true},
    {"flushes", "flushes_total", "Times that what waits was stored.", true},
    {"lost_bytes", "lost_bytes", "Bytes that could not be stored, and are kept or forgotten.",
     false},
    {"nodes", "nodes", "Nodes of the mount.", false},
    {"cluster.epochs", "epochs_total", "Flushes of all nodes together.", true},
    {"cluster.sent_bytes", "epoch_sent_bytes_total", "Bytes sent to other nodes in them.", true},
    {"cluster.stored_bytes", "epoch_stored_bytes_total", "Bytes that this node stored in them.",
     true},
    {"pool.hits", "pool_hits_total", "Blocks of the pool that were in memory when asked for.",
     true},
    {"pool.storage_bytes", "pool_storage_bytes_total", "Bytes read from storage for the pool.",
     true},
    {"pool.sent_bytes", "pool_sent_bytes_total", "Packed bytes sent to other nodes.", true},
    {"pool.received_bytes", "pool_received_bytes_total", "Packed bytes received from other nodes.",
     true},
    {"pool.held_bytes", "pool_held_bytes", "Memory of the pool in use.", false},
};

/* A label's value: quotes, backslashes and newlines are escaped. */
static void print_label(const char *text, FILE *out)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        fputs(*text == '\n' ? "\\n" : (char[]){*text, '\0'}, out);
    }
}

static void print_sample(const char *name, const struct view_mount *mount, const char *more,
                         int64_t value, FILE *out)
{
    fprintf(out, "mpiio_%s{mountpoint=\"", name);
    print_label(mount->place, out);
    fprintf(out, "\"%s} %" PRId64 "\n", more, value);
}

static void print_head(const char *name, const char *help, bool counter, FILE *out)
{
    fprintf(out, "# HELP mpiio_%s %s\n# TYPE mpiio_%s %s\n", name, help, name,
            counter ? "counter" : "gauge");
}

/* The mount chooses the name: one that could end its label, or the line, is left out. */
static bool is_word(const char *name)
{
    return *name && strlen(name) < 32 && name[strspn(name, "abcdefghijklmnopqrstuvwxyz_")] == '\0';
}

static void print_requests(const struct view_mounts *mounts, FILE *out)
{
    print_head("requests_total", "Requests of the kernel, by their kind.", true, out);
    for (size_t i = 0; i < mounts->count; i++) {
        json_t *requests = json_object_get(mounts->list[i].stats, "requests"), *value;
        const char *kind;
        char label[64];
        json_object_foreach(requests, kind, value)
        {
            if (!is_word(kind))
                continue;
            snprintf(label, sizeof(label), ",kind=\"%s\"", kind);
            print_sample("requests_total", &mounts->list[i], label, json_integer_value(value), out);
        }
    }
}

static bool is_degraded(const json_t *stats)
{
    const char *state =
        json_string_value(json_object_get(json_object_get(stats, "cluster"), "state"));

    return state && strcmp(state, "ok") != 0;
}

void view_print_prometheus(const struct view_mounts *mounts, FILE *out)
{
    print_head("up", "Whether the mount answers.", false, out);
    for (size_t i = 0; i < mounts->count; i++)
        print_sample("up", &mounts->list[i], "", !mounts->list[i].error, out);
    print_head("degraded", "Whether nodes were lost.", false, out);
    for (size_t i = 0; i < mounts->count; i++)
        if (mounts->list[i].stats)
            print_sample("degraded", &mounts->list[i], "", is_degraded(mounts->list[i].stats), out);
    print_requests(mounts, out);
    for (size_t m = 0; m < sizeof(metrics) / sizeof(*metrics); m++) {
        print_head(metrics[m].name, metrics[m].help, metrics[m].counter, out);
        for (size_t i = 0; i < mounts->count; i++)
            if (mounts->list[i].stats)
                print_sample(metrics[m].name, &mounts->list[i], "",
                             view_stat(mounts->list[i].stats, metrics[m].path), out);
    }
}
