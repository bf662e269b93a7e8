/* SPDX-License-Identifier: MIT */
#include "view.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "viewspec/members/members.h"
#include "core/base/fd_link.h"
#include "core/load.h"

/* Loads the spec again, with the representation of --to and the new file. */
static int load_target(const struct view_args *args, const struct vs_spec *spec,
                       struct vs_spec **target)
{
    struct vs_overrides overrides = view_overrides(args);
    struct vs_error error = {0};
    char *name = strdup(args->to), *equals = name ? strchr(name, '=') : NULL;

    if (name == NULL)
        return view_failed(NULL, -ENOMEM);
    if (equals)
        *equals = '\0';
    overrides.datarep = name;
    overrides.by_file = true;
    overrides.datarep_library = equals ? equals + 1 : NULL;
    overrides.file = args->output;
    int result = mpiio_spec_reload(spec, args->spec, &overrides, target, &error);
    free(name);
    if (!result)
        return VIEW_DONE;
    /* The text does not show the representation. */
    const char *key = strrchr(error.pointer, '/');
    if (key && (!strcmp(key, "/datarep") || strstr(error.pointer, "/datarep/"))) {
        snprintf(error.source, sizeof(error.source), "--to %s", args->to);
        error.pointer[0] = '\0';
        error.line = error.column = 0;
    }
    return view_spec_failed(&error);
}

static bool is_file(const char *path, const struct stat *st)
{
    struct stat there;

    return !stat(path, &there) && there.st_dev == st->st_dev && there.st_ino == st->st_ino;
}

/* Returns true if path is the file that is converted, or one of its members. */
static bool is_source(const char *path, const struct vs_spec *from, const struct stat *source)
{
    const struct vs_members *members = vs_spec_members(from);
    bool found = false;
    struct stat st;

    if (members == NULL)
        return is_file(path, source);
    for (int64_t i = 0; i < vs_members_count(members) && !found; i++) {
        char *name = vs_members_file(members, i);
        found = name && !stat(name, &st) && is_file(path, &st);
        free(name);
    }
    return found;
}

/* Writes the new spec once its file is complete. */
static int put_spec(const struct view_args *args, const struct vs_spec *target,
                    struct view_output *output)
{
    char *text = vs_spec_resolved(target, true);
    mode_t mask = umask(0);
    int status;

    umask(mask);
    if (text == NULL || dprintf(output->fd, "%s\n", text) < 0)
        status = view_failed(output->path, text ? -errno : -ENOMEM);
    else
        status = view_output_commit(output, 0666 & ~mask, args->force);
    free(text);
    return status;
}

/* Fills a new file, open as fd. */
static int fill_output(struct view_sweep *files, int fd)
{
    char self[MPIIO_FD_LINK_SIZE];

    mpiio_fd_link(fd, self);
    int error = mpiio_store_open(self, O_RDWR, &files->to);
    if (error)
        return view_failed(files->output, error);
    int status = view_sweep(files);
    mpiio_store_close(files->to);
    return status;
}

static int put_files(const struct view_args *args, struct view_sweep *files, mode_t mode)
{
    struct view_output data, spec = {.fd = -1};
    int status = view_output_open(&data, args->output, args->force);

    if (!status && args->output_spec)
        status = view_output_open(&spec, args->output_spec, args->force);
    if (!status)
        status = fill_output(files, data.fd);
    if (!status)
        status = view_output_commit(&data, mode, args->force);
    if (!status && args->output_spec)
        status = put_spec(args, files->target, &spec);
    view_output_close(&spec);
    view_output_close(&data);
    return status;
}

/* Rejects names that would overwrite the source, even with --force. */
static int check_names(const struct view_args *args, const struct vs_spec *from,
                       const struct stat *source)
{
    const char *spec = args->output_spec;
    struct stat text;

    if (!stat(args->spec, &text) && is_file(args->output, &text)) {
        view_message("-o %s: the spec of the file that is to be converted", args->output);
        return VIEW_USAGE;
    }
    if (is_source(args->output, from, source)) {
        view_message("-o %s: the file that is to be converted", args->output);
        return VIEW_USAGE;
    }
    if (spec && (is_source(spec, from, source) || !strcmp(spec, args->output))) {
        view_message("--spec %s: one of the data files", spec);
        return VIEW_USAGE;
    }
    return VIEW_DONE;
}

static int convert_file(const struct view_args *args, struct view_sweep *files)
{
    struct stat st;
    int error = mpiio_store_stat(files->from, &st), status;

    if (error)
        return view_failed(vs_spec_file(files->spec), error);
    status = check_names(args, files->spec, &st);
    return status ? status : put_files(args, files, S_ISREG(st.st_mode) ? st.st_mode & 0777 : 0600);
}

static int run_convert(const struct view_args *args, const struct vs_spec *spec)
{
    struct vs_spec *target = NULL;
    struct mpiio_store *store = NULL;
    int status = load_target(args, spec, &target);

    signal(SIGXFSZ, SIG_IGN); /* report a limit as an error */
    if (!status)
        status = view_open_file(spec, O_RDONLY, &store);
    if (!status) {
        struct view_sweep files = {.spec = spec,
                                   .target = target,
                                   .from = store,
                                   .output = args->output,
                                   .narrow = args->narrow};
        status = convert_file(args, &files);
    }
    mpiio_store_close(store);
    vs_spec_free(target);
    return status;
}

const struct view_command view_convert = {
    .name = "convert",
    .options = VIEW_TAKES_TARGET | VIEW_TAKES_NARROW | VIEW_BY_FILE,
    .run = run_convert,
    .summary = "the shared file again in another data representation",
    .help =
        "Usage: mpiio-view convert SPEC --to DATAREP -o FILE [--force] [--spec FILE]\n"
        "                          [--narrow=refuse|truncate]\n"
        "Makes a new file that has the same views, at the same displacements, in another data\n"
        "representation. The new file appears under its name when it is complete and stored on\n"
        "the device. What is before all views is copied, and between native, big-endian and\n"
        "little-endian all else, too, that no view holds.\n"
        "\n"
        "  --to=DATAREP       native, external32, internal, big-endian, little-endian, or\n"
        "                     NAME=LIBRARY of a user-defined one\n"
        "  -o, --output=FILE  the new file\n"
        "  --force            overwrite FILE, but never the file that is converted\n"
        "  --spec=FILE        write the spec of the new file, too\n"
        "  --narrow=HOW       an integer that the new file has no room for is refused (default),\n"
        "                     or truncated to its least significant bytes\n"
        "\n"
        "Examples:\n"
        "  mpiio-view convert heat.json --to external32 -o portable.dat --spec portable.json\n"
        "  mpiio-view convert heat.json --to vax=./libvax.so -o heat.vax\n",
};
