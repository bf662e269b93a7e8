/* SPDX-License-Identifier: MIT */
#include "gather.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "log.h"
#include "views.h"
#include "viewspec/base/integer.h"

/* The views and accesses of each file that this process has seen, kept until the program ends. */

/* A file with fewer views has its spec written each time that they change. */
#define MANY 16

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/*
 * Under lock. {"RANKS PATH": {"path", "ranks", "size", "views", "set", "accessed", "irregular",
 * "full", "written", "spec"}}. views and accessed are notes of views that were set and of views
 * made of accesses. set exists if an opening had views that show what each rank has accessed;
 * irregular, if no view could be made of accesses; full, if there were too many views. written is
 * the number of views in the spec, and spec has them.
 */
static json_t *seen;

static json_t *find_seen(const char *path, int ranks)
{
    char key[PATH_MAX + 16];
    json_t *entry;

    if (seen == NULL)
        seen = json_object();
    snprintf(key, sizeof(key), "%d %s", ranks, path);
    entry = json_object_get(seen, key);
    if (entry == NULL) {
        entry = json_pack("{s:s, s:i, s:[], s:[], s:i}", "path", path, "ranks", ranks, "views",
                          "accessed", "written", 0);
        json_object_set_new(seen, key, entry);
    }
    return entry;
}

/* Merges the notes of views into the list. Returns false if the list would get too long. */
static bool join_seen(json_t *list, json_t *views)
{
    json_t *view, *old = NULL;
    size_t i, j;

    json_array_foreach(views, i, view)
    {
        json_array_foreach(list, j, old) if (json_equal(json_object_get(view, "view"),
                                                        json_object_get(old, "view"))) break;
        if (j == json_array_size(list) && j == CAPTURE_MAX_VIEWS)
            return false;
        if (j == json_array_size(list))
            json_array_append(list, view);
        else
            capture_tiles_join(old, view);
    }
    return true;
}

static int64_t number_of(const json_t *entry, const char *key)
{
    return json_integer_value(json_object_get(entry, key));
}

/* Updates the file's size. A file that was removed after it was closed keeps its last size. */
static void measure_file(json_t *entry)
{
    struct stat st;

    if (stat(json_string_value(json_object_get(entry, "path")), &st) == 0)
        json_object_set_new(entry, "size", json_integer((json_int_t)st.st_size));
}

/* Writes the spec, if it has changed. */
static void write_entry(json_t *entry)
{
    json_t *views = capture_tiles_settle(json_object_get(entry, "views"), number_of(entry, "size"));

    if (json_array_size(views) && !json_equal(views, json_object_get(entry, "spec")))
        capture_write_spec(json_string_value(json_object_get(entry, "path")),
                           (int)number_of(entry, "ranks"), false, views);
    json_object_set_new(entry, "written", json_integer((json_int_t)json_array_size(views)));
    json_object_set_new(entry, "spec", views);
}

/* Adds views, under lock. If there are too many, and the spec needs them, reports that once. */
static void add_views(json_t *entry, const char *key, json_t *views, bool needed)
{
    if (join_seen(json_object_get(entry, key), views) || !needed || json_object_get(entry, "full"))
        return;
    json_object_set_new(entry, "full", json_true());
    capture_say("%s: more than %d different views were set: the first ones are captured",
                json_string_value(json_object_get(entry, "path")), CAPTURE_MAX_VIEWS);
}

void capture_pending_add(const struct capture_file *file, json_t *views, bool was_set,
                         json_t *accessed)
{
    json_t *entry, *list;
    int processes = 1;

    PMPI_Comm_size(MPI_COMM_WORLD, &processes);
    pthread_mutex_lock(&lock);
    entry = find_seen(file->path, file->ranks);
    list = json_object_get(entry, "views");
    if (entry && list) {
        measure_file(entry);
        if (was_set && accessed == NULL)
            json_object_set_new(entry, "set", json_true());
        if (accessed && !json_array_size(accessed))
            json_object_set_new(entry, "irregular", json_true());
        add_views(entry, "views", views, json_object_get(entry, "set") != NULL);
        add_views(entry, "accessed", accessed, true);
        /* Many views are written only when their number has doubled: the spec may be long. */
        if (json_object_get(entry, "set") && (file->ranks > 1 || processes == 1) &&
            (json_array_size(list) < MANY ||
             (int64_t)json_array_size(list) >= 2 * number_of(entry, "written")))
            write_entry(entry);
    }
    pthread_mutex_unlock(&lock);
}

char *capture_pending_text(void)
{
    const char *key;
    json_t *entry;
    char *text;

    pthread_mutex_lock(&lock);
    json_object_foreach(seen, key, entry)
    {
        measure_file(entry);
        if (number_of(entry, "written"))
            write_entry(entry);
        json_object_del(entry, "spec");
    }
    text = seen ? json_dumps(seen, JSON_COMPACT) : strdup("{}");
    json_decref(seen);
    seen = NULL;
    pthread_mutex_unlock(&lock);
    return text;
}

/* The information of all processes on one file. */
struct file_sum {
    const char *path;
    /* arrays of views, one for each process that opened the file alone and has some */
    json_t *ranks;
    bool set;     /* a view was set; errors of its capture were reported then */
    int64_t size; /* of the file, in bytes */
};

static void add_up(struct file_sum *sum, const json_t *entry)
{
    json_t *views = json_object_get(entry, "views");

    sum->set = sum->set || json_object_get(entry, "set");
    sum->size = vs_max(sum->size, number_of(entry, "size"));
    if (number_of(entry, "ranks") == 1 && !number_of(entry, "written") && json_array_size(views))
        json_array_append(sum->ranks, views);
}

static void write_notes(const struct file_sum *sum, const json_t *entry, const json_t *notes)
{
    json_t *views = capture_tiles_settle(notes, sum->size);

    capture_write_spec(sum->path, (int)number_of(entry, "ranks"), false, views);
    json_decref(views);
}

/* Writes views of all bytes that several ranks have set, if views of other openings tell the
   ranks apart. */
static void add_set(const struct file_sum *sum, const json_t *entry)
{
    const json_t *notes = json_object_get(entry, "views");

    if (number_of(entry, "ranks") > 1 && !number_of(entry, "written") && json_array_size(notes))
        write_notes(sum, entry, notes);
}

/* Handles files without views that were set: writes the accesses of processes together, and
   merges the accesses of single processes into ranks. */
static bool add_accessed(struct file_sum *sum, const json_t *entry)
{
    json_t *notes = json_object_get(entry, "accessed");

    if (!json_array_size(notes))
        return json_object_get(entry, "irregular") != NULL;
    if (number_of(entry, "ranks") == 1)
        json_array_append(sum->ranks, notes);
    else
        write_notes(sum, entry, notes);
    return true;
}

/* Groups the entries of all processes by path, in their order: {PATH: [ENTRY, ...]}. */
static json_t *by_path(const char *texts, int ranks)
{
    json_t *files = json_object(), *process, *entry;
    const char *key;

    for (int i = 0; i < ranks; i++, texts += strlen(texts) + 1) {
        process = json_loads(texts, 0, NULL);
        json_object_foreach(process, key, entry)
        {
            const char *path = json_string_value(json_object_get(entry, "path"));
            if (!json_object_get(files, path))
                json_object_set_new(files, path, json_array());
            json_array_append(json_object_get(files, path), entry);
        }
        json_decref(process);
    }
    return files;
}

/* Merges one view of each single process. Returns a new note. */
static json_t *merge_column(const json_t *ranks, size_t view, json_t **column)
{
    json_t *ends = json_array(), *list, *note;
    size_t i;

    json_array_foreach(ranks, i, list)
    {
        note = json_array_get(list, view);
        column[i] = json_object_get(note, "view");
        json_array_extend(ends, json_object_get(note, "ends"));
    }
    capture_subarrays(column, json_array_size(ranks));
    note = capture_tiles_note(capture_merge(column, json_array_size(ranks)), ends);
    json_decref(ends);
    return note;
}

/* Merges the views of single processes: the first of each becomes one view, and so on. Returns
   notes. */
static json_t *merge_processes(const json_t *ranks)
{
    json_t *merged = json_array(), **column = calloc(json_array_size(ranks), sizeof(*column));
    size_t depth = json_array_size(json_array_get(ranks, 0)), i;
    json_t *views;

    json_array_foreach(ranks, i, views) depth =
        json_array_size(views) < depth ? json_array_size(views) : depth;
    for (size_t view = 0; column && view < depth; view++)
        json_array_append_new(merged, merge_column(ranks, view, column));
    free(column);
    return merged;
}

static void write_merged(const struct file_sum *sum, int processes)
{
    json_t *notes = merge_processes(sum->ranks), *list;
    json_t *views = capture_tiles_settle(notes, sum->size);
    size_t ranks = json_array_size(sum->ranks), i;

    json_array_foreach(sum->ranks, i, list) if (json_array_size(list) != json_array_size(views))
    {
        capture_say("%s: processes opened it by themselves and set different numbers of "
                    "views: the first %zu of each are captured",
                    sum->path, json_array_size(views));
        break;
    }
    if (ranks < (size_t)processes)
        capture_say("%s: %zu of %d processes opened it by themselves and have views: they are "
                    "numbered in their order",
                    sum->path, ranks, processes);
    capture_write_spec(sum->path, (int)ranks, true, views);
    json_decref(views);
    json_decref(notes);
}

static void write_bytes(const struct file_sum *sum)
{
    json_t *views = json_pack("[{s:i, s:s}]", "disp", 0, "etype", "byte");

    capture_say("%s: no view was set, and nothing was read or written through MPI: its spec is the "
                "byte view, the whole file as one slice",
                sum->path);
    capture_write_spec(sum->path, 1, false, views);
    json_decref(views);
}

static void write_file(const char *path, const json_t *entries, int processes)
{
    struct file_sum sum = {.path = path, .ranks = json_array()};
    bool any = false;
    json_t *entry;
    size_t i;

    json_array_foreach(entries, i, entry) add_up(&sum, entry);
    any = sum.set;
    json_array_foreach(entries, i, entry)
    {
        if (sum.set)
            add_set(&sum, entry);
        else
            any = add_accessed(&sum, entry) || any;
    }
    if (json_array_size(sum.ranks))
        write_merged(&sum, processes);
    if (!any)
        write_bytes(&sum);
    json_decref(sum.ranks);
}

void capture_pending_write(const char *texts, int ranks)
{
    json_t *files = by_path(texts, ranks), *entries;
    const char *path;

    json_object_foreach(files, path, entries) write_file(path, entries, ranks);
    json_decref(files);
}
