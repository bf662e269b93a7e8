/* SPDX-License-Identifier: MIT */
#include "steps.h"

#include <stdlib.h>
#include <string.h>

#include "viewspec/base/hash.h"
#include "calls.h"
#include "output.h"
#include "tiles.h"
#include "view.h"

/* One number a step and rank, made one a step by the reduction. */
struct hashes {
    uint64_t *own, *sum, *low, *high;
};

static int allocate(struct hashes *hashes, size_t count, struct capture_step **steps)
{
    hashes->own = calloc(count + 1, sizeof(*hashes->own));
    hashes->sum = calloc(count + 1, sizeof(*hashes->sum));
    hashes->low = calloc(count + 1, sizeof(*hashes->low));
    hashes->high = calloc(count + 1, sizeof(*hashes->high));
    *steps = calloc(count + 1, sizeof(**steps));
    return hashes->own && hashes->sum && hashes->low && hashes->high && *steps ? 0 : -1;
}

static void release(struct hashes *hashes)
{
    free(hashes->own);
    free(hashes->sum);
    free(hashes->low);
    free(hashes->high);
}

/* That every rank has the memory and has set as many views. */
static bool agree(const struct capture_file *file, bool ready)
{
    long long own[3] = {ready && !file->broken, (long long)file->step_count,
                        -(long long)file->step_count},
              all[3] = {0, 0, 0};

    if (capture_calls()->Allreduce(own, all, 3, MPI_LONG_LONG_INT, MPI_MIN, file->comm))
        return false;
    if (all[0] && all[1] == -all[2])
        return true;
    if (file->rank == 0)
        capture_say("%s: not captured: %s", file->path,
                    all[0] ? "the ranks have not set the same number of views" : "out of memory");
    return false;
}

static uint64_t known_hash(const struct capture_file *file, size_t step)
{
    return file->known[file->steps[step].known].hash;
}

static int reduce(const struct capture_file *file, struct hashes *hashes)
{
    const struct capture_calls *mpi = capture_calls();
    int count = (int)file->step_count;
    uint64_t rank = (uint64_t)file->rank + 1;

    for (size_t i = 0; i < file->step_count; i++)
        hashes->own[i] = known_hash(file, i);
    if (mpi->Allreduce(hashes->own, hashes->low, count, MPI_UINT64_T, MPI_MIN, file->comm) ||
        mpi->Allreduce(hashes->own, hashes->high, count, MPI_UINT64_T, MPI_MAX, file->comm))
        return -1;
    /* Mixes the rank into each hash, so that a step in which ranks swap views has another sum.
       Twice, because the hashes are only added up. */
    for (size_t i = 0; i < file->step_count; i++)
        hashes->own[i] = vs_hash_mix(vs_hash_mix(hashes->own[i], rank), rank);
    return mpi->Allreduce(hashes->own, hashes->sum, count, MPI_UINT64_T, MPI_SUM, file->comm);
}

static int by_hash(const void *left, const void *right)
{
    const struct capture_step *a = left, *b = right;

    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

static int by_index(const void *left, const void *right)
{
    const struct capture_step *a = left, *b = right;

    return (a->index > b->index) - (a->index < b->index);
}

/* All ranks have the same hashes and come to the same steps. */
static long pick(const struct capture_file *file, const struct hashes *hashes,
                 struct capture_step *steps)
{
    size_t count = 0, different = 0;

    for (size_t i = 0; i < file->step_count; i++) {
        bool common = hashes->low[i] == hashes->high[i];
        const char *text = file->known[file->steps[i].known].text;
        if (!common || strcmp(text, CAPTURE_DEFAULT_VIEW) != 0)
            steps[count++] = (struct capture_step){.index = i,
                                                   .hash = hashes->sum[i],
                                                   .common = common,
                                                   .reach = file->steps[i].reach};
    }
    if (count)
        qsort(steps, count, sizeof(*steps), by_hash);
    for (size_t i = 0; i < count; i++) {
        struct capture_step *last = different ? &steps[different - 1] : NULL;
        if (last && last->hash == steps[i].hash)
            last->reach = capture_tiles_farther(last->reach, steps[i].reach);
        else
            steps[different++] = steps[i];
    }
    if (different)
        qsort(steps, different, sizeof(*steps), by_index);
    return different <= CAPTURE_MAX_VIEWS ? (long)different : CAPTURE_MAX_VIEWS + 1;
}

/* Collective. Finds the steps in which ranks have accessed different numbers of tiles. */
static int compare_tiles(const struct capture_file *file, struct hashes *hashes,
                         struct capture_step *steps, int count)
{
    const struct capture_calls *mpi = capture_calls();

    for (int i = 0; i < count; i++)
        hashes->own[i] = (uint64_t)capture_tiles_count(file, &steps[i]);
    if (mpi->Allreduce(hashes->own, hashes->low, count, MPI_UINT64_T, MPI_MIN, file->comm) ||
        mpi->Allreduce(hashes->own, hashes->high, count, MPI_UINT64_T, MPI_MAX, file->comm))
        return -1;
    for (int i = 0; i < count; i++)
        steps[i].even = hashes->low[i] == hashes->high[i];
    return 0;
}

long capture_find_steps(const struct capture_file *file, struct capture_step **steps)
{
    struct hashes hashes = {0};
    bool ready = allocate(&hashes, file->step_count, steps) == 0 && file->step_count < INT32_MAX;
    long count = -1;

    if (agree(file, ready))
        count = file->step_count && reduce(file, &hashes) ? -1 : pick(file, &hashes, *steps);
    if (count > 0 && compare_tiles(file, &hashes, *steps, (int)count))
        count = -1;
    release(&hashes);
    if (count < 0) {
        free(*steps);
        *steps = NULL;
    }
    return count;
}
