/* SPDX-License-Identifier: MIT */
#include "view.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "mounts/look.h"
#include "viewspec/base/line.h"
#include "viewspec/base/list.h"

/* mpiio-view top: shows the activity of this host's mounts, as a table or for Prometheus. */

#define ANSWER 2000 /* ms for a mount to answer */

/* The mounts of this host and their statistics, .mpiio/stats.json. */

struct view_mount {
    char *place;               /* the mount point; owned */
    struct mounts_child child; /* reads the statistics */
    bool looking;              /* the child has not answered yet */
    json_t *stats;             /* the newest; owned; NULL: none yet */
    json_t *before;            /* the previous ones; owned; NULL: none yet */
    long long time;            /* of stats, as mounts_now */
    long long time_before;
    int error; /* why there are no newer ones: a negative errno; -ETIMEDOUT: no answer */
};

struct view_mounts {
    struct view_mount *list; /* owned */
    size_t count, room;
};

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

/* Reads the statistics of all mounts. */
static void read_mounts(struct view_mounts *mounts)
{
    long long end = mounts_now() + ANSWER;
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

/* Adds the mount at a place. Sends no request to the mount, which may hang. Returns VIEW_FAILED
   after a message if there is none, or a negative errno. */
static int add_place(struct view_mounts *mounts, struct view_mounts *old, const char *place)
{
    struct mounts_mount mount;
    bool found = !mounts_find(place, &mount);

    if (found)
        close(mount.parent);
    if (found && !strcmp(mount.entry.type, "fuse.mpiio"))
        return add_mount(mounts, old, mount.entry.place);
    view_message("%s: no mount of mpiio-mount", place);
    return VIEW_FAILED;
}

/* Frees all. A child that is blocked in a mount is left behind. */
static void free_mounts(struct view_mounts *mounts)
{
    for (size_t i = 0; i < mounts->count; i++)
        release_mount(&mounts->list[i]);
    free(mounts->list);
    *mounts = (struct view_mounts){0};
}

/* Returns the number at a path of keys, such as "requests.read", in stats; 0 if there is none. */
static int64_t stat_at(const json_t *stats, const char *path)
{
    char key[64];

    for (size_t length; *path && stats; path += length + (path[length] == '.')) {
        length = strcspn(path, ".");
        snprintf(key, sizeof(key), "%.*s", (int)length, path);
        stats = json_object_get(stats, key);
    }
    return json_integer_value(stats);
}

/* Returns the growth of that number per second since the previous statistics; 0 if there are none.
 */
static double stat_rate(const struct view_mount *mount, const char *path)
{
    int64_t more = stat_at(mount->stats, path) - stat_at(mount->before, path);
    double seconds = (double)(mount->time - mount->time_before) / 1e3;

    return mount->before && seconds > 0 && more > 0 ? (double)more / seconds : 0;
}

/* The table. */

/* Formats bytes or calls in three or four characters: "1.5M". */
static const char *brief_size(double value, char text[16])
{
    static const char units[] = " kMGTPE";
    int unit = 0;

    while (value >= 999.5 && units[unit + 1]) {
        value /= 1024;
        unit++;
    }
    snprintf(text, 16, unit && value < 9.95 ? "%.1f%.1s" : "%.0f%.1s", value,
             unit ? &units[unit] : "");
    return text;
}

static double count_requests(const struct view_mount *mount)
{
    json_t *kinds = json_object_get(mount->stats, "requests"), *value;
    const char *kind;
    char path[64];
    double sum = 0;

    json_object_foreach(kinds, kind, value)
    {
        snprintf(path, sizeof(path), "requests.%s", kind);
        sum += stat_rate(mount, path);
    }
    return sum;
}

static const char *state_of(const struct view_mount *mount)
{
    const char *text =
        json_string_value(json_object_get(json_object_get(mount->stats, "cluster"), "state"));

    if (mount->error == -ETIMEDOUT)
        return "no answer";
    if (mount->error)
        return strerror(-mount->error);
    /* The mount's daemon chooses the text, so only known ones are printed. */
    if (text && strcmp(text, "ok") != 0 && strcmp(text, "degraded") != 0)
        return "unknown";
    return text ? text : "ok";
}

/* Columns of bytes per second: sums of counters. */
static const char *const columns[][4] = {
    {"slice_read_bytes"},
    {"slice_write_bytes"},
    {"store_read_bytes", "store_map_bytes"},
    {"store_write_bytes", "store_map_write_bytes", "cluster.stored_bytes"},
};

static void print_row(const struct view_mount *mount)
{
    char text[16], *place = strdup(mount->place);

    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
        double sum = 0;
        for (int k = 0; columns[i][k]; k++)
            sum += stat_rate(mount, columns[i][k]);
        printf("%8s", brief_size(sum, text));
    }
    printf("%8s", brief_size(count_requests(mount), text));
    printf("%8s", brief_size((double)stat_at(mount->stats, "dirty_bytes"), text));
    printf("%8s", brief_size((double)stat_at(mount->stats, "pool.held_bytes"), text));
    printf("%7d", (int)stat_at(mount->stats, "nodes"));
    if (place)
        vs_line_clean(place);
    printf("  %-9s %s\n", state_of(mount), place ? place : "");
    free(place);
}

static void print_table(const struct view_mounts *mounts)
{
    if (isatty(STDOUT_FILENO))
        fputs("\033[H\033[2J", stdout);
    printf("%8s%8s%8s%8s%8s%8s%8s%7s  %-9s %s\n", "READ/s", "WRITE/s", "IN/s", "OUT/s", "CALLS/s",
           "DIRTY", "POOL", "NODES", "STATE", "MOUNT POINT");
    for (size_t i = 0; i < mounts->count; i++)
        print_row(&mounts->list[i]);
    fflush(stdout);
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

/* Prints all statistics of the mounts in Prometheus's text format. */
static void print_prometheus(const struct view_mounts *mounts, FILE *out)
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
                             stat_at(mounts->list[i].stats, metrics[m].path), out);
    }
}

static int put_metrics(int fd, const char *path, const struct view_mounts *mounts)
{
    int copy = dup(fd);
    FILE *out = copy < 0 ? NULL : fdopen(copy, "w");

    if (out)
        print_prometheus(mounts, out);
    if (out && !fclose(out))
        return VIEW_DONE;
    view_message("%s: %s", path, strerror(errno));
    if (out == NULL && copy >= 0)
        close(copy);
    return VIEW_FAILED;
}

/* Writes the metrics to a new file that replaces the previous one, so that readers never see
   half of it. On failure the previous file stays. */
static int write_metrics(const struct view_args *args, const struct view_mounts *mounts)
{
    struct view_output output;
    mode_t mask = umask(0);
    int status;

    umask(mask);
    if (!args->output) {
        print_prometheus(mounts, stdout);
        return VIEW_DONE;
    }
    status = view_output_open(&output, args->output, true);
    if (!status)
        status = put_metrics(output.fd, args->output, mounts);
    if (!status)
        status = view_output_commit(&output, 0666 & ~mask, true);
    view_output_close(&output);
    return status;
}

/*
 * Reads the statistics of the mounts at the operands, or of all readable ones if there are none, in
 * the order of the kernel's table. Keeps the state of mounts that still exist.
 */
static int look_at_mounts(const struct view_args *args, struct view_mounts *mounts)
{
    struct view_mounts old = *mounts;
    int error = 0;

    *mounts = (struct view_mounts){0};
    if (!*args->operands)
        error = add_all(mounts, &old);
    for (char *const *place = args->operands; *place && !error; place++)
        error = add_place(mounts, &old, *place);
    free_mounts(&old);
    if (!error)
        read_mounts(mounts);
    return error < 0 ? view_failed(NULL, error) : error;
}

static int run_top(const struct view_args *args, const struct vs_spec *spec)
{
    struct view_mounts mounts = {0};
    struct timespec pause = {.tv_sec = (time_t)args->interval};
    int status;

    (void)spec;
    if (args->output && !args->prometheus)
        return view_usage(&view_top, "-o", "needs --prometheus");
    status = look_at_mounts(args, &mounts);
    pause.tv_nsec = (long)((args->interval - (double)pause.tv_sec) * 1e9);
    if (!status && args->prometheus)
        status = write_metrics(args, &mounts);
    for (int64_t round = 0; !status && !args->prometheus && (!args->rounds || round < args->rounds);
         round++) {
        nanosleep(&pause, NULL);
        status = look_at_mounts(args, &mounts);
        if (!status)
            print_table(&mounts);
    }
    free_mounts(&mounts);
    return status;
}

const struct view_command view_top = {
    .name = "top",
    .options = VIEW_TAKES_MOUNTS,
    .run = run_top,
    .summary = "what the mounts of this host do now; --prometheus",
    .help =
        "Usage: mpiio-view top [OPTION]... [MOUNTPOINT]...\n"
        "Prints, every few seconds, what mounts do: bytes a second read and written by programs\n"
        "(READ/s, WRITE/s), read from and stored in the file (IN/s, OUT/s), requests of the "
        "kernel,\n"
        "bytes that wait to be stored, nodes. Without MOUNTPOINT: all mounts of this host that\n"
        "the caller may look into.\n"
        "\n"
        "  -d, --interval=SECONDS  between tables; 2\n"
        "  -c, --count=COUNT       so many tables; without it, until Ctrl-C\n"
        "      --prometheus        once, all statistics as Prometheus reads them\n"
        "  -o, --output=FILE       with --prometheus: into FILE, which is replaced at once, as\n"
        "                          the node exporter's textfile collector wants it\n"
        "  -h, --help              this text\n"
        "  -V, --version           the version\n"
        "\n"
        "Examples:\n"
        "  mpiio-view top\n"
        "  mpiio-view top -d 10 -c 6 mnt\n"
        "  mpiio-view top --prometheus -o /var/lib/prometheus/node-exporter/mpiio.prom\n",
};
