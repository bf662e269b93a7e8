/* SPDX-License-Identifier: MIT */
#include "view.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "top/mounts.h"
#include "viewspec/base/line.h"

/* mpiio-view top: shows the activity of this host's mounts, as a table or for Prometheus. */

#define ANSWER 2000 /* ms for a mount to answer */

struct top {
    char *const *places; /* mount points; if empty: all */
    size_t count;
    double interval; /* seconds */
    int64_t rounds;  /* number of tables to print; 0: until a signal */
    bool prometheus;
    const char *output; /* path of a file to replace; NULL: stdout */
};

static int take_option(struct top *top, char **argv, int option)
{
    char *end = optarg;

    switch (option) {
    case 'd':
        top->interval = strtod(optarg, &end);
        return *end || end == optarg || !(top->interval >= 0.1 && top->interval <= 86400)
                   ? view_usage_value("top", "-d", optarg, "expected seconds, 0.1 .. 86400")
                   : VIEW_DONE;
    case 'c':
        return view_usage_number("top", "-c", 1, INT64_MAX, "expected a number of tables",
                                 &top->rounds);
    case 'p':
        top->prometheus = true;
        return VIEW_DONE;
    case 'o':
        top->output = optarg;
        return VIEW_DONE;
    default:
        return view_usage_option("top", argv, option);
    }
}

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
static int write_metrics(const struct top *top, const struct view_mounts *mounts)
{
    struct view_output output;
    mode_t mask = umask(0);
    int status;

    umask(mask);
    if (!top->output) {
        view_print_prometheus(mounts, stdout);
        return VIEW_DONE;
    }
    status = view_output_open(&output, top->output, true);
    if (!status)
        status = put_metrics(output.fd, top->output, mounts);
    if (!status)
        status = view_output_commit(&output, 0666 & ~mask, true);
    view_output_close(&output);
    return status;
}

static int look_at_mounts(const struct top *top, struct view_mounts *mounts)
{
    const char *missing = NULL;
    int error = view_mounts_find(mounts, top->places, top->count, &missing);

    if (error) {
        view_message("%s%s%s", missing ? missing : "", missing ? ": " : "",
                     missing ? "no mount of mpiio-mount" : strerror(-error));
        return VIEW_FAILED;
    }
    view_mounts_read(mounts, ANSWER);
    return VIEW_DONE;
}

static int watch_mounts(const struct top *top)
{
    struct view_mounts mounts = {0};
    struct timespec pause = {.tv_sec = (time_t)top->interval};
    int status = look_at_mounts(top, &mounts);

    pause.tv_nsec = (long)((top->interval - (double)pause.tv_sec) * 1e9);
    if (!status && top->prometheus)
        status = write_metrics(top, &mounts);
    for (int64_t round = 0; !status && !top->prometheus && (!top->rounds || round < top->rounds);
         round++) {
        nanosleep(&pause, NULL);
        status = look_at_mounts(top, &mounts);
        if (!status)
            print_table(&mounts);
    }
    view_mounts_free(&mounts);
    return status;
}

static int start_top(int argc, char **argv)
{
    static const struct option options[] = {
        {"interval", required_argument, NULL, 'd'},
        {"count", required_argument, NULL, 'c'},
        {"prometheus", no_argument, NULL, 'p'},
        {"output", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},
        {NULL, 0, NULL, 0},
    };
    struct top top = {.interval = 2};
    int option, status = VIEW_DONE;

    opterr = 0;
    while (!status && (option = getopt_long(argc, argv, ":d:c:o:hV", options, NULL)) != -1) {
        if (option == 'h') {
            fputs(view_top.help, stdout);
            return VIEW_DONE;
        }
        if (option == 'V') {
            view_version();
            return VIEW_DONE;
        }
        status = take_option(&top, argv, option);
    }
    if (!status && top.output && !top.prometheus)
        status = view_usage("top", "-o", "goes with --prometheus");
    top.places = argv + optind;
    top.count = (size_t)(argc - optind);
    return status ? status : watch_mounts(&top);
}

const struct view_command view_top = {
    .name = "top",
    .start = start_top,
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
