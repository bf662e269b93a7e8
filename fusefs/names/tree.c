/* SPDX-License-Identifier: MIT */
#include "tree.h"

#include <stdio.h>
#include <string.h>

#include "exports.h"
#include "viewspec/members/members.h"

#define INODE_FOLDERS 16
#define RANK_BITS     32
#define NPY_BIT       ((uint64_t)1 << 31)
/* Marks inode numbers of "ordered". The lower bits are, from the top: view, kind, use, and rank. */
#define ORDERED_BIT  ((uint64_t)1 << 63)
#define ORDERED_VIEW 51
#define ORDERED_KIND 49
#define ORDERED_USE  31
#define ORDERED_USES (1u << (ORDERED_KIND - ORDERED_USE))
/* Marks inode numbers of exports. The lower bits are, from the top: view, format, and rank + 1. */
#define EXPORT_BIT    ((uint64_t)1 << 62)
#define EXPORT_VIEW   44
#define EXPORT_FORMAT 41
_Static_assert(VS_ZARR_FILES + 2 == (int64_t)1 << EXPORT_FORMAT, "a file of a store has a number");
_Static_assert(VS_ZARR_NODES == (int64_t)1 << (62 - EXPORT_VIEW), "a node of a store has one");
/*
 * The width of the first view's inode numbers. The bits above, up to EXPORT_BIT, hold the round of
 * fs_tree_renumber.
 */
#define SINGLE_BITS 33
#define ROUNDS      (EXPORT_BIT >> SINGLE_BITS)

static const char *const suffixes[FS_RANK_FORMATS] = {"", ".npy", ".nc", ".vti"};
static const char shared_name[] = "shared";
static const char ordered_name[] = "ordered";

/* The kinds of nodes with ORDERED_BIT, by the number's kind bits. */
static const enum fs_kind ordered_kinds[] = {FS_SLICE, FS_SELF, FS_ORDERED, FS_NONE};

/* The entries of .mpiio, whose kinds are FS_SPEC and the next ones. An assembled file lacks the
   last. */
static const char *const control_names[] = {"spec.json", "stats.json", "file"};
#define CONTROL_NAMES ((int64_t)(sizeof(control_names) / sizeof(*control_names)))

bool fs_tree_is_whole(const struct fs_tree *tree, struct fs_node node)
{
    return tree->whole && node.kind == FS_SLICE && node.view == tree->views;
}

static struct fs_node whole_of(const struct fs_tree *tree)
{
    return (struct fs_node){.kind = FS_SLICE, .view = tree->views};
}

void fs_tree_init(struct fs_tree *tree, const struct vs_spec *spec, bool npy)
{
    int64_t largest;

    *tree = (struct fs_tree){.spec = spec,
                             .ranks = vs_spec_ranks(spec),
                             .views = vs_spec_view_count(spec),
                             .folders = vs_spec_view_name(spec, 0) != NULL,
                             .npy = npy,
                             .whole = vs_spec_members(spec) != NULL,
                             .width = 1};
    for (largest = tree->ranks - 1; largest > 9; largest /= 10)
        tree->width++;
    tree->end = tree->ranks;
}

void fs_tree_localize(struct fs_tree *tree, int node, int nodes)
{
    tree->first = tree->ranks * node / nodes;
    tree->end = tree->ranks * (node + 1) / nodes;
}

static bool is_shown(const struct fs_tree *tree, int64_t rank)
{
    return rank >= tree->first && rank < tree->end;
}

static uint64_t export_inode(struct fs_node node)
{
    return EXPORT_BIT | (uint64_t)node.view << EXPORT_VIEW |
           (uint64_t)node.format << EXPORT_FORMAT |
           (node.kind == FS_EXPORT_FOLDER ? 0 : (uint64_t)(node.rank + 1));
}

static uint64_t ordered_inode(struct fs_node node)
{
    uint64_t which = node.kind == FS_SLICE ? 0 : node.kind == FS_SELF ? 1 : 2;
    uint64_t inode = ORDERED_BIT | (uint64_t)node.view << ORDERED_VIEW | which << ORDERED_KIND;

    if (node.kind == FS_SLICE)
        inode |= (uint64_t)(node.use % ORDERED_USES) << ORDERED_USE | (uint64_t)node.rank;
    return inode;
}

uint64_t fs_tree_inode(struct fs_node node)
{
    if (node.ordered || node.kind == FS_ORDERED)
        return ordered_inode(node);
    switch (node.kind) {
    case FS_FOLDER:
        return INODE_FOLDERS + 8 * (uint64_t)node.view;
    case FS_SELF:
        return INODE_FOLDERS + 8 * (uint64_t)node.view + 2 + node.format;
    case FS_SLICE:
        if (node.shared)
            return INODE_FOLDERS + 8 * (uint64_t)node.view + 1;
        return ((uint64_t)node.view + 1) << RANK_BITS | (node.format == FS_NPY ? NPY_BIT : 0) |
               (uint64_t)node.rank;
    case FS_EXPORT:
    case FS_EXPORT_FOLDER:
        return export_inode(node);
    default:
        return (uint64_t)node.kind;
    }
}

uint64_t fs_tree_renumber(uint64_t inode, uint64_t round)
{
    return inode | round % ROUNDS << SINGLE_BITS;
}

bool fs_tree_has_shared(const struct fs_tree *tree, size_t view)
{
    return tree->shared != NULL && view < tree->views && tree->shared[view];
}

bool fs_tree_has_ordered(const struct fs_tree *tree, size_t view)
{
    return tree->ordered && fs_tree_has_shared(tree, view);
}

/* Returns true if the ranks of a view exist in the format. */
static bool has_format(const struct fs_tree *tree, size_t view, enum fs_format format)
{
    return format == FS_PLAIN || (format == FS_NPY && tree->npy) ||
           (format > FS_NPY && fs_exports_has(tree->exports, view, format));
}

/* Decodes the number of a view's folder, "self" in a format, or "shared". */
static struct fs_node view_node(const struct fs_tree *tree, uint64_t inode)
{
    unsigned which = inode % 8;
    struct fs_node node = {.kind = which == 0   ? FS_FOLDER
                                   : which == 1 ? FS_SLICE
                                                : FS_SELF,
                           .view = (size_t)(inode - INODE_FOLDERS) / 8,
                           .format = which < 2 ? FS_PLAIN : (enum fs_format)(which - 2),
                           .shared = which == 1};
    bool known = node.view < tree->views && node.format < FS_RANK_FORMATS &&
                 has_format(tree, node.view, node.format) &&
                 (!node.shared || fs_tree_has_shared(tree, node.view));

    return known ? node : (struct fs_node){.kind = FS_NONE};
}

static struct fs_node export_node(const struct fs_tree *tree, uint64_t inode)
{
    const uint64_t ranks = ((uint64_t)1 << EXPORT_FORMAT) - 1, views = ((uint64_t)1 << 18) - 1;
    struct fs_node node = {.kind = FS_EXPORT,
                           .view = (size_t)(inode >> EXPORT_VIEW & views),
                           .rank = (int64_t)(inode & ranks) - 1,
                           .format = (enum fs_format)(inode >> EXPORT_FORMAT & 7)};
    bool known;

    if (node.format == FS_ZARR && node.rank < 0)
        node.kind = FS_EXPORT_FOLDER;
    known = node.format == FS_ZARR
                ? fs_exports_has(tree->exports, node.view, FS_ZARR)
                : node.view < tree->views && node.format > FS_NPY && node.format < FS_ZARR &&
                      has_format(tree, node.view, node.format) &&
                      (node.rank < 0 || is_shown(tree, node.rank));
    return known ? node : (struct fs_node){.kind = FS_NONE};
}

static struct fs_node ordered_node(const struct fs_tree *tree, uint64_t inode)
{
    enum fs_kind kind = ordered_kinds[inode >> ORDERED_KIND & 3];
    struct fs_node node = {.kind = kind,
                           .view = inode >> ORDERED_VIEW & (((uint64_t)1 << 12) - 1),
                           .ordered = kind != FS_ORDERED};

    if (kind == FS_SLICE) {
        node.rank = (int64_t)(inode & (((uint64_t)1 << ORDERED_USE) - 1));
        node.use = (unsigned)(inode >> ORDERED_USE) % ORDERED_USES;
    }
    return fs_tree_has_ordered(tree, node.view) && kind != FS_NONE && is_shown(tree, node.rank)
               ? node
               : (struct fs_node){.kind = FS_NONE};
}

struct fs_node fs_tree_shared(size_t view)
{
    return (struct fs_node){.kind = FS_SLICE, .view = view, .shared = true};
}

struct fs_node fs_tree_node(const struct fs_tree *tree, uint64_t inode)
{
    struct fs_node none = {.kind = FS_NONE};
    struct fs_node node = none;

    if ((inode & ORDERED_BIT) != 0 && tree->ordered)
        return ordered_node(tree, inode);
    if ((inode & EXPORT_BIT) != 0 && tree->exports != NULL)
        return export_node(tree, inode);

    if (tree->views == 1 && !tree->whole)
        inode &= ((uint64_t)1 << SINGLE_BITS) - 1;
    if (tree->whole && inode == fs_tree_inode(whole_of(tree)))
        return whole_of(tree);
    if (inode >> RANK_BITS != 0) {
        node.kind = FS_SLICE;
        node.view = (size_t)(inode >> RANK_BITS) - 1;
        node.rank = (int64_t)(inode & (NPY_BIT - 1));
        node.format = (inode & NPY_BIT) != 0 ? FS_NPY : FS_PLAIN;
        return node.view < tree->views && is_shown(tree, node.rank) &&
                       has_format(tree, node.view, node.format) && !tree->sequential
                   ? node
                   : none;
    }
    if (inode >= INODE_FOLDERS)
        return view_node(tree, inode);
    if (inode >= FS_ROOT && inode <= (uint64_t)FS_FILE - tree->whole)
        node.kind = (enum fs_kind)inode;
    return node;
}

bool fs_tree_is_folder(struct fs_node node)
{
    return node.kind == FS_ROOT || node.kind == FS_CONTROL || node.kind == FS_FOLDER ||
           node.kind == FS_ORDERED || node.kind == FS_EXPORT_FOLDER;
}

static bool holds_ranks(const struct fs_tree *tree, struct fs_node folder)
{
    return folder.kind == FS_FOLDER || folder.kind == FS_ORDERED ||
           (folder.kind == FS_ROOT && !tree->folders);
}

/* Returns true if the folder contains ranks at all. Of a sequential file, only "ordered" does. */
static bool lists_ranks(const struct fs_tree *tree, struct fs_node folder)
{
    return folder.kind == FS_ORDERED || !tree->sequential;
}

/* Fills list with the formats in which the folder contains ranks. Returns their number. */
static int formats_of(const struct fs_tree *tree, struct fs_node folder, enum fs_format *list)
{
    int count = 0;

    for (int format = FS_PLAIN; format < FS_RANK_FORMATS; format++)
        if (format == FS_PLAIN ||
            (folder.kind != FS_ORDERED && has_format(tree, folder.view, (enum fs_format)format)))
            list[count++] = (enum fs_format)format;
    return count;
}

/* Makes a rank's file of its format: an export, or a slice. */
static void set_rank(struct fs_node *node, int64_t rank, enum fs_format format)
{
    node->kind = format > FS_NPY ? FS_EXPORT : FS_SLICE;
    node->rank = rank;
    node->format = format;
}

/* Returns the rank that digits name, or -1. Leading zeros are valid only at full width. */
static int64_t parse_rank(const struct fs_tree *tree, const char *digits)
{
    size_t length = strlen(digits);
    int64_t rank = 0;

    if (length == 0 || length > (size_t)tree->width)
        return -1;
    if (digits[0] == '0' && length != 1 && length != (size_t)tree->width)
        return -1;
    for (; *digits != '\0'; digits++) {
        if (*digits < '0' || *digits > '9')
            return -1;
        rank = rank * 10 + (*digits - '0');
    }
    return is_shown(tree, rank) ? rank : -1;
}

/* Finds "self" or a rank, whose name ends with the suffix of the format. */
static bool find_in_format(const struct fs_tree *tree, const char *name, enum fs_format format,
                           struct fs_node *node)
{
    size_t length = strlen(name), suffix = strlen(suffixes[format]);
    char plain[FS_NAME_SIZE];
    int64_t rank;

    if (length < suffix || strcmp(name + length - suffix, suffixes[format]) != 0)
        return false;
    snprintf(plain, sizeof(plain), "%.*s", (int)(length - suffix), name);
    if (strcmp(plain, "self") == 0) {
        node->kind = FS_SELF;
        node->format = format;
        return true;
    }
    rank = strncmp(plain, "rank", 4) == 0 ? parse_rank(tree, plain + 4) : -1;
    if (rank >= 0)
        set_rank(node, rank, format);
    return rank >= 0;
}

static struct fs_node find_rank(const struct fs_tree *tree, struct fs_node folder, const char *name)
{
    struct fs_node node = {
        .kind = FS_NONE, .view = folder.view, .ordered = folder.kind == FS_ORDERED};
    enum fs_format formats[FS_RANK_FORMATS];
    int count = formats_of(tree, folder, formats);

    for (int i = 0; i < count && strlen(name) < FS_NAME_SIZE; i++)
        if (find_in_format(tree, name, formats[i], &node))
            break;
    return node;
}

/* Finds "shared" and "ordered" of a view. */
static struct fs_node find_pointed(const struct fs_tree *tree, struct fs_node folder,
                                   const char *name)
{
    struct fs_node node = {.kind = FS_NONE, .view = folder.view};

    if (folder.kind == FS_ORDERED || !fs_tree_has_shared(tree, folder.view))
        return node;
    if (strcmp(name, shared_name) == 0)
        return fs_tree_shared(folder.view);
    if (fs_tree_has_ordered(tree, folder.view) && strcmp(name, ordered_name) == 0)
        node.kind = FS_ORDERED;
    return node;
}

/*
 * Gets entry number *index of the fixed entries of a folder: all but ranks and views' folders.
 * Returns false if there are fewer. In a folder that also has other entries, then subtracts their
 * number from *index.
 */
static bool fixed_entry(const struct fs_tree *tree, struct fs_node folder, int64_t *index,
                        char *name, struct fs_node *node)
{
    *node = folder;
    if (folder.kind == FS_CONTROL) {
        if (*index >= CONTROL_NAMES - tree->whole)
            return false;
        node->kind = (enum fs_kind)(FS_SPEC + *index);
        strcpy(name, control_names[*index]);
        return true;
    }
    if (folder.kind == FS_ROOT && (*index)-- == 0) {
        node->kind = FS_CONTROL;
        strcpy(name, ".mpiio");
        return true;
    }
    if (folder.kind == FS_ROOT && tree->whole && (*index)-- == 0) {
        *node = whole_of(tree);
        strcpy(name, "whole");
        return true;
    }
    return fs_exports_entry(tree->exports, folder, holds_ranks(tree, folder), index, name, node);
}

struct fs_node fs_tree_find(const struct fs_tree *tree, struct fs_node folder, const char *name)
{
    struct fs_node node = {.kind = FS_NONE};
    char listed[FS_NAME_SIZE];
    long view;

    if (folder.kind == FS_EXPORT_FOLDER)
        return fs_exports_find(tree->exports, folder, name);
    for (int64_t i = 0, index = 0; fixed_entry(tree, folder, &index, listed, &node); index = ++i)
        if (strcmp(name, listed) == 0)
            return node;
    if (holds_ranks(tree, folder)) {
        node = find_pointed(tree, folder, name);
        return node.kind != FS_NONE || !lists_ranks(tree, folder) ? node
                                                                  : find_rank(tree, folder, name);
    }
    node = (struct fs_node){.kind = FS_NONE};
    if (folder.kind == FS_ROOT && (view = vs_spec_find_view(tree->spec, name)) >= 0) {
        node.kind = FS_FOLDER;
        node.view = (size_t)view;
    }
    return node;
}

void fs_tree_rank_name(const struct fs_tree *tree, struct fs_node slice, char *name)
{
    if (slice.shared || slice.rank < 0 || fs_tree_is_whole(tree, slice)) {
        snprintf(name, FS_NAME_SIZE, "%s%s", slice.shared ? shared_name : "whole",
                 suffixes[slice.format]);
        return;
    }
    snprintf(name, FS_NAME_SIZE, "rank%0*lld%s", tree->width, (long long)slice.rank,
             suffixes[slice.format]);
}

/* Returns entry number index, from 0, of a folder of ranks or of view folders. */
static bool listed_entry(const struct fs_tree *tree, struct fs_node folder, int64_t index,
                         char *name, struct fs_node *node)
{
    node->view = folder.view;
    if (holds_ranks(tree, folder) && !lists_ranks(tree, folder))
        return false;
    if (holds_ranks(tree, folder)) {
        enum fs_format formats[FS_RANK_FORMATS];
        int count = formats_of(tree, folder, formats);

        node->ordered = folder.kind == FS_ORDERED;
        set_rank(node, tree->first + index / count, formats[index % count]);
        if (node->rank > tree->end)
            return false;
        if (node->rank == tree->end) {
            node->kind = FS_SELF;
            snprintf(name, FS_NAME_SIZE, "self%s", suffixes[node->format]);
        } else {
            fs_tree_rank_name(tree, *node, name);
        }
        return true;
    }
    if (folder.kind != FS_ROOT || index >= (int64_t)tree->views)
        return false;
    node->kind = FS_FOLDER;
    node->view = (size_t)index;
    snprintf(name, FS_NAME_SIZE, "%s", vs_spec_view_name(tree->spec, node->view));
    return true;
}

bool fs_tree_entry(const struct fs_tree *tree, struct fs_node folder, int64_t index, char *name,
                   struct fs_node *node)
{
    *node = folder;
    if (index < 2) {
        strcpy(name, index == 0 ? "." : "..");
        if (index == 1)
            node->kind = FS_ROOT;
        return true;
    }
    index -= 2;
    return fixed_entry(tree, folder, &index, name, node) ||
           listed_entry(tree, folder, index, name, node);
}
