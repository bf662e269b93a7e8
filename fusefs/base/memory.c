/* SPDX-License-Identifier: MIT */
#include "memory.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Returns the number after word at the beginning of a line of the file, or -1 if there is none. */
static int64_t number_behind(const char *path, const char *word)
{
    FILE *file = fopen(path, "re");
    char line[256];
    int64_t number = -1;

    if (file == NULL)
        return -1;
    while (number < 0 && fgets(line, sizeof(line), file) != NULL)
        if (strncmp(line, word, strlen(word)) == 0 &&
            sscanf(line + strlen(word), "%" SCNd64, &number) != 1)
            number = -1;
    fclose(file);
    return number;
}

/*
 * Returns the lowest limit of a group and its ancestors below the folder, but not more than most.
 */
static int64_t limit_of(const char *folder, const char *group, const char *name, int64_t most)
{
    char at[PATH_MAX], path[3 * PATH_MAX];
    char *slash = at;

    snprintf(at, sizeof(at), "%s", group);
    while (slash != NULL) {
        int64_t limit;

        snprintf(path, sizeof(path), "%s%s/%s", folder, at, name);
        limit = number_behind(path, "");
        if (limit >= 0 && limit < most)
            most = limit;
        slash = strrchr(at, '/');
        if (slash != NULL)
            *slash = '\0';
    }
    return most;
}

/*
 * Applies a line of /proc/self/cgroup, which has the form NUMBER:CONTROLLERS:PATH. Returns the
 * lower of most and the group's limit.
 */
static int64_t limit_of_line(const char *root, char *line, int64_t most)
{
    char *rest = line, folder[PATH_MAX];
    const char *number = strsep(&rest, ":"), *controllers = strsep(&rest, ":");

    if (rest == NULL)
        return most;
    rest[strcspn(rest, "\n")] = '\0';
    if (strcmp(controllers, "memory") == 0) {
        snprintf(folder, sizeof(folder), "%s/sys/fs/cgroup/memory", root);
        return limit_of(folder, rest, "memory.limit_in_bytes", most);
    }
    if (strcmp(number, "0") != 0)
        return most;
    snprintf(folder, sizeof(folder), "%s/sys/fs/cgroup", root);
    return limit_of(folder, rest, "memory.max", most);
}

int64_t fs_free_memory(const char *root)
{
    char path[PATH_MAX], line[PATH_MAX];
    int64_t bytes;
    FILE *file;

    snprintf(path, sizeof(path), "%s/proc/meminfo", root);
    bytes = number_behind(path, "MemAvailable:");
    bytes = bytes < 0 || bytes > INT64_MAX / 1024 ? 0 : bytes * 1024;
    snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
    file = fopen(path, "re");
    if (file == NULL)
        return bytes;
    while (fgets(line, sizeof(line), file) != NULL)
        bytes = limit_of_line(root, line, bytes);
    fclose(file);
    return bytes;
}

#define LARGE_PAGE ((size_t)2 << 20)

/* Returns size, rounded up to large pages. */
static size_t whole_pages(size_t size)
{
    return (size + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
}

static void *allocate(size_t size, int advice)
{
    void *memory = NULL;

    if (posix_memalign(&memory, LARGE_PAGE, whole_pages(size)) != 0)
        return NULL;
    madvise(memory, whole_pages(size), advice);
    return memory;
}

void *fs_buffer_new(size_t size)
{
    return allocate(size, MADV_HUGEPAGE);
}

/* The largest read, in bytes, that does not need large pages. */
#define SMALL_READ ((size_t)128 << 10)

void fs_read_buffers_init(struct fs_read_buffers *buffers, size_t size)
{
    pthread_mutex_init(&buffers->lock, NULL);
    buffers->size = size;
    buffers->free = NULL;
}

void fs_read_buffers_free(struct fs_read_buffers *buffers)
{
    while (buffers->free != NULL) {
        struct fs_read_buffer *buffer = buffers->free;

        buffers->free = buffer->next;
        free(buffer->bytes);
        free(buffer);
    }
    pthread_mutex_destroy(&buffers->lock);
}

static struct fs_read_buffer *read_buffer_new(size_t size)
{
    struct fs_read_buffer *buffer = calloc(1, sizeof(*buffer));

    if (buffer == NULL)
        return NULL;
    buffer->bytes = allocate(size, MADV_NOHUGEPAGE);
    if (buffer->bytes != NULL)
        return buffer;
    free(buffer);
    return NULL;
}

struct fs_read_buffer *fs_read_buffers_take(struct fs_read_buffers *buffers, size_t size)
{
    struct fs_read_buffer *buffer;

    pthread_mutex_lock(&buffers->lock);
    buffer = buffers->free;
    if (buffer != NULL)
        buffers->free = buffer->next;
    pthread_mutex_unlock(&buffers->lock);
    if (buffer == NULL)
        buffer = read_buffer_new(buffers->size);
    if (buffer != NULL && size > SMALL_READ && !buffer->large) {
        /* Free the small pages, whose contents nobody needs, so that large ones can take over. */
        madvise(buffer->bytes, whole_pages(buffers->size), MADV_DONTNEED);
        madvise(buffer->bytes, whole_pages(buffers->size), MADV_HUGEPAGE);
        buffer->large = true;
    }
    return buffer;
}

void fs_read_buffers_put(struct fs_read_buffers *buffers, struct fs_read_buffer *buffer)
{
    pthread_mutex_lock(&buffers->lock);
    buffer->next = buffers->free;
    buffers->free = buffer;
    pthread_mutex_unlock(&buffers->lock);
}
