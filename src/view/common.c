/* SPDX-License-Identifier: MIT */
#include "view.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/complain.h"
#include "core/base/sizes.h"
#include "core/header.h"
#include "core/store_layers.h"
#include "viewspec/members/members.h"

/* Functions that the subcommands share: messages, files and views, output, progress. */

void view_message(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    mpiio_complain_list("mpiio-view", format, args);
    va_end(args);
}

int view_failed(const char *subject, int64_t error)
{
    view_message("%s%s%s", subject ? subject : "", subject ? ": " : "", strerror((int)-error));
    return VIEW_FAILED;
}

int view_spec_failed(const struct vs_error *error)
{
    char text[1536];

    view_message("%s", vs_error_text(error, text, sizeof(text)));
    return error->code == -ENOMEM || error->code == -ENOTSUP || error->code == -E2BIG ? VIEW_FAILED
                                                                                      : VIEW_USAGE;
}

const char *view_label(const struct vs_spec *spec, size_t index)
{
    const char *name = vs_spec_view_name(spec, index);

    return name ? name : "-";
}

int view_file_failed(const struct vs_spec *spec, int64_t size, const struct vs_error *why)
{
    if (!why->code)
        return view_failed(vs_spec_file(spec), size);
    view_spec_failed(why);
    return VIEW_FAILED;
}

int view_open_file(const struct vs_spec *spec, int flags, struct mpiio_store **store)
{
    struct vs_error error = {0};
    int result = mpiio_store_open_spec(spec, flags, store, &error);

    if (!result) {
        result = mpiio_file_refresh(mpiio_store_file(*store));
        if (!result)
            return VIEW_DONE;
        mpiio_store_close(*store);
        *store = NULL;
    }
    return view_file_failed(spec, result, &error);
}

int view_check_header(const struct vs_spec *spec)
{
    char why[PATH_MAX + 256];
    bool is_there =
        vs_spec_members(spec) || (vs_spec_file(spec) && !access(vs_spec_file(spec), F_OK));

    if (!is_there || !mpiio_header_check(spec, why, sizeof(why)))
        return VIEW_DONE;
    view_message("%s", why);
    return VIEW_FAILED;
}

int64_t view_file_size(const struct vs_spec *spec, struct vs_error *why)
{
    struct mpiio_store *store;
    struct stat st;
    int error = vs_spec_file(spec) ? mpiio_store_open_spec(spec, O_RDONLY, &store, why) : -ENOENT;

    if (error)
        return error;
    error = mpiio_store_stat(store, &st);
    mpiio_store_close(store);
    return error ? error : (int64_t)st.st_size;
}

/* Lists the names of the spec's views: "a, b, c". */
static void list_views(const struct vs_spec *spec, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < vs_spec_view_count(spec) && used < size; i++)
        used +=
            (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", view_label(spec, i));
}

long view_choose(const struct view_args *args, const struct vs_spec *spec)
{
    char names[512];

    if (args->view) {
        long index = vs_spec_find_view(spec, args->view);
        if (index >= 0)
            return index;
        if (!vs_spec_view_name(spec, 0)) {
            view_message("-v %s: the spec has a single view, without a name", args->view);
            return -1;
        }
    } else if (vs_spec_view_count(spec) == 1) {
        return 0;
    }
    list_views(spec, names, sizeof(names));
    if (args->view)
        view_message("-v %s: no such view (there are: %s)", args->view, names);
    else
        view_message("several views: choose one with -v (%s)", names);
    return -1;
}

int view_compile(const struct view_args *args, const struct vs_spec *spec, struct vs_view **view)
{
    struct vs_error error = {0};
    long index = view_choose(args, spec);

    if (index < 0)
        return VIEW_USAGE;
    if (args->rank >= vs_spec_ranks(spec)) {
        view_message("-r %" PRId64 ": the ranks are 0 .. %" PRId64, args->rank,
                     vs_spec_ranks(spec) - 1);
        return VIEW_USAGE;
    }
    return vs_spec_view(spec, (size_t)index, args->rank, view, &error) ? view_spec_failed(&error)
                                                                       : VIEW_DONE;
}

int view_use_slice(const struct view_args *args, const struct vs_spec *spec, int flags,
                   view_slice_user *use)
{
    struct vs_view *view = NULL;
    struct mpiio_store *store = NULL;
    struct mpiio_slice *slice;
    char datarep[64]; /* mpiio_slice_new takes the view over, even if it fails */
    int status = view_compile(args, spec, &view), result;

    if (status)
        return status;
    status = view_open_file(spec, flags, &store);
    if (status) {
        vs_view_unref(view);
        return status;
    }
    snprintf(datarep, sizeof(datarep), "%s", vs_view_facts(view)->datarep_name);
    result = mpiio_slice_new(store, view, args->narrow, &slice);
    if (!result) {
        status = use(args, vs_spec_file(spec), store, slice);
        mpiio_slice_free(slice);
    } else if (result == -ENOTSUP) {
        view_message("data representation %s: not supported", datarep);
        status = VIEW_FAILED;
    } else {
        status = view_failed(NULL, result);
    }
    mpiio_store_close(store);
    return status;
}

int view_write_out(const char *buffer, int64_t size)
{
    while (size > 0) {
        ssize_t n = write(STDOUT_FILENO, buffer, (size_t)size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EPIPE ? VIEW_FAILED : view_failed("standard output", -errno);
        buffer += n;
        size -= n;
    }
    return VIEW_DONE;
}

int view_close_output(int status)
{
    int lost = ferror(stdout) ? errno : 0;

    if (fclose(stdout))
        lost = errno;
    if (!lost)
        return status;
    if (lost != EPIPE)
        view_failed("standard output", -lost);
    return status == VIEW_DONE ? VIEW_FAILED : status;
}

/* Progress. */

#define FIRST_SHOWN 1.0 /* s after which it appears */
#define RENEWED     0.2

/* Returns the time in seconds. */
static double seconds_now(void)
{
    return (double)mpiio_clock() / 1000;
}

void view_progress_start(struct view_progress *progress, bool wanted, const char *unit,
                         int64_t total)
{
    memset(progress, 0, sizeof(*progress));
    progress->wanted = wanted && isatty(STDERR_FILENO);
    progress->unit = unit;
    progress->total = total;
    if (progress->wanted)
        progress->start = progress->shown = seconds_now();
}

void view_progress_step(struct view_progress *progress, int64_t done)
{
    char text[MPIIO_SIZE_TEXT], rate[MPIIO_SIZE_TEXT], percent[16] = "";

    if (!progress->wanted)
        return;
    double time = seconds_now();
    if (time - progress->start < FIRST_SHOWN || time - progress->shown < RENEWED)
        return;
    int64_t speed = (int64_t)((double)done / (time - progress->start));
    if (progress->total > 0 && done <= progress->total)
        snprintf(percent, sizeof(percent), ", %d %%",
                 (int)((double)done / (double)progress->total * 100));
    if (progress->unit)
        fprintf(stderr, "\rmpiio-view: %" PRId64 " %s%s, %" PRId64 "/s\033[K", done, progress->unit,
                percent, speed);
    else
        fprintf(stderr, "\rmpiio-view: %s%s, %s/s\033[K", mpiio_format_size(done, text), percent,
                mpiio_format_size(speed, rate));
    fflush(stderr);
    progress->shown = time;
    progress->visible = true;
}

void view_progress_end(struct view_progress *progress)
{
    if (progress->visible)
        fputs("\r\033[K", stderr);
    progress->visible = progress->wanted = false;
}
