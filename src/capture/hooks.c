/* SPDX-License-Identifier: MIT */
#include "hooks.h"

#include "files.h"
#include "gather.h"
#include "log.h"

static void opened(intptr_t comm, const char *name, int mode, void *file)
{
    capture_opened((MPI_Comm)comm, name, mode, (MPI_File)file);
}

static void view_set(void *file, int code, int64_t displacement, intptr_t etype, intptr_t filetype,
                     const char *datarep)
{
    capture_view_set((MPI_File)file, code, displacement, (MPI_Datatype)etype,
                     (MPI_Datatype)filetype, datarep);
    capture_accesses_view_set((MPI_File)file, (MPI_Datatype)etype);
}

static void *closing(void *file)
{
    return capture_take((MPI_File)file);
}

static void closed(void *record)
{
    capture_gather(record);
    capture_file_free(record);
}

static int64_t position(void *file)
{
    return capture_accesses_position((MPI_File)file);
}

static void accessed(void *file, bool writing, int64_t offset, int64_t count, intptr_t type)
{
    capture_accesses_add((MPI_File)file, writing, offset, count, (MPI_Datatype)type);
}

static void accessed_shared(void *file)
{
    capture_accesses_lose((MPI_File)file);
}

static void finalize(void)
{
    struct capture_file *file;

    while ((file = capture_take_any()))
        closed(file);
    capture_gather_pending();
    capture_note(CAPTURE_ENDED, "");
}

__attribute__((visibility("default"))) const struct capture_hooks mpiio_capture_hooks = {
    .opened = opened,
    .view_set = view_set,
    .closing = closing,
    .closed = closed,
    .position = position,
    .accessed = accessed,
    .accessed_shared = accessed_shared,
    .finalize = finalize,
};
