/* SPDX-License-Identifier: MIT */
#include "neighbours.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of a message that are left for the texts. */
#define ROOM (MPIIO_MESSAGE_MAX - MPIIO_TEXT_MAX - 64)

/* Aborts where there is no memory: such a node could not tell anybody. */
static void *get(size_t count, size_t size)
{
    void *memory = calloc(count, size);

    if (memory == NULL)
        abort();
    return memory;
}

char *engine_neighbours_gather(struct engine *engine, const char *text, uint32_t *size)
{
    int first = engine->node / MPIIO_GROUP_NODES * MPIIO_GROUP_NODES;
    int count =
        engine->nodes - first < MPIIO_GROUP_NODES ? engine->nodes - first : MPIIO_GROUP_NODES;
    struct engine_part *out = get((size_t)count, sizeof(*out)), *in;
    int64_t total;
    char *all;

    /* All are sent the same text. */
    for (int i = 0; i < count; i++)
        out[i] = (struct engine_part){.node = first + i, .count = (int)strlen(text) + 1};
    engine_collective_transpose(&engine->group, out, count, &in);
    total = engine_parts_begin(in, count);
    all = get((size_t)total, 1);
    engine_collective_exchange(&engine->group, &(struct engine_parts){(char *)text, out, count},
                               &(struct engine_parts){all, in, count}, 1);
    free(out);
    free(in);
    *size = total <= ROOM ? (uint32_t)total : 0;
    for (int64_t i = 0; i < total; i++)
        if (all[i] != '\0')
            return all;
    *size = 0;
    return all;
}
