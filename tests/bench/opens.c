/* SPDX-License-Identifier: MIT */
/*
 * Opens and closes slices as the daemon does, to count instructions
 * (tests/bats/instructions.bats).
 *
 *   bench-opens one|many COUNT    keep COUNT handles open: of one slice, or of a slice each
 *
 * counted() looks up, opens, checks and closes one more slice. Only this function is counted.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fusefs/names/handle.h"

/* Threads that open handles, in turn. */
#define THREADS 64

static struct fs_slice *get(struct fs_slices *slices, int64_t rank)
{
    struct fs_node node = {.kind = FS_SLICE, .rank = rank};
    struct vs_error why = {0};
    struct fs_slice *slice;

    if (fs_slices_get(slices, node, &slice, &why) != 0)
        abort();
    return slice;
}

static void open_one(struct fs_slices *slices, struct fs_handle *handle, int64_t rank)
{
    *handle = (struct fs_handle){.slice = get(slices, rank), .reads = true, .writes = true};
    fs_handle_take_opened(slices, handle->slice, (pid_t)(1 + rank % THREADS));
    if (fs_handle_join(slices, handle, handle->slice->inode, (pid_t)(1 + rank % THREADS)) != 0)
        abort();
    fs_handle_holds(slices, handle);
}

static void close_one(struct fs_slices *slices, struct fs_handle *handle)
{
    fs_handle_flushed(slices, handle);
    fs_handle_leave(slices, handle);
    fs_slices_put(slices, handle->slice);
}

__attribute__((noinline, noclone)) static void counted(struct fs_slices *slices, int64_t rank)
{
    struct fs_handle handle;
    struct fs_slice_list list;

    open_one(slices, &handle, rank);
    fs_handle_readers(slices, handle.slice, true, &list);
    for (size_t i = 0; i < list.count; i++)
        fs_slices_put(slices, list.slices[i]);
    free(list.slices);
    if (fs_slices_counts(slices, handle.slice).writers == 0 ||
        fs_slices_counts(slices, handle.slice).holders == 0 ||
        !fs_handle_take_opened(slices, handle.slice, (pid_t)(1 + rank % THREADS)))
        abort();
    close_one(slices, &handle);
}

int main(int argc, char **argv)
{
    static const char text[] =
        "{\"viewspec\": 1, \"file\": \"-\", \"ranks\": 1000000, \"view\": {\"etype\": \"double\", "
        "\"filetype\": {\"type\": \"scatter\"}}}";
    static struct fs_slices slices;
    bool many = argc == 3 && strcmp(argv[1], "many") == 0;
    int64_t count = argc == 3 ? atol(argv[2]) : 0;
    struct vs_view *common[1] = {NULL};
    struct fs_handle *handles = calloc((size_t)count + 1, sizeof(*handles));
    struct mpiio_store *store;
    struct vs_error why = {0};
    struct vs_spec *spec;
    struct fs_tree tree;
    int fd = memfd_create("file", MFD_CLOEXEC);
    char path[64];

    if (count < 1 || handles == NULL || fd < 0 ||
        vs_spec_parse(text, strlen(text), "bench-opens", "/", NULL, &spec, &why) != 0 ||
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd) < 0 ||
        mpiio_store_open(path, O_RDWR, &store) != 0)
        return 1;
    fs_tree_init(&tree, spec, false);
    if (fs_slices_init(&slices, &tree, store, common, MPIIO_NARROW_REFUSE, strlen(text)) != 0)
        return 1;
    for (int64_t i = 0; i < count; i++)
        open_one(&slices, &handles[i], many ? i : 0);
    counted(&slices, many ? count : 0);
    for (int64_t i = 0; i < count; i++)
        close_one(&slices, &handles[i]);
    fs_slices_free(&slices);
    mpiio_store_close(store);
    vs_spec_free(spec);
    free(handles);
    return 0;
}
