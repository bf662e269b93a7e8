/* SPDX-License-Identifier: MIT */
#include "neighbours.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of a message that are left for the texts. */
#define ROOM (MPIIO_MESSAGE_MAX - MPIIO_TEXT_MAX - 64)

/* What goes to each node and comes from it, by number: none but those of the group have any. */
struct texts {
    int *sent, *received; /* bytes */
    int *same, *starts;   /* where they are: all that is sent is one text */
};

/* Aborts where there is no memory: such a node could not tell anybody. */
static void *get(size_t count, size_t size)
{
    void *memory = calloc(count, size);

    if (memory == NULL)
        abort();
    return memory;
}

/* Collective: each node learns how long the texts of its group are. Returns the sum. */
static int64_t announce(struct engine *engine, int length, struct texts *texts)
{
    int first = engine->node / MPIIO_GROUP_NODES * MPIIO_GROUP_NODES;
    int64_t total = 0;

    for (int i = first; i < engine->nodes && i < first + MPIIO_GROUP_NODES; i++)
        texts->sent[i] = length;
    engine_collective_transpose(&engine->group, texts->sent, texts->received);
    for (int i = 0; i < engine->nodes; i++) {
        texts->starts[i] = (int)total;
        total += texts->received[i];
    }
    return total;
}

char *engine_neighbours_gather(struct engine *engine, const char *text, uint32_t *size)
{
    size_t nodes = (size_t)engine->nodes;
    int *numbers = get(4 * nodes, sizeof(*numbers));
    struct texts texts = {numbers, numbers + nodes, numbers + 2 * nodes, numbers + 3 * nodes};
    int64_t total = announce(engine, (int)strlen(text) + 1, &texts);
    char *all = get((size_t)total, 1);

    engine_collective_exchange(&engine->group,
                               &(struct engine_parts){(char *)text, texts.sent, texts.same},
                               &(struct engine_parts){all, texts.received, texts.starts}, 1);
    free(numbers);
    *size = total <= ROOM ? (uint32_t)total : 0;
    for (int64_t i = 0; i < total; i++)
        if (all[i] != '\0')
            return all;
    *size = 0;
    return all;
}
