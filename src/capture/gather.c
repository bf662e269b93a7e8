/* SPDX-License-Identifier: MIT */
#include "gather.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "hooks.h"
#include "log.h"
#include "views.h"

/* Gathering the texts of all ranks. */

/* Collective: returns true if ready is true on every rank. */
static bool agree_all(MPI_Comm comm, bool ready)
{
    int own = ready, all = 0;

    return !PMPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, comm) && all;
}

/* On rank 0, computes the place of each text, and allocates memory for all. Returns NULL on
   failure. */
static char *make_room(int ranks, const int *lengths, int64_t *room, int *places)
{
    int64_t total = 0;

    for (int i = 0; i < ranks && total <= *room; i++) {
        places[i] = (int)total;
        total += lengths[i];
    }
    if (total > *room)
        return NULL;
    *room -= total;
    return malloc((size_t)total + 1);
}

/*
 * Gathers each rank's text (terminated, borrowed) at rank 0, in rank order, with the terminators.
 * Collective. On rank 0 *texts must be freed with free(); on others it is NULL. Returns 0, or -1 on
 * all ranks if the texts exceed *room bytes, or memory is exhausted. Subtracts their size from
 * *room, which matters only on rank 0.
 */
static int gather_texts(MPI_Comm comm, int rank, int ranks, const char *text, int64_t *room,
                        char **texts)
{
    size_t count = rank ? 1 : (size_t)ranks, length = strlen(text) + 1;
    int *lengths = calloc(count, sizeof(*lengths)), *places = calloc(count, sizeof(*places));
    int own = (int)length, error = -1;
    bool ready = lengths && places && length <= INT32_MAX;

    *texts = NULL;
    if (agree_all(comm, ready) && !PMPI_Gather(&own, 1, MPI_INT, lengths, 1, MPI_INT, 0, comm)) {
        if (rank == 0)
            *texts = make_room(ranks, lengths, room, places);
        if (agree_all(comm, rank || *texts))
            error = PMPI_Gatherv(text, own, MPI_CHAR, *texts, lengths, places, MPI_CHAR, 0, comm)
                        ? -1
                        : 0;
    }
    if (error) {
        free(*texts);
        *texts = NULL;
    }
    free(lengths);
    free(places);
    return error;
}

/* Merging the views of all ranks. */

/* Parses the text of one rank. If it has no view, reports the reason. */
static json_t *parse_text(const struct capture_file *file, const char *text, size_t rank)
{
    json_t *json = *text == '!' ? NULL : json_loads(text, 0, NULL);

    if (json == NULL)
        capture_say("%s: a view is not captured: rank %zu: %s", file->path, rank,
                    *text == '!' ? text + 1 : "out of memory");
    return json;
}

/*
 * Merges the views of `count` ranks, whose texts follow each other; if they are common, the first
 * has the view. Returns a note (gather.h).
 */
static json_t *merge_texts(const struct capture_file *file, const char *texts, size_t count,
                           bool common)
{
    json_t **views = calloc(count, sizeof(*views)), *ends = json_array(), *note = NULL;
    size_t parsed = 0, different = common ? 1 : count;

    for (; views && parsed < count; parsed++, texts += strlen(texts) + 1) {
        if (!(views[parsed] = parse_text(file, texts, parsed)))
            break;
        capture_tiles_take(views[parsed], ends);
    }
    if (views && parsed == count) {
        if (different > 1)
            capture_subarrays(views, different);
        note = capture_tiles_note(capture_merge(views, different), ends);
    }
    for (size_t i = 0; i < parsed; i++)
        json_decref(views[i]);
    json_decref(ends);
    free(views);
    return note;
}

/* The maximum size in bytes of the texts of files that wait until the program ends. */
#define PENDING_ROOM (256 << 20)

/*
 * Collective. On rank 0, returns the note of all ranks' views, NULL if there is none. own is this
 * rank's text, which is stolen; NULL if memory is exhausted. Subtracts the size of the texts from
 * *room.
 */
static json_t *gather_view(const struct capture_file *file, char *own, bool common, bool even,
                           int64_t *room)
{
    const char *text = own ? own : "!out of memory";
    json_t *note = NULL;
    char *texts = NULL;
    int error = 0;

    if (!common || !even)
        error = gather_texts(file->comm, file->rank, file->ranks, text, room, &texts);
    if (file->rank == 0 && error)
        capture_say("%s: a view is not captured: all ranks' views together are too large",
                    file->path);
    else if (file->rank == 0)
        note = merge_texts(file, texts ? texts : text, texts ? (size_t)file->ranks : 1, common);
    free(texts);
    free(own);
    return note;
}

/* Collective. On rank 0, returns the notes of all steps. */
static json_t *gather_steps(const struct capture_file *file, const struct capture_step *steps,
                            long count)
{
    json_t *notes = json_array(), *note;
    int64_t room = CAPTURE_MAX_TEXT;

    for (long i = 0; i < count; i++) {
        note = gather_view(file, capture_tiles_text(file, &steps[i]), steps[i].common,
                           steps[i].even, &room);
        if (note)
            json_array_append_new(notes, note);
    }
    return notes;
}

/*
 * Collective over the file's communicator, after MPI_File_close. Rank 0 merges the views and writes
 * the spec. Files that a single process has opened, and files without a view, wait for
 * gather_pending.
 */
static void gather_file(struct capture_file *file)
{
    json_t *views, *accessed = NULL, *note;
    int64_t room = CAPTURE_MAX_TEXT;
    struct capture_step *steps;
    char *text = NULL;
    long count;

    if (file->temporary)
        return;
    if (capture_accesses_view(file, &text))
        accessed = json_array();
    count = capture_find_steps(file, &steps);
    views = gather_steps(file, steps, count);
    if (accessed && (note = gather_view(file, text, false, false, &room)))
        json_array_append_new(accessed, note);
    if (file->rank == 0 && count >= 0)
        capture_pending_add(file, views, count > 0, accessed);
    /* mpiexec kills rank 0 if another rank exits: no rank goes on until the spec is written. */
    PMPI_Barrier(file->comm);
    json_decref(accessed);
    json_decref(views);
    free(steps);
}

/*
 * Collective over MPI_COMM_WORLD, before MPI_Finalize: writes the specs of files that single
 * processes have opened, as views of the ranks of MPI_COMM_WORLD, and of files that have no view.
 */
static void gather_pending(void)
{
    MPI_Comm comm = capture_copy_comm(MPI_COMM_WORLD);
    char *own, *texts = NULL;
    int64_t room = PENDING_ROOM;
    int rank = 0, ranks = 1;

    if (comm == MPI_COMM_NULL)
        return;
    PMPI_Barrier(comm);
    own = capture_pending_text();
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &ranks);
    if (gather_texts(comm, rank, ranks, own ? own : "{}", &room, &texts) == 0 && rank == 0)
        capture_pending_write(texts, ranks);
    else if (rank == 0)
        capture_say("files without a view, or opened by single processes, are not captured: out "
                    "of memory");
    PMPI_Barrier(comm);
    free(texts);
    free(own);
    PMPI_Comm_free(&comm);
}

/* The hooks. */

static void hook_view_set(void *handle, int code, int64_t displacement, intptr_t etype,
                          intptr_t filetype, const char *datarep)
{
    struct capture_file *file = capture_find((MPI_File)handle);

    if (file == NULL)
        return;
    capture_view_set(file, code, displacement, (MPI_Datatype)etype, (MPI_Datatype)filetype,
                     datarep);
    capture_accesses_view_set(file, (MPI_Datatype)etype);
}

static void *hook_closing(void *file)
{
    return capture_take((MPI_File)file, false);
}

static void hook_closed(void *record)
{
    gather_file(record);
    capture_file_free(record);
}

static int64_t hook_position(void *file)
{
    MPI_Offset offset = -1;

    return PMPI_File_get_position((MPI_File)file, &offset) ? -1 : offset;
}

static void hook_finalize(void)
{
    struct capture_file *file;

    while ((file = capture_take(MPI_FILE_NULL, true)))
        hook_closed(file);
    gather_pending();
    capture_note(CAPTURE_ENDED, "");
}

__attribute__((visibility("default"))) const struct capture_hooks mpiio_capture_hooks = {
    .opened = capture_opened,
    .view_set = hook_view_set,
    .closing = hook_closing,
    .closed = hook_closed,
    .position = hook_position,
    .accessed = capture_accesses_add,
    .finalize = hook_finalize,
};
