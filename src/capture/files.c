/* SPDX-License-Identifier: MIT */
#include "files.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "viewspec/base/hash.h"
#include "viewspec/base/list.h"
#include "datatype.h"
#include "log.h"

/* Room for captured views, the default view, and one entry for all others. */
#define KNOWN_ROOM (CAPTURE_MAX_VIEWS + 2)

/*
 * Limits of the work of hashing one view, and of all views of a file (datatype.h). Converting and
 * compiling a view takes NEW_WORTH times as long as hashing it.
 */
#define MAX_WORK     (4 << 20)
#define MAX_ALL_WORK ((int64_t)1 << 30)
#define NEW_WORTH    64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct capture_file *list; /* under lock; in the order of opening */

/* ROMIO accepts a filesystem type as a prefix of the name: "ufs:data" is the file data. */
static const char *without_prefix(const char *name)
{
    const char *colon = strchr(name, ':');

    if (colon == NULL || memchr(name, '/', (size_t)(colon - name)) || access(name, F_OK) == 0)
        return name;
    return colon + 1;
}

MPI_Comm capture_copy_comm(MPI_Comm comm)
{
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Group group;

    if (PMPI_Comm_group(comm, &group))
        return MPI_COMM_NULL;
    if (PMPI_Comm_create(comm, group, &copy))
        copy = MPI_COMM_NULL;
    PMPI_Group_free(&group);
    if (copy != MPI_COMM_NULL)
        PMPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
    return copy;
}

/* Returns true if the path is valid UTF-8 without control characters, so that a spec and a line
   of the log can contain it. */
static bool is_plain(const char *path)
{
    json_t *json = json_string(path);
    bool plain = json != NULL;

    json_decref(json);
    for (; plain && *path; path++)
        plain = (unsigned char)*path >= ' ';
    return plain;
}

/* Takes ownership of comm on success. Only rank 0 needs the path of the file. */
static struct capture_file *new_file(MPI_Comm comm, const char *name, int mode, MPI_File handle)
{
    struct capture_file *file = calloc(1, sizeof(*file));

    if (file == NULL)
        return NULL;
    PMPI_Comm_rank(comm, &file->rank);
    PMPI_Comm_size(comm, &file->ranks);
    file->comm = comm;
    file->path = file->rank ? strdup(name) : realpath(without_prefix(name), NULL);
    if (!file->path || (file->rank == 0 && !is_plain(file->path))) {
        capture_say("%s: not captured: %s", name,
                    file->path ? "its path is not plain text" : strerror(errno));
        free(file->path);
        free(file);
        return NULL;
    }
    file->handle = handle;
    file->temporary = mode & MPI_MODE_DELETE_ON_CLOSE;
    file->accesses =
        (struct capture_accesses){.counted = true, .unit = 1, .type = MPI_DATATYPE_NULL};
    return file;
}

static void append_file(struct capture_file *file)
{
    struct capture_file **end = &list;

    pthread_mutex_lock(&lock);
    while (*end)
        end = &(*end)->next;
    *end = file;
    pthread_mutex_unlock(&lock);
}

void capture_opened(intptr_t comm, const char *name, int mode, void *handle)
{
    struct capture_file *file;
    MPI_Comm copy;
    int have, all = 0;

    copy = capture_copy_comm((MPI_Comm)comm);
    if (copy == MPI_COMM_NULL) {
        capture_say("%s: not captured: no communicator is left for it", name);
        return;
    }
    /* This is collective: either all of its processes record the file, or none. */
    file = new_file(copy, name, mode, handle);
    have = file != NULL;
    PMPI_Allreduce(&have, &all, 1, MPI_INT, MPI_MIN, copy);
    if (!all) {
        if (file)
            capture_file_free(file);
        else
            PMPI_Comm_free(&copy);
        return;
    }
    append_file(file);
    if (file->rank == 0)
        capture_note(file->temporary ? CAPTURE_DELETED : CAPTURE_OPENED, file->path);
}

struct capture_file *capture_find(MPI_File handle)
{
    struct capture_file *file;

    pthread_mutex_lock(&lock);
    for (file = list; file && file->handle != handle;)
        file = file->next;
    pthread_mutex_unlock(&lock);
    return file;
}

static void append_step(struct capture_file *file, size_t known)
{
    if (VS_LIST_ROOM(file->steps, file->step_count, file->step_room))
        file->steps[file->step_count++] = (struct capture_view_call){.known = known};
    else
        file->broken = true;
}

static size_t find_known(const struct capture_file *file, uint64_t draft)
{
    size_t i = 0;

    while (i < file->known_count && file->known[i].draft != draft)
        i++;
    return i;
}

char *capture_because(const char *why)
{
    char *text;

    return asprintf(&text, "!%s", why) < 0 ? NULL : text;
}

/* Appends text, which is stolen, to the known views. */
static void append_known(struct capture_file *file, uint64_t draft, char *text,
                         struct capture_tile tile)
{
    struct capture_known *known =
        text ? realloc(file->known, (file->known_count + 1) * sizeof(*known)) : NULL;

    if (!known) {
        free(text);
        file->broken = true;
        return;
    }
    file->known = known;
    known[file->known_count++] = (struct capture_known){
        .draft = draft, .hash = vs_hash_text(VS_HASH_START, text), .text = text, .tile = tile};
}

static const char too_large[] = "the views of this file are too large together";

/* Returns the text of a view that is set for the first time, or the reason why there is none. */
static char *view_text(struct capture_file *file, const struct capture_view_args *args,
                       struct capture_tile *tile)
{
    char why[CAPTURE_WHY_SIZE], *text = capture_view_text(args, tile, why);

    if (text && strlen(text) > CAPTURE_MAX_TEXT - file->known_bytes) {
        free(text);
        file->known_bytes = CAPTURE_MAX_TEXT;
        return capture_because(too_large);
    }
    file->known_bytes += text ? strlen(text) : 0;
    return text ? text : capture_because(why);
}

/* Computes the view's fingerprint. Returns NULL, or the reason why the view is not captured. */
static const char *look_at(struct capture_file *file, const struct capture_view_args *args,
                           int code, uint64_t *draft)
{
    int64_t work = MAX_WORK;

    if (code)
        return "MPI_File_set_view failed";
    if (file->work > MAX_ALL_WORK)
        return "views were set so often, or such large ones, that no more are looked at";
    *draft = vs_hash_mix(vs_hash_text(VS_HASH_START, args->datarep), (uint64_t)args->displacement);
    *draft = capture_fingerprint(*draft, args->etype, &work);
    *draft = capture_fingerprint(*draft, args->filetype, &work);
    file->work += MAX_WORK - work;
    if (work < 0)
        return "its datatypes are too large, each use of one counted";
    if (find_known(file, *draft) < file->known_count)
        return NULL;
    file->work += NEW_WORTH * (MAX_WORK - work);
    return file->known_bytes == CAPTURE_MAX_TEXT ? too_large : NULL;
}

/* Returns the index of the view among the known ones, after adding it if it is new. */
static size_t know_view(struct capture_file *file, const struct capture_view_args *args, int code)
{
    struct capture_tile tile = {.size = -1};
    uint64_t draft = 0;
    const char *why = look_at(file, args, code, &draft);
    size_t found;

    if (why)
        draft = vs_hash_text(VS_HASH_START, why);
    found = find_known(file, draft);
    if (found == file->known_count && found == KNOWN_ROOM)
        return found - 1;
    if (found == file->known_count) {
        char *text = why ? capture_because(why) : view_text(file, args, &tile);

        append_known(file, draft, text, tile);
    }
    return found;
}

/* With MPI_MODE_SEQUENTIAL a view begins at the file pointer. */
static MPI_Offset current_displacement(MPI_File handle)
{
    char datarep[MPI_MAX_DATAREP_STRING];
    MPI_Offset displacement = 0;
    MPI_Datatype etype, filetype;

    if (!PMPI_File_get_view(handle, &displacement, &etype, &filetype, datarep)) {
        capture_type_free(etype);
        capture_type_free(filetype);
    }
    return displacement;
}

void capture_view_set(struct capture_file *file, int code, MPI_Offset displacement,
                      MPI_Datatype etype, MPI_Datatype filetype, const char *datarep)
{
    struct capture_view_args args = {.rank = file->rank,
                                     .ranks = file->ranks,
                                     .displacement = displacement,
                                     .etype = etype,
                                     .filetype = filetype,
                                     .datarep = datarep};

    if (displacement == MPI_DISPLACEMENT_CURRENT && !code)
        args.displacement = current_displacement(file->handle);
    append_step(file, know_view(file, &args, code));
}

struct capture_file *capture_take(MPI_File handle, bool any)
{
    struct capture_file **link = &list, *file;

    pthread_mutex_lock(&lock);
    while (*link && !any && (*link)->handle != handle)
        link = &(*link)->next;
    file = *link;
    if (file)
        *link = file->next;
    pthread_mutex_unlock(&lock);
    return file;
}

void capture_file_free(struct capture_file *file)
{
    if (file == NULL)
        return;
    PMPI_Comm_free(&file->comm);
    for (size_t i = 0; i < file->known_count; i++)
        free(file->known[i].text);
    capture_extents_free(&file->accesses.extents[0]);
    capture_extents_free(&file->accesses.extents[1]);
    free(file->known);
    free(file->steps);
    free(file->path);
    free(file);
}
