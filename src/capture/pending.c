/* SPDX-License-Identifier: MIT */
#include "pending.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "merge.h"
#include "output.h"

/* From so many views of a file on its spec is not written whenever there is one more. */
#define MANY 16

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/*
 * Under lock. {"RANKS PATH": {"path", "ranks", "views", "reads", "writes", "written"}}; written:
 * how many views stand in the spec.
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
        entry = json_pack("{s:s, s:i, s:[], s:i, s:i, s:i}", "path", path, "ranks", ranks, "views",
                          "reads", 0, "writes", 0, "written", 0);
        json_object_set_new(seen, key, entry);
    }
    return entry;
}

/* Puts those views into the list that it does not have yet. False where it has too many then. */
static bool join(json_t *list, json_t *views)
{
    json_t *view, *old;
    size_t i, j;

    json_array_foreach(views, i, view)
    {
        json_array_foreach(list, j, old) if (json_equal(view, old)) break;
        if (j == json_array_size(list) && j == CAPTURE_MAX_VIEWS)
            return false;
        if (j == json_array_size(list))
            json_array_append(list, view);
    }
    return true;
}

static size_t written(const json_t *entry)
{
    return (size_t)json_integer_value(json_object_get(entry, "written"));
}

/* Writes the spec, if that is news. */
static void write_entry(json_t *entry)
{
    json_t *views = json_object_get(entry, "views");

    if (json_array_size(views) > written(entry))
        capture_write_spec(json_string_value(json_object_get(entry, "path")),
                           (int)json_integer_value(json_object_get(entry, "ranks")), views);
    json_object_set_new(entry, "written", json_integer((json_int_t)json_array_size(views)));
}

static void count(json_t *entry, const char *key, int64_t more)
{
    json_t *number = json_object_get(entry, key);

    json_integer_set(number, json_integer_value(number) + more);
}

static bool is_program_of_one(void)
{
    int ranks = 1;

    capture_calls()->Comm_size(MPI_COMM_WORLD, &ranks);
    return ranks == 1;
}

void capture_pending_add(const struct capture_file *file, json_t *views, bool was_set,
                         const int64_t accesses[2])
{
    json_t *entry, *list;

    pthread_mutex_lock(&lock);
    entry = find_seen(file->path, file->ranks);
    list = json_object_get(entry, "views");
    if (entry && list) {
        count(entry, "reads", accesses[0]);
        count(entry, "writes", accesses[1]);
        if (was_set)
            json_object_set_new(entry, "set", json_true());
        if (!join(list, views) && !json_object_get(entry, "full")) {
            json_object_set_new(entry, "full", json_true());
            capture_say(CAPTURE_TOO_MANY, file->path, CAPTURE_MAX_VIEWS);
        }
        /* Each time that there are twice as many: the spec may be long, and the openings many. */
        if ((file->ranks > 1 || is_program_of_one()) && json_array_size(list) >= 2 * written(entry))
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
    json_object_foreach(seen, key, entry) if (written(entry)) write_entry(entry);
    text = seen ? json_dumps(seen, JSON_COMPACT) : strdup("{}");
    json_decref(seen);
    seen = NULL;
    pthread_mutex_unlock(&lock);
    return text;
}

/* What all processes have seen of one file. */
struct file_sum {
    const char *path;
    json_t *ranks; /* arrays of views, one for each process that has set some by itself */
    int64_t reads, writes;
    bool set; /* someone has set a view: what cannot be captured was said */
};

static void add_up(struct file_sum *sum, const json_t *entry)
{
    json_t *views = json_object_get(entry, "views");

    sum->reads += json_integer_value(json_object_get(entry, "reads"));
    sum->writes += json_integer_value(json_object_get(entry, "writes"));
    sum->set = sum->set || json_object_get(entry, "set");
    if (!written(entry) && json_array_size(views))
        json_array_append(sum->ranks, views);
}

/* All entries of the processes, in their order: {PATH: [ENTRY, ...]}. */
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

/* The views that single processes have set, the first of each as one view, and so on. */
static json_t *merge_processes(const json_t *ranks)
{
    json_t *merged = json_array(), **column = calloc(json_array_size(ranks), sizeof(*column));
    size_t depth = json_array_size(json_array_get(ranks, 0)), i;
    json_t *views;

    json_array_foreach(ranks, i, views) depth =
        json_array_size(views) < depth ? json_array_size(views) : depth;
    for (size_t view = 0; column && view < depth; view++) {
        json_array_foreach(ranks, i, views) column[i] = json_array_get(views, view);
        json_array_append_new(merged, capture_merge(column, json_array_size(ranks)));
    }
    free(column);
    return merged;
}

static void write_merged(const struct file_sum *sum, int processes)
{
    json_t *views = merge_processes(sum->ranks), *list;
    size_t ranks = json_array_size(sum->ranks), i;

    json_array_foreach(sum->ranks, i, list) if (json_array_size(list) != json_array_size(views))
    {
        capture_say("%s: processes opened it by themselves and set different numbers of "
                    "views: the first %zu of each are captured",
                    sum->path, json_array_size(views));
        break;
    }
    if (ranks < (size_t)processes)
        capture_say("%s: %zu of %d processes opened it by themselves and set views: they are "
                    "numbered in their order",
                    sum->path, ranks, processes);
    capture_write_spec(sum->path, (int)ranks, views);
    json_decref(views);
}

static void write_bytes(const struct file_sum *sum)
{
    json_t *views = json_pack("[{s:i, s:s}]", "disp", 0, "etype", "byte");

    capture_say("%s: no view was set (calls at explicit offsets: %lld to write, %lld to read): its "
                "spec is the byte view, the whole file as one slice",
                sum->path, (long long)sum->writes, (long long)sum->reads);
    capture_write_spec(sum->path, 1, views);
    json_decref(views);
}

void capture_pending_write(const char *texts, int ranks)
{
    json_t *files = by_path(texts, ranks), *entries, *entry;
    const char *path;
    size_t i;

    json_object_foreach(files, path, entries)
    {
        struct file_sum sum = {.path = path, .ranks = json_array()};
        json_array_foreach(entries, i, entry) add_up(&sum, entry);
        if (json_array_size(sum.ranks))
            write_merged(&sum, ranks);
        else if (!sum.set)
            write_bytes(&sum);
        json_decref(sum.ranks);
    }
    json_decref(files);
}
