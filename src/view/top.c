/* SPDX-License-Identifier: MIT */
#include "view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "top/mounts.h"
#include "viewspec/base/line.h"

/* mpiio-view top: shows the activity of this host's mounts, as a table or for Prometheus. */

#define ANSWER 2000 /* ms for a mount to answer */

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
        sum += view_stat_rate(mount, path);
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
            sum += view_stat_rate(mount, columns[i][k]);
        printf("%8s", brief_size(sum, text));
    }
    printf("%8s", brief_size(count_requests(mount), text));
    printf("%8s", brief_size((double)view_stat(mount->stats, "dirty_bytes"), text));
    printf("%8s", brief_size((double)view_stat(mount->stats, "pool.held_bytes"), text));
    printf("%7d", (int)view_stat(mount->stats, "nodes"));
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

static int put_metrics(int fd, const char *path, const struct view_mounts *mounts)
{
    int copy = dup(fd);
    FILE *out = copy < 0 ? NULL : fdopen(copy, "w");

    if (out)
        view_print_prometheus(mounts, out);
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
        view_print_prometheus(mounts, stdout);
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

static int look_at_mounts(const struct view_args *args, struct view_mounts *mounts)
{
    const char *missing = NULL;
    int error = view_mounts_find(mounts, args->operands, &missing);

    if (error) {
        view_message("%s%s%s", missing ? missing : "", missing ? ": " : "",
                     missing ? "no mount of mpiio-mount" : strerror(-error));
        return VIEW_FAILED;
    }
    view_mounts_read(mounts, ANSWER);
    return VIEW_DONE;
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
    view_mounts_free(&mounts);
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
