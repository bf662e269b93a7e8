/* SPDX-License-Identifier: MIT */
#include "file.h"

#include <errno.h>
#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "core/base/fd_link.h"
#include "core/file/file.h"
#include "core/store_layers.h"
#include "file_write.h"

/* MPI errors. */

static const struct {
    int class;
    int number;
} table[] = {
    {MPI_ERR_ACCESS, EACCES},
    {MPI_ERR_AMODE, EINVAL},
    {MPI_ERR_ARG, EINVAL},
    {MPI_ERR_BAD_FILE, ENAMETOOLONG},
    {MPI_ERR_CONVERSION, ERANGE},
    {MPI_ERR_COUNT, EINVAL},
    {MPI_ERR_FILE, EBADF},
    {MPI_ERR_FILE_EXISTS, EEXIST},
    {MPI_ERR_FILE_IN_USE, EBUSY},
    {MPI_ERR_INFO_VALUE, EINVAL},
    {MPI_ERR_IO, EIO},
    {MPI_ERR_NO_MEM, ENOMEM},
    {MPI_ERR_NO_SPACE, ENOSPC},
    {MPI_ERR_NO_SUCH_FILE, ENOENT},
    {MPI_ERR_QUOTA, EDQUOT},
    {MPI_ERR_READ_ONLY, EROFS},
    {MPI_ERR_UNSUPPORTED_DATAREP, ENOTSUP},
    {MPI_ERR_UNSUPPORTED_OPERATION, ENOTSUP},
};

/*
 * ROMIO's drivers map most system errors to MPI_ERR_IO, even a full disk. The errno appears only in
 * the text, which ends with the message of strerror(3). Returns 0 if the text has no errno.
 */
static int errno_of_text(int mpi_error)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;

    if (MPI_Error_string(mpi_error, text, &length) != MPI_SUCCESS)
        return 0;
    for (int number = 1; number <= EHWPOISON; number++) {
        const char *end = strerror(number);
        int rest = length - (int)strlen(end);

        if (rest > 0 && text[rest - 1] == ' ' && strcmp(text + rest, end) == 0)
            return number;
    }
    return 0;
}

int engine_error(int mpi_error)
{
    int class = MPI_ERR_UNKNOWN;
    int number = EIO;

    if (mpi_error == MPI_SUCCESS)
        return 0;
    MPI_Error_class(mpi_error, &class);
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
        if (table[i].class == class)
            number = table[i].number;
    if (number == EIO)
        number = errno_of_text(mpi_error);
    return number != 0 ? -number : -EIO;
}

/* Fencing. */

/* Milliseconds between two checks of an expired lease. */
#define PAUSE 10

/* The fence that this process is inside; NULL: none. */
static struct engine_fence *volatile inside;
/* true while the process has the lock of that fence */
static volatile sig_atomic_t locked;

static void lock_fence(const struct engine_fence *fence)
{
    locked = mpiio_store_fence_enter(fence->file);
}

static void unlock_fence(const struct engine_fence *fence)
{
    if (locked)
        mpiio_store_fence_leave(fence->file);
    locked = false;
}

/* Waits for a valid lease. Call it without the lock: this process stores nothing meanwhile, so
   others may have the lock. Exits if the daemon has closed the channel. */
static void await_lease(const struct engine_fence *fence)
{
    struct pollfd daemon = {.fd = fence->daemon, .events = 0};

    while (!mpiio_lease_holds(fence->lease))
        if (poll(&daemon, 1, PAUSE) > 0)
            _exit(1);
}

/* Checks the lease inside the fence, before more is stored. */
static void check_fence(void *data)
{
    struct engine_fence *fence = data;

    while (!mpiio_lease_holds(fence->lease)) {
        unlock_fence(fence);
        await_lease(fence);
        lock_fence(fence);
    }
}

static void enter_fence(struct engine_fence *fence)
{
    inside = fence;
    lock_fence(fence);
    check_fence(fence);
}

static void leave_fence(struct engine_fence *fence)
{
    inside = NULL;
    unlock_fence(fence);
}

/* Handles SIGCONT. The process was stopped, perhaps in the middle of a store. */
static void on_wake(int number)
{
    struct engine_fence *fence = inside;
    int error = errno;

    (void)number;
    if (fence != NULL)
        check_fence(fence);
    errno = error;
}

static void mask_signal(int how)
{
    sigset_t wake;

    sigemptyset(&wake);
    sigaddset(&wake, SIGCONT);
    pthread_sigmask(how, &wake, NULL);
}

void engine_fence_hold_signal(void)
{
    struct sigaction action = {.sa_handler = on_wake, .sa_flags = SA_RESTART};

    mask_signal(SIG_BLOCK);
    sigaction(SIGCONT, &action, NULL);
}

void engine_fence_take_signal(void)
{
    mask_signal(SIG_UNBLOCK);
}

void engine_file_fence(struct engine_file *file, const char *path, const struct mpiio_lease *lease,
                       const struct mpiio_channel *daemon)
{
    int fd = file->posix != NULL ? file->posix->lock_fd : file->found;

    if (*path == '\0')
        return;
    file->fence = (struct engine_fence){
        .lease = lease, .daemon = mpiio_channel_fd(daemon), .file = mpiio_fd_reopen(fd, O_RDWR)};
    if (file->posix != NULL) {
        file->posix->check = check_fence;
        file->posix->check_argument = &file->fence;
    }
}

/* Storing. */

bool engine_file_is_collective(const struct engine_file *file)
{
    return file->mpi != MPI_FILE_NULL;
}

/* Returns the result of a write: ROMIO may store less than requested without an error. */
static int outcome_of(int result, MPI_Status *status, size_t length,
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
        enter_fence(&file->fence);
    result = MPI_File_write_at_all(file->mpi, displacement, memory, (int)length, MPI_BYTE, &status);
    if (length > 0)
        leave_fence(&file->fence);
    error = length == 0 ? 0 : outcome_of(result, &status, length, counters);
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

        check_fence(&file->fence);
        result = MPI_File_write_at(file->mpi, transfer->position + at, transfer->buffer + at,
                                   (int)length, MPI_BYTE, &status);
        transfer->error = outcome_of(result, &status, (size_t)length, counters);
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
    enter_fence(&file->fence);
    if (file->posix == NULL)
        write_ranges(file, transfer, counters);
    else
        file->posix->ops->write_ranges(file->posix, transfer);
    leave_fence(&file->fence);
    counters->stored_bytes += done.store_write_bytes + done.store_map_write_bytes;
    counters->store_map_bytes += done.store_map_write_bytes;
    counters->store_calls += done.store_writes;
}

int engine_file_sync(struct engine_file *file)
{
    /* Either sync stores the whole file on the device, whichever process of this machine wrote
       it. */
    if (file->posix != NULL)
        return file->posix->ops->sync(file->posix, false);
    return file->mpi != MPI_FILE_NULL ? engine_error(MPI_File_sync(file->mpi)) : 0;
}
