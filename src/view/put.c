/* SPDX-License-Identifier: MIT */
#include "view.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* mpiio-view put: writes a slice from standard input or a file. */

#define CHUNK ((size_t)1 << 20)

struct copy {
    struct mpiio_slice *slice;
    const char *file;
    int64_t rank;
    int64_t offset; /* slice offset of the next bytes */
    char *buffer;   /* CHUNK bytes */
    struct view_progress progress;
};

/* Reports why writing at copy->offset fails. */
static void say_failed(const struct copy *copy, int error)
{
    const struct vs_view *view = mpiio_slice_view(copy->slice);
    int64_t tiles = vs_map_facts(vs_view_map(view))->tiles;
    int64_t end = vs_view_slice_size(view, INT64_MAX);

    if (error == -EFBIG && tiles < INT64_MAX && copy->offset >= end)
        view_message("%s: the slice of rank %lld ends at slice offset %lld, with tile %lld of the "
                     "view: the rest was not written (\"tiles\" limits their number)",
                     copy->file, (long long)copy->rank, (long long)end, (long long)tiles);
    else
        view_message("%s: %s at slice offset %lld", copy->file, strerror(-error),
                     (long long)copy->offset);
}

/* Writes a whole chunk. On failure it reports the offset: everything before it is in the file. */
static int write_chunk(struct copy *copy, size_t length)
{
    size_t done = 0;

    while (done < length) {
        ssize_t put =
            mpiio_slice_write(copy->slice, copy->buffer + done, length - done, copy->offset);
        if (put <= 0) {
            view_progress_end(&copy->progress);
            say_failed(copy, put < 0 ? (int)put : -EIO);
            return VIEW_FAILED;
        }
        done += (size_t)put;
        copy->offset += put;
    }
    return VIEW_DONE;
}

static int copy_input(struct copy *copy)
{
    int64_t begin = copy->offset;
    struct stat st;
    int status;
    size_t got;

    view_progress_start(&copy->progress, !isatty(STDIN_FILENO), NULL,
                        fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode) ? st.st_size : 0);
    do {
        got = fread(copy->buffer, 1, CHUNK, stdin);
        if (ferror(stdin)) {
            int error = -errno;
            view_progress_end(&copy->progress);
            return view_failed("standard input", error);
        }
        status = write_chunk(copy, got);
        view_progress_step(&copy->progress, copy->offset - begin);
    } while (!status && got == CHUNK);
    view_progress_end(&copy->progress);
    return status;
}

/* Stores elements that the input has left incomplete. */
static int settle_file(const struct copy *copy)
{
    int64_t offset, length;
    int error = mpiio_slice_settle(copy->slice, false, &offset, &length);

    if (!error)
        return VIEW_DONE;
    view_message("%s: %s at slice offset %lld", copy->file, strerror(-error), (long long)offset);
    return VIEW_FAILED;
}

static int put_slice(const struct view_args *args, const char *file, struct mpiio_store *store,
                     struct mpiio_slice *slice)
{
    struct copy copy = {.slice = slice, .file = file, .rank = args->rank, .offset = args->offset};
    int status, error;

    if (!mpiio_slice_is_writable(slice)) {
        view_message("-r %lld: the view holds bytes of the file twice: it can only be read",
                     (long long)args->rank);
        return VIEW_USAGE;
    }
    copy.buffer = malloc(CHUNK);
    if (!copy.buffer)
        return view_failed(NULL, -ENOMEM);
    status = copy_input(&copy);
    free(copy.buffer);
    if (!status)
        status = settle_file(&copy);
    error = mpiio_store_sync(store, false);
    return error && !status ? view_failed(file, error) : status;
}

const struct view_command view_put = {
    .name = "put",
    .options = VIEW_TAKES_RANK | VIEW_TAKES_OFFSET | VIEW_TAKES_NARROW,
    .use = put_slice,
    .flags = O_RDWR,
    .summary = "standard input into a slice",
    .help = "Usage: mpiio-view put SPEC -r RANK [-v VIEW] [--offset O]\n"
            "                      [--narrow=refuse|truncate]\n"
            "Writes standard input into a slice, without a mount. Only bytes of the slice change;\n"
            "where it ends before the input does, the file grows. When it is done all is on the\n"
            "storage device.\n"
            "\n"
            "  -r, --rank=RANK  whose slice\n"
            "  -v, --view=VIEW  which view, where the spec has several\n"
            "  --offset=O       begin at slice offset O (default 0)\n"
            "  --narrow=HOW     integers that the file has no room for: refuse (the default) or\n"
            "                   truncate, which stores their least significant bytes\n"
            "\n"
            "Examples:\n"
            "  mpiio-view put heat.json -r 2 < piece\n"
            "  mpiio-view cat old.json -r 0 | mpiio-view put new.json -r 0\n",
};
