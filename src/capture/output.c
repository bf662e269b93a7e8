/* SPDX-License-Identifier: MIT */
#include "views.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "viewspec/spec.h"
#include "log.h"

/* Writing the spec files. */

#define MAX_NAMES 1000 /* maximum number of specs of files with one name */

/* Waits for the log's lock, which serializes the processes. Closing the descriptor releases it. */
static int lock_log(int log)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    while (fcntl(log, F_OFD_SETLKW, &lock))
        if (errno != EINTR)
            return -errno;
    return 0;
}

/*
 * Returns true if a line of the log shows that another owner has the name. An owner is a process
 * that writes a spec, together with the file that the spec is for. Only the same owner may replace
 * the spec.
 */
static bool is_taken(int log, const char *spec, const char *owner)
{
    char *line = NULL, *name, *has, *rest;
    size_t size = 0;
    bool taken = false;
    FILE *lines;
    int copy = log < 0 ? -1 : capture_log_open(); /* with a file offset of its own */

    lines = copy < 0 ? NULL : fdopen(copy, "r");
    if (lines == NULL) {
        if (copy >= 0)
            close(copy);
        return false;
    }
    while (!taken && getline(&line, &size, lines) > 0) {
        rest = line;
        if (strcmp(strsep(&rest, "\t"), "spec") != 0)
            continue;
        name = strsep(&rest, "\t");
        has = strsep(&rest, "\t");
        taken = name && has && strcmp(name, spec) == 0 && strcmp(has, owner) != 0;
    }
    free(line);
    fclose(lines);
    return taken;
}

/* Builds the name FILE.view.json, beside the file or in the folder for specs; if number > 1,
   FILE.2.view.json. */
static int name_spec(const char *path, int number, char *spec, size_t size)
{
    const char *dir = getenv(CAPTURE_DIR_VARIABLE), *base = strrchr(path, '/');
    char infix[16] = "";
    int length;

    base = base ? base + 1 : path;
    if (number > 1)
        snprintf(infix, sizeof(infix), ".%d", number);
    length = dir && *dir ? snprintf(spec, size, "%s/%s%s.view.json", dir, base, infix)
                         : snprintf(spec, size, "%.*s%s%s.view.json", (int)(base - path), path,
                                    base, infix);
    return length < (int)size ? 0 : -ENAMETOOLONG;
}

static json_t *make_spec(const char *path, int ranks, json_t *views)
{
    const char *dir = getenv(CAPTURE_DIR_VARIABLE); /* without one, the spec is beside the file */
    json_t *spec = json_pack("{s:i, s:s, s:i}", "viewspec", 1, "file",
                             dir && *dir ? path : strrchr(path, '/') + 1, "ranks", ranks);
    json_t *several = json_array_size(views) > 1 ? json_object() : NULL, *view;
    char name[32];
    size_t i;

    if (several == NULL) {
        json_object_set(spec, "view", json_array_get(views, 0));
        return spec;
    }
    json_array_foreach(views, i, view)
    {
        snprintf(name, sizeof(name), "view%zu", i + 1);
        json_object_set(several, name, view);
    }
    json_object_set_new(spec, "views", several);
    return spec;
}

/* Returns true for a value without members, and for a list whose members have none. */
static bool fits_line(const json_t *value)
{
    for (size_t i = 0; i < json_array_size(value); i++)
        if (json_is_array(json_array_get(value, i)) || json_is_object(json_array_get(value, i)))
            return false;
    return json_object_size(value) == 0;
}

/* Prints a value whose line begins with that many blanks. Returns false without memory. Errors of
   the stream are seen later. */
static bool print_value(FILE *to, json_t *value, int blanks)
{
    bool is_object = json_is_object(value);
    size_t count = json_object_size(value) + json_array_size(value);
    void *entry = json_object_iter(value);
    bool printed = true;

    if (fits_line(value))
        return json_dumpf(value, to, JSON_ENCODE_ANY) == 0;
    fputc(is_object ? '{' : '[', to);
    for (size_t i = 0; i < count && printed; i++, entry = json_object_iter_next(value, entry)) {
        fprintf(to, "%s\n%*s", i ? "," : "", blanks + 2, "");
        if (is_object)
            fprintf(to, "\"%s\": ", json_object_iter_key(entry));
        printed = print_value(
            to, is_object ? json_object_iter_value(entry) : json_array_get(value, i), blanks + 2);
    }
    fprintf(to, "\n%*s%c", blanks, "", is_object ? '}' : ']');
    return printed;
}

/* Returns new text that is indented, with lists of numbers on one line. */
static char *format_spec(json_t *spec)
{
    char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    bool failed;

    if (memory == NULL)
        return NULL;
    failed = !print_value(memory, spec, 0);
    fputc('\n', memory);
    failed = failed || ferror(memory);
    if (fclose(memory) || failed) {
        free(text);
        text = NULL;
    }
    return text;
}

/*
 * Makes a temporary file beside the spec, in a folder where others may also make files: its name is
 * unpredictable and new. mkstemp would give it mode 0600 instead of the program's own. Returns a
 * descriptor or a negative errno.
 */
static int open_beside(const char *spec, char *path, size_t size)
{
    uint64_t number;
    int fd;

    if (getrandom(&number, sizeof(number), 0) != sizeof(number))
        return -errno;
    snprintf(path, size, "%s.%016" PRIx64, spec, number);
    capture_note(CAPTURE_TEMPORARY, path);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    return fd >= 0 ? fd : -errno;
}

static int write_text(const char *spec, const char *text)
{
    char temporary[PATH_MAX + 32];
    int error = 0, fd = open_beside(spec, temporary, sizeof(temporary));

    if (fd < 0)
        return fd;
    while (!error && *text) {
        ssize_t put = write(fd, text, strlen(text));
        if (put < 0 && errno != EINTR)
            error = -errno;
        text += put > 0 ? put : 0;
    }
    if (!error && fsync(fd))
        error = -errno;
    if (close(fd) && !error)
        error = -errno;
    if (!error && rename(temporary, spec))
        error = -errno;
    if (error)
        unlink(temporary);
    return error;
}

/* Finds a free name and writes the spec. The log is locked, or -1. */
static int write_named(int log, const char *path, int ranks, bool alone, size_t views,
                       const char *text)
{
    char spec[PATH_MAX], process[300], owner[PATH_MAX + 320], *line;
    int number = 1, error;

    capture_process(process, sizeof(process));
    snprintf(owner, sizeof(owner), "%s:%s%d:%s", process, alone ? "1x" : "", ranks, path);
    do {
        error = name_spec(path, number, spec, sizeof(spec));
    } while (!error && number++ < MAX_NAMES && is_taken(log, spec, owner));
    if (!error)
        error = write_text(spec, text);
    if (error) {
        capture_say("%s: %s", spec, strerror(-error));
        return error;
    }
    if (asprintf(&line, "spec\t%s\t%s\t%d\t%zu\n", spec, owner, ranks, views) < 0)
        return -ENOMEM;
    if (log < 0 || !capture_log_append(log, line))
        capture_say_aloud("wrote %s: %d rank%s, %zu view%s", spec, ranks, ranks == 1 ? "" : "s",
                          views, views == 1 ? "" : "s");
    free(line);
    return 0;
}

void capture_write_spec(const char *path, int ranks, bool alone, json_t *views)
{
    json_t *spec = make_spec(path, ranks, views);
    char *text = format_spec(spec);
    int log = capture_log_open();

    if (text == NULL)
        capture_say("%s: %s", path, strerror(ENOMEM));
    else if (strlen(text) > VS_SPEC_MAX_BYTES)
        capture_say("%s: not captured: its spec is larger than %d MiB", path,
                    VS_SPEC_MAX_BYTES >> 20);
    else if (log >= 0 && lock_log(log))
        capture_say("%s: the log of the capture cannot be locked", path);
    else
        write_named(log, path, ranks, alone, json_array_size(views), text);
    if (log >= 0)
        close(log);
    free(text);
    json_decref(spec);
}
