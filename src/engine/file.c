/* SPDX-License-Identifier: MIT */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file_write.h"
#include "core/base/fd_link.h"
#include "core/base/filesystem.h"
#include "core/file/file.h"
#include "core/members/assembled.h"

/* The ways to store runs. If nodes choose differently, the highest value wins. */
enum way { WAY_POSIX, WAY_BOTH, WAY_MPI };

/*
 * Chooses how to store. On a local filesystem POSIX calls and mappings do everything that MPI-IO
 * does. For others, MPI-IO has drivers with better knowledge of striping, locks and coherence.
 */
static enum way choose_way(const struct mpiio_message_hello *hello)
{
    if (hello->store == MPIIO_STORE_AUTO)
        return mpiio_filesystem_at(hello->path)->one_machine ? WAY_BOTH : WAY_MPI;
    return hello->store == MPIIO_STORE_POSIX ? WAY_POSIX : WAY_MPI;
}

/*
 * Builds the hints from the spec, and sets three that the spec cannot override. ROMIO's two-phase
 * writes and data sieving fill gaps between runs by read-modify-write, which undoes concurrent
 * stores there. The exchange with the homes already replaces two-phase I/O. romio_no_indep_rw would
 * enable two-phase writes again.
 */
static MPI_Info make_info(const struct mpiio_hints *hints)
{
    MPI_Info info;

    MPI_Info_create(&info);
    for (uint32_t i = 0; i < hints->count; i++)
        if (*hints->hint[i].key != '\0' && *hints->hint[i].value != '\0' &&
            strlen(hints->hint[i].key) <= MPI_MAX_INFO_KEY &&
            strlen(hints->hint[i].value) <= MPI_MAX_INFO_VAL)
            MPI_Info_set(info, hints->hint[i].key, hints->hint[i].value);
    MPI_Info_set(info, "romio_cb_write", "disable");
    MPI_Info_set(info, "romio_ds_write", "disable");
    MPI_Info_set(info, "romio_no_indep_rw", "false");
    return info;
}

/* Collective. Opens the file with MPI-IO. ROMIO takes a prefix before a colon for a driver's
   name. */
static int open_mpi(struct engine_file *file, const struct mpiio_message_hello *hello)
{
    MPI_Info info = make_info(&hello->hints);
    char *path;
    int error = asprintf(&path, "%s%s", strchr(hello->path, ':') ? "ufs:" : "", hello->path);

    if (error < 0)
        path = NULL;
    /* If one node has no path, the call fails on all nodes. */
    error = engine_error(
        MPI_File_open(MPI_COMM_WORLD, path != NULL ? path : "", MPI_MODE_RDWR, info, &file->mpi));
    free(path);
    MPI_Info_free(&info);
    if (error != 0)
        file->mpi = MPI_FILE_NULL;
    else
        MPI_File_set_errhandler(file->mpi, MPI_ERRORS_RETURN);
    return error;
}

/* Collective: appends node 0's host name to text, unless that is empty. */
static void name_first(struct engine_collective *group, char *text, size_t size)
{
    char first[MPI_MAX_PROCESSOR_NAME] = "";
    size_t end = strlen(text);
    int length;

    MPI_Get_processor_name(first, &length);
    engine_collective_share(group, first, sizeof(first), 0);
    if (end > 0)
        snprintf(text + end, size - end, " (%s)", first);
}

/* Checks that fd, or path if fd is AT_FDCWD, is the file that the daemon has open. Returns 0,
   -ESTALE or another negative errno. */
static int check_file(int fd, const char *path, const struct mpiio_message_hello *hello)
{
    struct stat st;

    if (fstatat(fd, path, &st, AT_EMPTY_PATH) != 0)
        return -errno;
    return st.st_dev == hello->device && st.st_ino == hello->inode ? 0 : -ESTALE;
}

static void say_not_open(const char *path, int error, char *text, size_t size)
{
    if (error == -ESTALE)
        snprintf(text, size, "%s: another file than the daemon has open", path);
    else if (error != 0)
        snprintf(text, size, "%s: cannot open: %s", path, strerror(-error));
}

/*
 * Finds the file that the daemon has open. Another user may own its folder and rename files, so
 * everything except MPI-IO opens the file by this descriptor. Collective: returns -1 if any node
 * fails.
 */
static int find_file(struct engine_file *file, struct engine_collective *group,
                     const struct mpiio_message_hello *hello, char *text, size_t size)
{
    int error;

    file->found = open(hello->path, O_PATH | O_CLOEXEC);
    error = file->found < 0 ? -errno : check_file(file->found, "", hello);
    say_not_open(hello->path, error, text, size);
    return engine_collective_error(group, error) != 0 ? -1 : 0;
}

/* Collective: returns true if all nodes have the same file. Otherwise text on a node with a
   different file reports this. */
static bool is_same(struct engine_collective *group, const char *link, const char *path, char *text,
                    size_t size)
{
    int64_t differs = engine_same_file(group, link) == ENGINE_OTHER;

    if (differs)
        snprintf(text, size, "%s: not the same file here as on node 0", path);
    name_first(group, text, size);
    engine_collective_max(group, &differs, 1);
    return differs == 0;
}

/* Collective. */
static int open_members(struct engine_file *file, struct engine_collective *group,
                        const struct mpiio_message_hello *hello, char *text, size_t size)
{
    int error = engine_members_open(hello, file, text, size);

    if (engine_collective_error(group, error) != 0)
        return -1;
    if (engine_members_same(group, vs_spec_members(file->members), file->posix, text, size))
        return 0;
    name_first(group, text, size);
    return -1;
}

/* Collective. MPI-IO accepts only a path, so the path is checked again after the open. */
static int open_way(struct engine_file *file, enum way way, const char *link,
                    const struct mpiio_message_hello *hello)
{
    int error = 0;

    if (way != WAY_MPI)
        error = mpiio_file_open(link, O_RDWR, &file->posix);
    if (file->posix != NULL)
        mpiio_file_set_coherence(file->posix, hello->coherence);
    if (way != WAY_POSIX) {
        int other = open_mpi(file, hello);

        error = error != 0 ? error : other;
        if (error == 0)
            error = check_file(AT_FDCWD, hello->path, hello);
    }
    return error;
}

int engine_file_open(struct engine_file *file, struct engine_collective *group,
                     const struct mpiio_message_hello *hello, char *text, size_t size)
{
    bool nothing = *hello->path == '\0';
    int64_t most[3] = {nothing ? 0 : choose_way(hello), nothing, !nothing};
    char link[MPIIO_FD_LINK_SIZE];
    int error;

    *text = '\0';
    engine_collective_max(group, most, 3);
    if (most[1] != 0) {
        /* If only some nodes have no path, these report the error. */
        if (most[2] != 0 && nothing)
            snprintf(text, size,
                     "the file is read-only here, and not on other nodes (mount it read-only with "
                     "-o ro)");
        return most[2] != 0 ? -1 : 0;
    }
    if (hello->assembled)
        return open_members(file, group, hello, text, size);
    error = find_file(file, group, hello, text, size);
    mpiio_fd_link(file->found, link);
    if (error != 0 || !is_same(group, link, hello->path, text, size))
        return -1;
    error = open_way(file, (enum way)most[0], link, hello);
    say_not_open(hello->path, error, text, size);
    return engine_collective_error(group, error) != 0 ? -1 : 0;
}

void engine_file_close(struct engine_file *file)
{
    if (file->fence.file >= 0)
        close(file->fence.file);
    if (file->mpi != MPI_FILE_NULL)
        MPI_File_close(&file->mpi);
    mpiio_file_close(file->posix);
    if (file->found >= 0)
        close(file->found);
    vs_spec_free(file->members);
}

void engine_file_hints(const struct engine_file *file, struct mpiio_hints *hints, char **texts)
{
    const size_t stride = MPI_MAX_INFO_KEY + 1 + MPI_MAX_INFO_VAL + 1;
    MPI_Info info = MPI_INFO_NULL;
    size_t bytes = 0;
    int count = 0, found;

    hints->count = 0;
    *texts = NULL;
    if (file->mpi == MPI_FILE_NULL || MPI_File_get_info(file->mpi, &info) != MPI_SUCCESS)
        return;
    MPI_Info_get_nkeys(info, &count);
    if (count > MPIIO_HINTS_MAX)
        count = MPIIO_HINTS_MAX;
    *texts = calloc((size_t)count + 1, stride);
    for (int i = 0; i < count && *texts != NULL; i++) {
        char *key = *texts + (size_t)i * stride;
        char *value = key + MPI_MAX_INFO_KEY + 1;

        MPI_Info_get_nthkey(info, i, key);
        MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
        /* Both lengths, including their prefixes. */
        bytes += strlen(key) + strlen(value) + 10;
        if (found && bytes < MPIIO_MESSAGE_MAX - 8)
            hints->hint[hints->count++] = (struct mpiio_hint){key, value};
    }
    MPI_Info_free(&info);
}

/* Returns the value of a hint, its last one if it occurs several times, or 0. */
static int64_t number_of(const struct mpiio_hints *hints, const char *key)
{
    int64_t number = 0;

    for (uint32_t i = 0; i < hints->count; i++)
        if (strcmp(hints->hint[i].key, key) == 0)
            number = strtoll(hints->hint[i].value, NULL, 10);
    return number;
}

void engine_file_striping(const struct engine_file *file, const struct mpiio_hints *given,
                          int64_t *unit, int64_t *factor)
{
    struct mpiio_hints used;
    char *texts;

    engine_file_hints(file, &used, &texts);
    *unit = number_of(&used, "striping_unit");
    *factor = number_of(&used, "striping_factor");
    free(texts);
    if (*unit <= 0)
        *unit = number_of(given, "striping_unit");
    if (*factor <= 0)
        *factor = number_of(given, "striping_factor");
}
