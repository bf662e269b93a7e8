/* SPDX-License-Identifier: MIT */
#include "file_write.h"

#include <errno.h>

#include "errors.h"
#include "file.h"
#include "core/file/file.h"

bool engine_file_is_collective(const struct engine_file *file)
{
    return file->mpi != MPI_FILE_NULL;
}

/* What became of a write: ROMIO may store less than was asked for without an error. */
static int outcome(int result, MPI_Status *status, size_t length,
                   struct mpiio_epoch_counters *counters)
{
    int error = engine_error(result);
    int count = 0;

    if (error != 0)
        return error;
    MPI_Get_count(status, MPI_BYTE, &count);
    counters->store_calls++;
    if (count > 0)
        counters->stored_bytes += (uint64_t)count;
    return (size_t)count == length ? 0 : -EIO;
}

int engine_file_write_all(struct engine_file *file, const void *memory, size_t length,
                          int64_t displacement, struct mpiio_epoch_counters *counters)
{
    MPI_Status status;
    int error, result;

    if (length > 0)
        engine_fence_enter(&file->fence);
    result = MPI_File_write_at_all(file->mpi, displacement, memory, (int)length, MPI_BYTE, &status);
    if (length > 0)
        engine_fence_leave(&file->fence);
    error = length == 0 ? 0 : outcome(result, &status, length, counters);
    if (length > 0 && error == 0 && file->posix != NULL)
        file->posix->ops->wrote(file->posix, displacement, displacement + (int64_t)length);
    return error;
}

static void write_ranges(struct engine_file *file, struct mpiio_transfer *transfer,
                         struct mpiio_epoch_counters *counters)
{
    MPI_Status status;

    transfer->bytes = 0;
    transfer->error = 0;
    for (size_t i = 0; i < transfer->count; i++) {
        int64_t at = transfer->ranges[i].start, length = transfer->ranges[i].length;
        int result;

        engine_fence_check(&file->fence);
        result = MPI_File_write_at(file->mpi, transfer->position + at, transfer->buffer + at,
                                   (int)length, MPI_BYTE, &status);
        transfer->error = outcome(result, &status, (size_t)length, counters);
        transfer->bytes = (size_t)(transfer->error == 0 ? at + length : at);
        if (transfer->error != 0)
            return;
    }
}

void engine_file_write(struct engine_file *file, struct mpiio_transfer *transfer,
                       struct mpiio_epoch_counters *counters)
{
    struct mpiio_counters done = {0};

    if (file->posix == NULL && file->mpi == MPI_FILE_NULL) {
        transfer->error = -EBADF;
        transfer->bytes = transfer->count == 0 ? 0 : (size_t)transfer->ranges[0].start;
        return;
    }
    transfer->done = &done;
    engine_fence_enter(&file->fence);
    if (file->posix == NULL)
        write_ranges(file, transfer, counters);
    else
        file->posix->ops->write_ranges(file->posix, transfer);
    engine_fence_leave(&file->fence);
    counters->stored_bytes += done.store_write_bytes + done.store_map_write_bytes;
    counters->store_map_bytes += done.store_map_write_bytes;
    counters->store_calls += done.store_writes;
}

int engine_file_sync(struct engine_file *file)
{
    /* Either brings the whole file to the device, whoever of this machine wrote what. */
    if (file->posix != NULL)
        return file->posix->ops->sync(file->posix, false);
    return file->mpi != MPI_FILE_NULL ? engine_error(MPI_File_sync(file->mpi)) : 0;
}
