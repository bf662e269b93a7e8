/* SPDX-License-Identifier: MIT */
#include "slices.h"

#include "core/base/thread.h"
#include "viewspec/base/list.h"
#include "handle.h"
#include "version.h"

#include <errno.h>
#include <stdlib.h>

#define IDLE_MAX 1024
#define IDLE_MIN 16
/*
 * The memory limit of unreferenced slices. A compiled view is assumed to be as large as the text.
 */
#define IDLE_BYTES ((size_t)8 << 20)

int fs_slices_init(struct fs_slices *slices, const struct fs_tree *tree, struct mpiio_store *store,
                   struct vs_view **common, enum mpiio_narrow narrow, size_t text_length)
{
    size_t limit = IDLE_BYTES / (text_length + 1);

    *slices = (struct fs_slices){.tree = tree, .store = store, .common = common, .narrow = narrow};
    slices->idle_limit = limit > IDLE_MAX ? IDLE_MAX : limit < IDLE_MIN ? IDLE_MIN : limit;
    slices->open = calloc(tree->views + 1, sizeof(*slices->open));
    if (slices->open == NULL)
        return -ENOMEM;
    pthread_cond_init(&slices->opened, NULL);
    return -pthread_mutex_init(&slices->lock, NULL);
}

static void free_slice(void *object)
{
    struct fs_slice *slice = object;

    mpiio_slice_free(slice->slice);
    vs_npy_free(slice->npy);
    fs_stale_free(&slice->stale);
    pthread_mutex_destroy(&slice->cut.lock);
    free(slice);
}

void fs_slices_free(struct fs_slices *slices)
{
    mpiio_lru_clear(&slices->table, free_slice);
    free(slices->open);
    pthread_cond_destroy(&slices->opened);
    pthread_mutex_destroy(&slices->lock);
}

static int make(struct fs_slices *slices, struct fs_node node, struct fs_slice **made,
                struct vs_error *why)
{
    struct vs_view *view = slices->common[node.view];
    struct fs_slice *slice;
    int error;

    slice = calloc(1, sizeof(*slice));
    if (slice == NULL)
        return -ENOMEM;
    slice->inode = fs_tree_inode(node);
    slice->entry.key = slice->inode;
    fs_stale_init(&slice->stale);
    slice->cut.mark = FS_UNCUT;
    pthread_mutex_init(&slice->cut.lock, NULL);
    if (view != NULL)
        error = (vs_view_ref(view), 0);
    else
        error = vs_spec_view(slices->tree->spec, node.view, node.rank, &view, why);
    if (error == 0)
        error = mpiio_slice_new(slices->store, view, slices->narrow, &slice->slice);
    if (error == 0 && node.format == FS_NPY)
        error = vs_npy_new(view, &slice->npy);
    if (error != 0) {
        free_slice(slice);
        return error;
    }
    if (node.format == FS_NPY)
        slice->header = vs_npy_length(slice->npy);
    node.format = FS_PLAIN;
    slice->data = fs_tree_inode(node);
    mpiio_slice_set_id(slice->slice, slice->data);
    *made = slice;
    return 0;
}

int fs_slices_get(struct fs_slices *slices, struct fs_node node, struct fs_slice **slice,
                  struct vs_error *why)
{
    uint64_t inode = fs_tree_inode(node);
    struct fs_slice *made;
    int error;

    *slice = MPIIO_LOCKED(&slices->lock, mpiio_lru_get(&slices->table, inode));
    if (*slice != NULL)
        return 0;
    error = make(slices, node, &made, why);
    if (error != 0)
        return error;

    pthread_mutex_lock(&slices->lock);
    *slice = mpiio_lru_get(&slices->table, inode); /* another thread may have added it meanwhile */
    if (*slice == NULL) {
        mpiio_lru_add(&slices->table, &made->entry);
        *slice = made;
        made = NULL;
    }
    pthread_mutex_unlock(&slices->lock);
    if (made != NULL)
        free_slice(made);
    return 0;
}

struct fs_slice *fs_slices_ref(struct fs_slices *slices, struct fs_slice *slice)
{
    pthread_mutex_lock(&slices->lock);
    assert(slice->entry.users > 0);
    slice->entry.users++;
    pthread_mutex_unlock(&slices->lock);
    return slice;
}

void fs_slices_put(struct fs_slices *slices, struct fs_slice *slice)
{
    struct fs_slice *victim;

    pthread_mutex_lock(&slices->lock);
    mpiio_lru_put(&slices->table, &slice->entry);
    victim = mpiio_lru_evict(&slices->table, slices->idle_limit);
    pthread_mutex_unlock(&slices->lock);
    if (victim != NULL)
        free_slice(victim);
}

uint64_t fs_slices_number(struct fs_slices *slices, const struct fs_slice *slice,
                          const struct fs_version *version)
{
    uint64_t number;

    pthread_mutex_lock(&slices->lock);
    if (slice->counts.handles > 0) {
        number = slice->inode_open;
    } else {
        if (!fs_version_same(version, &slices->numbered_file)) {
            slices->numbered_file = *version;
            slices->numbered++;
        }
        number = fs_tree_renumber(slice->inode, slices->numbered);
    }
    pthread_mutex_unlock(&slices->lock);
    return number;
}

void fs_slices_renumber(struct fs_slices *slices)
{
    pthread_mutex_lock(&slices->lock);
    slices->numbered++;
    pthread_mutex_unlock(&slices->lock);
}

struct fs_counts fs_slices_counts(struct fs_slices *slices, const struct fs_slice *slice)
{
    return MPIIO_LOCKED(&slices->lock, slice->counts);
}

struct fs_open *fs_slices_open(struct fs_slices *slices, const struct fs_slice *slice)
{
    return &slices->open[fs_tree_node(slices->tree, slice->data).view];
}

/*
 * Returns the slice of the same rank with (or without) the NumPy header if it is open, else NULL.
 * Lock held.
 */
static struct fs_slice *open_twin(struct fs_slices *slices, const struct fs_slice *slice)
{
    struct fs_node node = fs_tree_node(slices->tree, slice->inode);
    struct fs_slice *twin;

    assert(mpiio_is_held(&slices->lock));
    if (!slices->tree->npy)
        return NULL;
    node.format = node.format == FS_NPY ? FS_PLAIN : FS_NPY;
    twin = mpiio_lru_find(&slices->table, fs_tree_inode(node));
    return twin != NULL && twin->counts.handles > 0 ? twin : NULL;
}

struct fs_slice *fs_slices_related(struct fs_slices *slices, struct fs_slice *slice, bool apart,
                                   const struct fs_slice *last)
{
    const struct fs_open *own = fs_slices_open(slices, slice);
    const struct fs_open *open = last != NULL ? fs_slices_open(slices, last) : slices->open;
    struct fs_slice *next = NULL;

    assert(mpiio_is_held(&slices->lock));
    if (last == NULL)
        next = open == own && apart ? slice : LIST_FIRST(&open->slices);
    else if (open != own || !apart)
        next = LIST_NEXT(last, open);
    else if (last == slice)
        next = open_twin(slices, slice);
    while (next == NULL && ++open <= slices->open + slices->tree->views)
        next = open == own && apart ? slice : LIST_FIRST(&open->slices);
    if (next == slice &&
        slice->counts.handles == 0) /* only its twin is open, or no slice of its rank */
        return fs_slices_related(slices, slice, apart, slice);
    return next;
}

bool fs_slice_list_add(struct fs_slice_list *list, struct fs_slice *slice)
{
    if (!VS_LIST_ROOM(list->slices, list->count, list->room))
        return false;
    assert(slice->entry.users > 0);
    slice->entry.users++; /* its handles already count as users, so it is not idle */
    list->slices[list->count++] = slice;
    return true;
}

int fs_slices_written(struct fs_slices *slices, struct fs_slice_list *list)
{
    bool added = true;

    *list = (struct fs_slice_list){0};
    pthread_mutex_lock(&slices->lock);
    for (size_t view = 0; view <= slices->tree->views; view++)
        for (struct fs_slice *slice = LIST_FIRST(&slices->open[view].slices);
             slice != NULL && added; slice = LIST_NEXT(slice, open))
            if (slice->counts.writers > 0)
                added = fs_slice_list_add(list, slice);
    pthread_mutex_unlock(&slices->lock);
    return added ? 0 : -ENOMEM;
}

bool fs_slices_is_filled(struct fs_slices *slices, const struct fs_slice *slice,
                         const struct fs_version *version)
{
    return MPIIO_LOCKED(&slices->lock, fs_version_same(&slice->filled, version));
}

void fs_slices_set_filled(struct fs_slices *slices, struct fs_slice *slice,
                          const struct fs_version *version)
{
    pthread_mutex_lock(&slices->lock);
    slice->filled = *version;
    pthread_mutex_unlock(&slices->lock);
}
