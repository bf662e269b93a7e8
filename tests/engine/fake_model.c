/* SPDX-License-Identifier: MIT */
#include "fake_model.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../shared/random.h"

#define BLOCK ((size_t)MPIIO_BLOCK_SIZE)

enum model_mode model_mode(const char *name)
{
    static const char *const names[] = {"random", "interleave", "full", "sparse", "overlap"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(names[i], name) == 0)
            return (enum model_mode)i;
    exit(2);
}

int64_t model_block(const struct model *model, int slot)
{
    return model->mode == MODEL_SPARSE ? slot * 3 : slot;
}

/* Returns the byte that a node writes at an offset in an epoch. It is never zero, so that holes
   show. */
static unsigned char byte_of(const struct model *model, int epoch, uint32_t node, size_t offset)
{
    uint64_t state = model->seed + (uint64_t)epoch * 1000003 + node * 7919 + offset / 8;

    return (unsigned char)(next_random(&state) >> offset % 8 * 8) | 1;
}

static uint64_t below(uint64_t *random, uint64_t limit)
{
    return next_random(random) % limit;
}

/* Receives runs of a node: count runs of length bytes in a slot. */
typedef void taker(void *context, int slot, struct mpiio_mask_runs runs);

static void random_runs(uint64_t *random, int slot, taker *take, void *context)
{
    static const size_t longest[] = {20, 3000, 200000, BLOCK};
    uint64_t kind = below(random, 10);

    if (kind == 0) {
        take(context, slot, (struct mpiio_mask_runs){0, BLOCK, 1, 0});
        return;
    }
    if (kind < 4) {
        size_t length = 1 + below(random, 40), stride = length + below(random, 60);
        size_t start = below(random, BLOCK / 2);

        take(context, slot,
             (struct mpiio_mask_runs){start, length, (BLOCK - start - length) / stride + 1,
                                      (ptrdiff_t)stride});
        return;
    }
    for (uint64_t i = 1 + below(random, 20); i > 0; i--) {
        size_t start = below(random, 4) == 0 ? 0 : below(random, BLOCK);
        size_t length = 1 + below(random, longest[below(random, 4)]);

        if (length > BLOCK - start)
            length = BLOCK - start;
        take(context, slot, (struct mpiio_mask_runs){start, length, 1, 0});
    }
}

static void runs_of(const struct model *model, int epoch, uint32_t node, int slot, taker *take,
                    void *context)
{
    uint64_t from = model->seed * 31 + (uint64_t)epoch;
    uint64_t random = next_random(&from) + node * 65537 + (uint64_t)slot * 257;
    struct mpiio_mask_runs whole = {0, BLOCK, 1, 0};
    size_t stride = 8 * (size_t)model->nodes;

    if (model->lonely && node != model->nodes - 1)
        return;
    switch (model->mode) {
    case MODEL_RANDOM:
        if (below(&random, 3) == 0)
            random_runs(&random, slot, take, context);
        break;
    case MODEL_INTERLEAVE:
        take(context, slot,
             (struct mpiio_mask_runs){8 * node, 8, BLOCK / stride, (ptrdiff_t)stride});
        break;
    case MODEL_FULL:
        if ((uint32_t)slot % model->nodes == node)
            take(context, slot, whole);
        break;
    case MODEL_OVERLAP:
        if (node == 0 || slot >= model->blocks / 2)
            take(context, slot, whole);
        break;
    case MODEL_SPARSE:
        take(context, slot, (struct mpiio_mask_runs){below(&random, BLOCK - 9), 9, 1, 0});
        break;
    }
}

struct in_slots {
    const struct model *model;
    const struct mpiio_slots *slots;
    int epoch;
};

static void take_into_slot(void *context, int number, struct mpiio_mask_runs runs)
{
    const struct in_slots *in = context;
    struct mpiio_slot slot = mpiio_slots_get(in->slots, number);
    size_t base = (size_t)model_block(in->model, number) * BLOCK;

    mpiio_slot_touch(&slot, runs);
    mpiio_mask_set(slot.mask, runs);
    for (size_t i = 0; i < runs.count; i++)
        for (size_t k = 0; k < runs.length; k++) {
            size_t at = runs.start + i * (size_t)runs.stride + k;

            slot.data[at] = (char)byte_of(in->model, in->epoch, in->model->node, base + at);
        }
}

void model_dirty(const struct model *model, int epoch, const struct mpiio_slots *slots)
{
    struct in_slots in = {model, slots, epoch};

    for (int slot = 0; slot < model->blocks; slot++)
        runs_of(model, epoch, model->node, slot, take_into_slot, &in);
}

struct in_image {
    struct model *model;
    int epoch;
    uint32_t node;
};

static void take_into_image(void *context, int slot, struct mpiio_mask_runs runs)
{
    const struct in_image *in = context;
    struct model *model = in->model;
    size_t base = (size_t)model_block(model, slot) * BLOCK;

    for (size_t i = 0; i < runs.count; i++)
        for (size_t k = 0; k < runs.length; k++) {
            size_t at = base + runs.start + i * (size_t)runs.stride + k;

            model->image[at] = byte_of(model, in->epoch, in->node, at);
            model->size = at + 1 > model->size ? at + 1 : model->size;
        }
}

/* Reads the file's initial bytes from a copy that the bats file has made, if there is one. */
static bool read_before(struct model *model)
{
    char before[4096];
    FILE *file;

    snprintf(before, sizeof(before), "%s.before", model->path);
    model->image = calloc((size_t)model_block(model, model->blocks), BLOCK);
    file = fopen(before, "r");
    if (model->image == NULL || file == NULL)
        return false;
    model->size = fread(model->image, 1, (size_t)model_block(model, model->blocks) * BLOCK, file);
    fclose(file);
    return true;
}

static bool compare(const struct model *model, int file, char *text, size_t size)
{
    unsigned char *part = malloc(BLOCK);
    size_t at = 0;
    struct stat st;

    if (part == NULL || fstat(file, &st) != 0 || (size_t)st.st_size != model->size) {
        snprintf(text, size, "the file's size is wrong");
        free(part);
        return false;
    }
    while (at < model->size) {
        ssize_t got = pread(file, part, BLOCK, (off_t)at);

        if (got <= 0 || memcmp(part, model->image + at, (size_t)got) != 0)
            break;
        at += (size_t)got;
    }
    for (size_t i = 0; i < BLOCK && at + i < model->size; i++)
        if (part[i] != model->image[at + i]) {
            snprintf(text, size, "byte %zu is %d and not %d", at + i, part[i],
                     model->image[at + i]);
            break;
        }
    free(part);
    return at == model->size;
}

bool model_check(struct model *model, int epoch, char *text, size_t size)
{
    int file = open(model->path, O_RDONLY);
    bool right;

    snprintf(text, size, "cannot read");
    if (file < 0 || (model->image == NULL && !read_before(model)))
        return false;
    /* If two nodes have written a byte, the node with the higher number wins. */
    for (uint32_t node = 0; node < model->nodes; node++) {
        struct in_image in = {model, epoch, node};

        for (int slot = 0; slot < model->blocks; slot++)
            runs_of(model, epoch, node, slot, take_into_image, &in);
    }
    right = compare(model, file, text, size);
    close(file);
    return right;
}
