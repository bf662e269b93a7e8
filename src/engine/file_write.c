/* SPDX-License-Identifier: MIT */
#include "file_write.h"

#include <errno.h>

#include "errors.h"
#include "file.h"
#include "core/file/write_plan.h"

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
        mpiio_file_wrote(file->posix, displacement, displacement + (int64_t)length);
    return error;
}

static int64_t write_ranges(struct engine_file *file, const char *image, int64_t displacement,
                            const struct mpiio_range *ranges, size_t count, int *error,
                            struct mpiio_epoch_counters *counters)
{
    MPI_Status status;

    *error = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t at = ranges[i].start;
        int result;

        engine_fence_check(&file->fence);
        result = MPI_File_write_at(file->mpi, displacement + at, image + at, (int)ranges[i].length,
                                   MPI_BYTE, &status);
        *error = outcome(result, &status, (size_t)ranges[i].length, counters);
        if (*error != 0)
            return at;
    }
    return count == 0 ? 0 : ranges[count - 1].start + ranges[count - 1].length;
}

int64_t engine_file_write(struct engine_file *file, const char *image, int64_t displacement,
                          const struct mpiio_range *ranges, size_t count, int *error,
                          struct mpiio_epoch_counters *counters)
{
    struct mpiio_counters done = {0};
    int64_t end;

    if (file->posix == NULL && file->mpi == MPI_FILE_NULL) {
        *error = -EBADF;
        return count == 0 ? 0 : ranges[0].start;
    }
    engine_fence_enter(&file->fence);
    if (file->posix == NULL)
        end = write_ranges(file, image, displacement, ranges, count, error, counters);
    else
        end = mpiio_write_ranges(file->posix, image, displacement, ranges, count, error, &done);
    engine_fence_leave(&file->fence);
    counters->stored_bytes += done.store_write_bytes + done.store_map_write_bytes;
    counters->store_map_bytes += done.store_map_write_bytes;
    counters->store_calls += done.store_writes;
    return end;
}

int engine_file_sync(struct engine_file *file)
{
    /* Either brings the whole file to the device, whoever of this machine wrote what. */
    if (file->posix != NULL)
        return mpiio_file_sync(file->posix, false);
    return file->mpi != MPI_FILE_NULL ? engine_error(MPI_File_sync(file->mpi)) : 0;
}
