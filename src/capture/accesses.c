/* SPDX-License-Identifier: MIT */
#include "files.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "viewspec/base/hash.h"
#include "datatype.h"
#include "hooks.h"
#include "views.h"
#include "gather.h"

/*
 * Accesses of programs that set no view, or one view of all bytes on all ranks. The bytes that a
 * rank accesses become its view.
 */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Returns true if the type has no holes. */
static bool is_dense(MPI_Datatype type)
{
    MPI_Count size = 0;
    MPI_Aint lb = 0, extent = 0;

    return PMPI_Type_size_x(type, &size) == MPI_SUCCESS &&
           PMPI_Type_get_extent(type, &lb, &extent) == MPI_SUCCESS && lb == 0 && extent == size &&
           size > 0;
}

/* Returns true if a view's text selects all bytes from its displacement on. */
static bool is_plain(const char *text)
{
    return *text != '!' && !strstr(text, "\"filetype\":") && !strstr(text, "\"datarep\":");
}

void capture_accesses_view_set(struct capture_file *file, MPI_Datatype etype)
{
    const char *text = "!";
    long long displacement = 0;
    MPI_Count size = 1;

    if (file->step_count && !file->broken)
        text = file->known[file->steps[file->step_count - 1].known].text;
    PMPI_Type_size_x(etype, &size);
    pthread_mutex_lock(&lock);
    file->accesses.counted =
        is_plain(text) && is_dense(etype) && sscanf(text, "{\"disp\":%lld", &displacement) == 1;
    file->accesses.origin = displacement;
    file->accesses.unit = size;
    pthread_mutex_unlock(&lock);
}

/* Returns the only basic type of a datatype; NULL if it has several, or if MPI does not report
   it. */
static const struct vs_basic *find_leaf(MPI_Datatype type, int depth)
{
    struct capture_contents contents;
    const struct vs_basic *leaf = NULL;
    int error = capture_contents_get(type, &contents);

    if (!error && contents.combiner == MPI_COMBINER_NAMED)
        leaf = capture_basic(type);
    else if (!error && contents.type_count == 1 && depth < CAPTURE_MAX_DEPTH)
        leaf = find_leaf(contents.types[0], depth + 1);
    capture_contents_free(&contents);
    return leaf;
}

/* Updates the basic type that all accesses have in common. Under lock. */
static void meet_type(struct capture_accesses *accesses, MPI_Datatype type)
{
    bool first = accesses->type == MPI_DATATYPE_NULL;
    const struct vs_basic *leaf;

    if (type == accesses->type)
        return;
    leaf = find_leaf(type, 0);
    accesses->leaf = first || leaf == accesses->leaf ? leaf : NULL;
    accesses->type = type;
}

void capture_accesses_add(void *handle, bool writing, int64_t offset, int64_t count, intptr_t word)
{
    struct capture_file *file = capture_find(handle);
    MPI_Datatype type = (MPI_Datatype)word;
    struct capture_accesses *accesses = file ? &file->accesses : NULL;
    MPI_Count size = 0;
    bool shared = offset == CAPTURE_SHARED;
    int64_t start, length;

    if (file == NULL || PMPI_Type_size_x(type, &size) || (!shared && (count <= 0 || size <= 0)))
        return;
    pthread_mutex_lock(&lock);
    capture_tiles_reached(file, offset, count, size, accesses->unit);
    if (accesses->counted && !shared) {
        meet_type(accesses, type);
        if (offset < 0 || __builtin_mul_overflow(offset, accesses->unit, &start) ||
            __builtin_add_overflow(start, accesses->origin, &start) ||
            __builtin_mul_overflow(count, size, &length) || start < 0)
            accesses->extents[writing].given_up = true;
        else
            capture_extents_add(&accesses->extents[writing], start, length);
    }
    pthread_mutex_unlock(&lock);
}

static bool has_any(const struct capture_extents *extents)
{
    return extents->count || extents->length || extents->given_up;
}

/*
 * Returns a hash of the views that were set. Sets *plain if they do not show which rank accesses
 * which bytes. If a single process has opened the file, a view that it sets may be meant as it is.
 */
static uint64_t hash_views(const struct capture_file *file, bool *plain)
{
    uint64_t hash = file->step_count;

    *plain = true;
    for (size_t i = 0; i < file->step_count; i++) {
        const struct capture_known *known = &file->known[file->steps[i].known];
        hash = vs_hash_mix(hash, known->hash);
        *plain = *plain && is_plain(known->text) &&
                 (file->ranks > 1 || strcmp(known->text, CAPTURE_DEFAULT_VIEW) == 0);
    }
    return hash >> 1;
}

/* Finds the minimum of numbers over all ranks. Returns false on failure. */
static bool least_of(const struct capture_file *file, const int64_t *own, int64_t *all, int count)
{
    return PMPI_Allreduce(own, all, count, MPI_INT64_T, MPI_MIN, file->comm) == MPI_SUCCESS;
}

/* Collective. Returns the accesses to make views of if the views that were set do not show them:
   the writes, or the reads if there are none; or NULL. */
static struct capture_extents *choose_kind(struct capture_file *file)
{
    struct capture_extents *extents = file->accesses.extents;
    bool plain;
    int64_t hash = (int64_t)hash_views(file, &plain), all[5];
    int64_t own[5] = {hash, -hash, plain && !file->broken, -(int64_t)has_any(&extents[0]),
                      -(int64_t)has_any(&extents[1])};

    if (!least_of(file, own, all, 5) || all[0] != -all[1] || !all[2])
        return NULL;
    if (all[4])
        return &extents[1];
    return all[3] ? &extents[0] : NULL;
}

/*
 * Collective, after all ranks have closed the file. Returns the file's size, as rank 0 sees it,
 * which bounds what was read: a read may ask for more than the file has.
 */
static int64_t find_end(const struct capture_file *file)
{
    int64_t own = INT64_MAX, end;
    struct stat st;

    if (file->rank == 0 && stat(file->path, &st) == 0)
        own = st.st_size;
    return least_of(file, &own, &end, 1) ? end : INT64_MAX;
}

/* Collective. Returns the basic type of all accesses of all ranks if their bounds are multiples
   of it; else byte. */
static const struct vs_basic *choose_etype(const struct capture_file *file,
                                           const struct capture_extents *extents)
{
    const struct vs_basic *leaf = file->accesses.leaf;
    int64_t own[3] = {INT64_MAX, INT64_MAX, true}, all[3];

    if (extents->count) {
        own[0] = leaf ? (int64_t)vs_basic_number(leaf) : -1;
        own[1] = -own[0];
        own[2] = leaf && capture_shape_fits(extents->list, extents->count, leaf->size);
    }
    if (!least_of(file, own, all, 3) || all[0] != -all[1] || !all[2])
        return vs_basic_find("byte");
    return vs_basic_at((size_t)all[0]);
}

/* Returns the view of this rank's accesses as new text, or why there is none; NULL if memory is
   exhausted. */
static char *view_text(const struct capture_extents *extents, const struct vs_basic *etype)
{
    json_t *view = NULL;
    char *text;

    if (!extents->given_up)
        view = capture_shape(extents->list, extents->count, etype->name, etype->size);
    if (view == NULL)
        return capture_because("what it reads or writes is too irregular for a filetype");
    text = json_dumps(view, JSON_COMPACT);
    json_decref(view);
    return text;
}

bool capture_accesses_view(struct capture_file *file, char **text)
{
    struct capture_extents *extents = choose_kind(file);
    bool reads = extents == &file->accesses.extents[0];

    *text = NULL;
    if (extents == NULL)
        return false;
    capture_extents_finish(extents, reads ? find_end(file) : INT64_MAX);
    *text = view_text(extents, choose_etype(file, extents));
    return true;
}
