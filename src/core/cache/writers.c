/* SPDX-License-Identifier: MIT */
#include "writers.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "viewspec/base/list.h"
#include "viewspec/base/search.h"

static int compare_writers(const void *a, const void *b)
{
    uint64_t first = ((const struct mpiio_writer *)a)->id;
    uint64_t second = ((const struct mpiio_writer *)b)->id;

    return first < second ? -1 : first > second;
}

struct mpiio_writer *mpiio_writer_find(mpiio_writer_tree *tree, uint64_t id)
{
    const struct mpiio_writer key = {.id = id};
    struct mpiio_writer **found = tfind(&key, tree, compare_writers);

    return found != NULL ? *found : NULL;
}

struct mpiio_writer *mpiio_writer_get(mpiio_writer_tree *tree, uint64_t id)
{
    struct mpiio_writer *writer = mpiio_writer_find(tree, id);

    if (writer != NULL)
        return writer;
    writer = calloc(1, sizeof(*writer));
    if (writer == NULL)
        return NULL;
    writer->id = id;
    if (tsearch(writer, tree, compare_writers) == NULL) {
        free(writer);
        return NULL;
    }
    return writer;
}

void mpiio_writers_free_all(mpiio_writer_tree *tree)
{
    tdestroy(*tree, free);
    *tree = NULL;
}

/* The place of writer in the set, or where it belongs. */
static size_t place_of(const struct mpiio_writers *writers, const struct mpiio_writer *writer)
{
    return (size_t)VS_FIRST(i, 0, (int64_t)writers->count, writers->writer[i] >= writer);
}

void mpiio_writers_add(struct mpiio_writers *writers, struct mpiio_writer *writer)
{
    size_t place = place_of(writers, writer);
    struct mpiio_writer **more;

    if (place < writers->count && writers->writer[place] == writer)
        return;
    more = vs_list_grow(writers->writer, writers->count, &writers->room,
                        sizeof(struct mpiio_writer *));
    if (more == NULL) {
        writers->everyone = true;
        return;
    }
    writers->writer = more;
    memmove(writers->writer + place + 1, writers->writer + place,
            (writers->count - place) * sizeof(struct mpiio_writer *));
    writers->writer[place] = writer;
    writers->count++;
}

void mpiio_writers_clear(struct mpiio_writers *writers)
{
    free(writers->writer);
    *writers = (struct mpiio_writers){0};
}
