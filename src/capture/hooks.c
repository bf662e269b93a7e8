/* SPDX-License-Identifier: MIT */
#include "hooks.h"

#include "calls.h"
#include "files.h"
#include "gather.h"
#include "output.h"

void capture_hook_opened(intptr_t comm, const char *name, int mode, void *file)
{
    capture_opened((MPI_Comm)comm, name, mode, (MPI_File)file);
}

void capture_hook_view_set(void *file, int code, int64_t displacement, intptr_t etype,
                           intptr_t filetype, const char *datarep)
{
    capture_view_set((MPI_File)file, code, displacement, (MPI_Datatype)etype,
                     (MPI_Datatype)filetype, datarep);
    capture_accesses_view_set((MPI_File)file, (MPI_Datatype)etype);
}

void *capture_hook_closing(void *file)
{
    return file ? capture_take((MPI_File)file) : NULL;
}

void capture_hook_closed(void *record)
{
    capture_gather(record);
    capture_file_free(record);
}

int64_t capture_hook_position(void *file)
{
    return capture_accesses_position((MPI_File)file);
}

void capture_hook_accessed(void *file, bool writing, int64_t offset, int64_t count, intptr_t type)
{
    capture_accesses_add((MPI_File)file, writing, offset, count, (MPI_Datatype)type);
}

void capture_hook_accessed_shared(void *file)
{
    capture_accesses_lose((MPI_File)file);
}

void capture_hook_finalize(void)
{
    struct capture_file *file;

    while ((file = capture_take(MPI_FILE_NULL)))
        capture_hook_closed(file);
    capture_gather_pending();
    capture_note(CAPTURE_ENDED, "");
}
