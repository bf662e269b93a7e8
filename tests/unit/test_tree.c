/* SPDX-License-Identifier: MIT */
/* Tests the names of a mount: each listed name is found, and its inode number identifies it. */

#include "spec_fixture.h"
#include "fusefs/names/tree.h"

#define ONE_VIEW  "'view': {'etype': 'double'}"
#define TWO_VIEWS "'views': {'even': {'etype': 'double'}, 'odd': {'etype': 'byte'}}"

static const struct fs_node root = {.kind = FS_ROOT};
static struct vs_spec *spec;
static struct fs_tree tree;

static int free_spec(void **state)
{
    vs_spec_free(spec);
    spec = NULL;
    return 0;
}

TEST_GROUP(NULL, free_spec)

/* Makes the tree of a test in place of the previous one. */
static void make_tree(int64_t ranks, const char *views, bool npy)
{
    free_spec(NULL);
    spec = spec_from("{'viewspec': 1, 'file': 'f', 'ranks': %" PRId64 ", %s}", ranks, views);
    fs_tree_init(&tree, spec, npy);
}

static bool same(struct fs_node a, struct fs_node b)
{
    return a.kind == b.kind && (a.kind < FS_FOLDER || a.view == b.view) &&
           (a.kind != FS_SLICE || (a.rank == b.rank && a.shared == b.shared)) &&
           (a.kind < FS_SELF || a.format == b.format);
}

/* Walks a folder and everything below it. Returns the number of names. */
static int64_t check_folder(struct fs_node folder)
{
    char name[FS_NAME_SIZE];
    struct fs_node node;
    int64_t index = 2, names = 0;

    assert_true(fs_tree_is_folder(folder));
    for (; fs_tree_entry(&tree, folder, index, name, &node); index++) {
        if (!same(fs_tree_find(&tree, folder, name), node))
            fail_msg("%s is listed, and not found as what it is", name);
        if (!same(fs_tree_node(&tree, fs_tree_inode(node)), node))
            fail_msg("%s is not what its number says", name);
        names += 1 + (fs_tree_is_folder(node) ? check_folder(node) : 0);
    }
    assert_false(fs_tree_entry(&tree, folder, index + 1, name, &node));
    return names;
}

TEST(whole_trees)
{
    static const struct {
        const char *views;
        int64_t ranks;
        bool npy;
        int64_t names;
    } cases[] = {
        {ONE_VIEW, 1, false, 4 + 1 + 1},
        {ONE_VIEW, 10, false, 4 + 10 + 1},
        {ONE_VIEW, 11, true, 4 + 22 + 2},
        {TWO_VIEWS, 3, false, 4 + 2 * (1 + 3 + 1)},
        {TWO_VIEWS, 100, true, 4 + 2 * (1 + 200 + 2)},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        make_tree(cases[i].ranks, cases[i].views, cases[i].npy);
        assert_int_equal(check_folder(root), cases[i].names);
    }
}

/* Nodes show disjoint blocks of ranks, which together are all ranks. */
TEST(blocks_of_nodes)
{
    int64_t next = 0;

    for (int node = 0; node < 4; node++) {
        make_tree(10, ONE_VIEW, false);
        fs_tree_localize(&tree, node, 4);
        assert_int_equal(tree.first, next);
        assert_int_equal(check_folder(root), 4 + (tree.end - tree.first) + 1);
        next = tree.end;
    }
    assert_int_equal(next, 10);
    /* The last node has ranks 7 to 9. Neither names nor numbers lead to other ranks. */
    assert_int_equal(fs_tree_find(&tree, root, "rank6").kind, FS_NONE);
    assert_int_equal(
        fs_tree_node(&tree, fs_tree_inode((struct fs_node){.kind = FS_SLICE, .rank = 6})).kind,
        FS_NONE);
    assert_int_equal(fs_tree_find(&tree, root, "rank7").rank, 7);
}

TEST(names_of_ranks)
{
    static const struct {
        const char *name;
        enum fs_kind kind;
        int64_t rank;
        bool npy;
    } cases[] = {
        {"rank007", FS_SLICE, 7, false},  {"rank7", FS_SLICE, 7, false},
        {"rank07", FS_NONE, 0, false},    {"rank119", FS_SLICE, 119, false},
        {"rank120", FS_NONE, 0, false},   {"rank0007", FS_NONE, 0, false},
        {"rank", FS_NONE, 0, false},      {"rank18446744073709551617", FS_NONE, 0, false},
        {"rank-1", FS_NONE, 0, false},    {"rank 1", FS_NONE, 0, false},
        {"Rank1", FS_NONE, 0, false},     {"rank7.npy", FS_SLICE, 7, true},
        {"rank7.npz", FS_NONE, 0, false}, {".npy", FS_NONE, 0, false},
        {"self", FS_SELF, 0, false},      {"self.npy", FS_SELF, 0, true},
        {".mpiio", FS_CONTROL, 0, false}, {"", FS_NONE, 0, false},
    };
    char longest[FS_NAME_SIZE + 8];

    make_tree(120, ONE_VIEW, true);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fs_node node = fs_tree_find(&tree, root, cases[i].name);

        if (node.kind != cases[i].kind ||
            (node.kind == FS_SLICE &&
             (node.rank != cases[i].rank || (node.format == FS_NPY) != cases[i].npy)))
            fail_msg("%s: kind %d, rank %" PRId64, cases[i].name, (int)node.kind, node.rank);
    }
    memset(longest, '1', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_int_equal(fs_tree_find(&tree, root, longest).kind, FS_NONE);
}

/* The maximal number of ranks in MPI. The last one is found without a look at the others. */
TEST(many_ranks)
{
    struct fs_node folder = {.kind = FS_FOLDER, .view = 1}, node;
    char name[FS_NAME_SIZE];

    make_tree(INT32_MAX, TWO_VIEWS, true);
    assert_true(fs_tree_entry(&tree, folder, 2 + 2 * (int64_t)(INT32_MAX - 1) + 1, name, &node));
    assert_string_equal(name, "rank2147483646.npy");
    assert_true(same(fs_tree_node(&tree, fs_tree_inode(node)), node));
    assert_true(same(fs_tree_find(&tree, folder, name), node));
}

/* A new number stands for the same slice and differs from all earlier ones. */
TEST(new_numbers)
{
    struct fs_node slice = {.kind = FS_SLICE, .rank = 2};

    make_tree(3, ONE_VIEW, false);
    for (uint64_t round = 1; round <= INT32_MAX; round = round * 2 + 1) {
        uint64_t inode = fs_tree_renumber(fs_tree_inode(slice), round);

        assert_true(inode != fs_tree_renumber(fs_tree_inode(slice), round - 1));
        assert_true(same(fs_tree_node(&tree, inode), slice));
        assert_int_equal(inode >> 62, 0); /* exports and "ordered" */
    }
}

TEST(numbers_of_nothing)
{
    static const uint64_t numbers[] = {
        0,
        FS_FILE + 1,
        15,
        19,                                        /* self.npy in a mount without headers */
        16 + 8 * 2,                                /* the folder of a third view */
        ((uint64_t)1 << 32) + 3,                   /* rank 3 of 3 */
        (uint64_t)3 << 32,                         /* a slice of a third view */
        ((uint64_t)1 << 32) + ((uint64_t)1 << 31), /* a header in a mount without headers */
        UINT64_MAX,
    };

    make_tree(3, TWO_VIEWS, false);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (fs_tree_node(&tree, numbers[i]).kind != FS_NONE)
            fail_msg("%" PRIu64 " is a node", numbers[i]);
}

/* "shared" is found by name and by number if its view has a shared file pointer. It is never
   listed. */
TEST(shared_names)
{
    static const bool odd[] = {false, true};
    struct fs_node folder = {.kind = FS_FOLDER}, found;
    char name[FS_NAME_SIZE];

    make_tree(3, TWO_VIEWS, true);
    tree.shared = odd;
    assert_int_equal(fs_tree_find(&tree, folder, "shared").kind, FS_NONE);
    assert_int_equal(fs_tree_find(&tree, root, "shared").kind, FS_NONE);
    folder.view = 1;
    found = fs_tree_find(&tree, folder, "shared");
    assert_true(found.kind == FS_SLICE && found.shared && found.view == 1);
    assert_true(same(fs_tree_node(&tree, fs_tree_inode(found)), found));
    found.view = 0;
    assert_int_equal(fs_tree_node(&tree, fs_tree_inode(found)).kind, FS_NONE);
    fs_tree_rank_name(&tree, found, name);
    assert_string_equal(name, "shared");
    assert_int_equal(check_folder(folder), 6 + 2);
}

/* Names in "ordered" are found by name and by number. Each use of a rank has its own number. */
TEST(ordered_folders)
{
    static const bool shared[] = {false, true};
    struct fs_node folder, node, found;

    make_tree(12, TWO_VIEWS, true);
    folder = fs_tree_find(&tree, root, "odd");
    assert_int_equal(fs_tree_find(&tree, folder, "ordered").kind, FS_NONE);
    tree.shared = shared;
    assert_int_equal(fs_tree_find(&tree, folder, "ordered").kind, FS_NONE);
    tree.ordered = true;
    node = fs_tree_find(&tree, folder, "ordered");
    assert_int_equal(node.kind, FS_ORDERED);
    assert_int_equal(check_folder(node), 13);
    assert_int_equal(fs_tree_find(&tree, node, "ordered").kind, FS_NONE);
    assert_int_equal(fs_tree_find(&tree, node, "rank3.npy").kind, FS_NONE);
    found = fs_tree_find(&tree, node, "rank11");
    assert_true(found.kind == FS_SLICE && found.ordered && !found.shared && found.rank == 11);
    for (found.use = 1; found.use < 1000000; found.use *= 3) {
        struct fs_node same = fs_tree_node(&tree, fs_tree_inode(found));

        assert_true(same.kind == FS_SLICE && same.ordered && same.rank == 11 && same.view == 1);
        assert_true(fs_tree_inode(same) == fs_tree_inode(found));
        found.use++;
        assert_true(fs_tree_inode(same) != fs_tree_inode(found));
    }
    folder = fs_tree_find(&tree, root, "even");
    assert_int_equal(fs_tree_find(&tree, folder, "ordered").kind, FS_NONE);
    node.view = 0;
    assert_int_equal(fs_tree_node(&tree, fs_tree_inode(node)).kind, FS_NONE);
}
