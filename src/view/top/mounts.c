/* SPDX-License-Identifier: MIT */
#include "mounts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "viewspec/base/list.h"

/* Makes the new text the newest statistics. */
static void keep_stats(struct view_mount *mount, const char *text)
{
    json_t *stats = json_loads(text, 0, NULL);

    if (stats == NULL) {
        mount->error = -EIO;
        return;
    }
    json_decref(mount->before);
    mount->before = mount->stats;
    mount->time_before = mount->time;
    mount->stats = stats;
    mount->time = mounts_now();
}

/* Returns true once the read has succeeded or failed. */
static bool take_look(struct view_mount *mount)
{
    char text[MOUNTS_TEXT_MAX];
    int error;

    if (!mount->looking)
        return true;
    error = mounts_look_take(&mount->child, text);
    if (error == -EINPROGRESS)
        return false;
    mount->looking = false;
    mount->error = error;
    if (error == 0)
        keep_stats(mount, text);
    return true;
}

void view_mounts_read(struct view_mounts *mounts, int limit)
{
    long long end = mounts_now() + limit;
    size_t left = mounts->count;

    mounts_child_reap(); /* there may be no mount left that starts a child, which would also reap */
    mounts_child_make_room(mounts->count);
    for (size_t i = 0; i < mounts->count; i++) {
        struct view_mount *mount = &mounts->list[i];

        if (mount->looking)
            continue;
        mount->error = mounts_look_start(&mount->child, mount->place);
        mount->looking = mount->error == 0;
    }
    while (left) {
        left = 0;
        for (size_t i = 0; i < mounts->count; i++)
            left += !take_look(&mounts->list[i]);
        if (left && mounts_now() > end)
            break;
        if (left)
            usleep(1000);
    }
    for (size_t i = 0; i < mounts->count; i++)
        if (mounts->list[i].looking)
            mounts->list[i].error = -ETIMEDOUT;
}

static void release_mount(struct view_mount *mount)
{
    if (mount->looking)
        mounts_child_abandon(&mount->child);
    free(mount->place);
    json_decref(mount->stats);
    json_decref(mount->before);
}

/* Adds a mount, and moves its state from old if it is known. A place is listed once. */
static int add_mount(struct view_mounts *mounts, struct view_mounts *old, const char *place)
{
    struct view_mount mount = {0};

    for (size_t i = 0; i < mounts->count; i++)
        if (!strcmp(mounts->list[i].place, place))
            return 0;
    if (!VS_LIST_ROOM(mounts->list, mounts->count, mounts->room))
        return -ENOMEM;
    for (size_t i = 0; i < old->count && !mount.place; i++)
        if (old->list[i].place && !strcmp(old->list[i].place, place)) {
            mount = old->list[i];
            old->list[i] = (struct view_mount){0};
        }
    if (!mount.place && !(mount.place = strdup(place)))
        return -ENOMEM;
    mounts->list[mounts->count++] = mount;
    return 0;
}

/* Adds all mounts of the kernel's table. */
static int add_all(struct view_mounts *mounts, struct view_mounts *old)
{
    FILE *table = fopen("/proc/self/mountinfo", "re");
    struct mounts_entry entry;
    int error = table ? 0 : -errno;

    while (!error && mounts_entry_next(table, &entry))
        if (!strcmp(entry.type, "fuse.mpiio"))
            error = add_mount(mounts, old, entry.place);
    if (table)
        fclose(table);
    return error;
}

/* Adds the mount at a place. Sends no request to the mount, which may hang. Returns -ENOENT if
   there is none. */
static int add_place(struct view_mounts *mounts, struct view_mounts *old, const char *place)
{
    struct mounts_mount mount;

    if (mounts_find(place, &mount))
        return -ENOENT;
    close(mount.parent);
    return strcmp(mount.entry.type, "fuse.mpiio") ? -ENOENT
                                                  : add_mount(mounts, old, mount.entry.place);
}

int view_mounts_find(struct view_mounts *mounts, char *const *places, const char **missing)
{
    struct view_mounts old = *mounts;
    int error = 0;

    *mounts = (struct view_mounts){0};
    if (!*places)
        error = add_all(mounts, &old);
    for (; *places && !error; places++) {
        error = add_place(mounts, &old, *places);
        if (error == -ENOENT)
            *missing = *places;
    }
    view_mounts_free(&old);
    return error;
}

void view_mounts_free(struct view_mounts *mounts)
{
    for (size_t i = 0; i < mounts->count; i++)
        release_mount(&mounts->list[i]);
    free(mounts->list);
    *mounts = (struct view_mounts){0};
}

int64_t view_stat(const json_t *stats, const char *path)
{
    char key[64];

    for (size_t length; *path && stats; path += length + (path[length] == '.')) {
        length = strcspn(path, ".");
        snprintf(key, sizeof(key), "%.*s", (int)length, path);
        stats = json_object_get(stats, key);
    }
    return json_integer_value(stats);
}

double view_stat_rate(const struct view_mount *mount, const char *path)
{
    int64_t more = view_stat(mount->stats, path) - view_stat(mount->before, path);
    double seconds = (double)(mount->time - mount->time_before) / 1e3;

    return mount->before && seconds > 0 && more > 0 ? (double)more / seconds : 0;
}

/* Prometheus. */

/* The metric of each number in stats.json. Those named _total only grow. */
static const struct metric {
    const char *path, *name, *help;
} metrics[] = {
    {"slice_reads", "slice_reads_total", "Reads of slices."},
    {"slice_read_bytes", "slice_read_bytes_total", "Bytes of slices that were read."},
    {"slice_writes", "slice_writes_total", "Writes of slices."},
    {"slice_write_bytes", "slice_write_bytes_total", "Bytes of slices that were written."},
    {"store_reads", "store_reads_total", "System calls that read the file."},
    {"store_read_bytes", "store_read_bytes_total", "Bytes that they read."},
    {"store_map_bytes", "store_map_bytes_total", "Bytes read through mappings of the file."},
    {"store_writes", "store_writes_total", "System calls that wrote the file."},
    {"store_write_bytes", "store_write_bytes_total", "Bytes that they wrote."},
    {"store_map_write_bytes", "store_map_write_bytes_total",
     "Bytes written through mappings of the file."},
    {"dirty_bytes", "dirty_bytes", "Bytes that wait to be stored."},
    {"dirty_max", "dirty_max_bytes", "Memory that they may take."},
    {"room_waits", "room_waits_total", "Times that a writer waited for that memory."},
    {"flushes", "flushes_total", "Times that what waits was stored."},
    {"lost_bytes", "lost_bytes", "Bytes that could not be stored, and are kept or forgotten."},
    {"nodes", "nodes", "Nodes of the mount."},
    {"cluster.epochs", "epochs_total", "Flushes of all nodes together."},
    {"cluster.sent_bytes", "epoch_sent_bytes_total", "Bytes sent to other nodes in them."},
    {"cluster.stored_bytes", "epoch_stored_bytes_total", "Bytes that this node stored in them."},
    {"pool.hits", "pool_hits_total", "Blocks of the pool that were in memory when asked for."},
    {"pool.storage_bytes", "pool_storage_bytes_total", "Bytes read from storage for the pool."},
    {"pool.sent_bytes", "pool_sent_bytes_total", "Packed bytes sent to other nodes."},
    {"pool.received_bytes", "pool_received_bytes_total", "Packed bytes received from other nodes."},
    {"pool.held_bytes", "pool_held_bytes", "Memory of the pool in use."},
};

/* Prints a label's value, with quotes, backslashes and newlines escaped. */
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

static void print_head(const char *name, const char *help, FILE *out)
{
    fprintf(out, "# HELP mpiio_%s %s\n# TYPE mpiio_%s %s\n", name, help, name,
            strstr(name, "_total") ? "counter" : "gauge");
}

/* Returns false for a name that could end its label or the line, because the mount chooses the
   name. Such a name is left out. */
static bool is_word(const char *name)
{
    return *name && strlen(name) < 32 && name[strspn(name, "abcdefghijklmnopqrstuvwxyz_")] == '\0';
}

static void print_requests(const struct view_mounts *mounts, FILE *out)
{
    print_head("requests_total", "Requests of the kernel, by their kind.", out);
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
    print_head("up", "Whether the mount answers.", out);
    for (size_t i = 0; i < mounts->count; i++)
        print_sample("up", &mounts->list[i], "", !mounts->list[i].error, out);
    print_head("degraded", "Whether nodes were lost.", out);
    for (size_t i = 0; i < mounts->count; i++)
        if (mounts->list[i].stats)
            print_sample("degraded", &mounts->list[i], "", is_degraded(mounts->list[i].stats), out);
    print_requests(mounts, out);
    for (size_t m = 0; m < sizeof(metrics) / sizeof(*metrics); m++) {
        print_head(metrics[m].name, metrics[m].help, out);
        for (size_t i = 0; i < mounts->count; i++)
            if (mounts->list[i].stats)
                print_sample(metrics[m].name, &mounts->list[i], "",
                             view_stat(mounts->list[i].stats, metrics[m].path), out);
    }
}
