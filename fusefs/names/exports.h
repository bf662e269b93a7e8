/* SPDX-License-Identifier: MIT */
#ifndef FS_EXPORTS_H
#define FS_EXPORTS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/store.h"
#include "tree.h"
#include "viewspec/export/export.h"

/*
 * The files of a mount in formats of other programs: for each rank and for all ranks of a view, and
 * the store "zarr" of all views. They are computed from the views, and from the size of the file.
 * All functions are thread-safe, except fs_exports_init and fs_exports_free. Functions that accept
 * NULL for exports then find nothing.
 */
struct fs_exports {
    const struct fs_tree *tree; /* borrowed */
    struct mpiio_store *store;  /* borrowed */
    struct vs_global **globals; /* by view; NULL: the view has no array */
    unsigned *formats;          /* by view: bits of its formats */
    _Atomic int64_t *whole; /* by view: length of the file that refers to all ranks' files, which
                               compiles the views of all ranks; 0: not known yet */
    struct vs_zarr *zarr;   /* NULL: none */
};

/*
 * Finds the arrays of the views. wanted has the bits 1 << enum fs_format of the formats that the
 * mount is to have. A view that has none in a format is left out. Fails if no view has one: returns
 * -EINVAL with why filled, by the first view and with the mount option. Other errors: -ENOMEM, or
 * that of the file. After a failure exports need not be freed.
 */
int fs_exports_init(struct fs_exports *exports, const struct fs_tree *tree,
                    struct mpiio_store *store, unsigned wanted, struct vs_error *why);

/* Frees what was initialized or is zero. */
void fs_exports_free(struct fs_exports *exports);

/* Returns true if the view exists in the format; for FS_ZARR, if the store has that node. */
bool fs_exports_has(const struct fs_exports *exports, size_t view, enum fs_format format);

/*
 * Gets entry number *index of the exports in a folder, and writes its name (FS_NAME_SIZE bytes): a
 * file for all ranks if the folder holds ranks, "zarr" in the mount point, and the entries of
 * "zarr" and its folders. Returns false if there are fewer, and subtracts their number from *index.
 */
bool fs_exports_entry(const struct fs_exports *exports, struct fs_node folder, bool holds_ranks,
                      int64_t *index, char *name, struct fs_node *node);

/* Finds a name in "zarr" or in a folder of it. Returns a node of kind FS_NONE if there is none. */
struct fs_node fs_exports_find(const struct fs_exports *exports, struct fs_node folder,
                               const char *name);

/* Returns the length of an export in bytes, or a negative errno. */
int64_t fs_exports_length(const struct fs_exports *exports, struct fs_node node);

/*
 * Makes the pieces of an export, by the file's size at this time. The caller frees them by
 * vs_export_free, also after an error. Returns 0 or a negative errno.
 */
int fs_exports_make(const struct fs_exports *exports, struct fs_node node, struct vs_export *file);

#endif
