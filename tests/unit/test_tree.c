/* SPDX-License-Identifier: MIT */
/* Tests the names of a mount: each listed name is found, and its inode number identifies it. */

#include "spec_fixture.h"
#include "fusefs/names/tree.h"

#define ONE_VIEW  "\"view\": {\"etype\": \"double\"}"
#define TWO_VIEWS "\"views\": {\"even\": {\"etype\": \"double\"}, \"odd\": {\"etype\": \"byte\"}}"

static struct vs_spec *make_spec(int64_t ranks, const char *views)
{
    return spec_from("{\"viewspec\": 1, \"file\": \"f\", \"ranks\": %" PRId64 ", %s}", ranks,
                     views);
}

static bool same(struct fs_node a, struct fs_node b)
{
    return a.kind == b.kind && (a.kind < FS_FOLDER || a.view == b.view) &&
           (a.kind != FS_SLICE || (a.rank == b.rank && a.shared == b.shared)) &&
           (a.kind < FS_SELF || a.format == b.format);
}

/* Walks a folder and everything below it. Returns the number of names. */
static int64_t check_folder(const struct fs_tree *tree, struct fs_node folder)
{
    char name[FS_NAME_SIZE];
    struct fs_node node;
    int64_t index = 2, names = 0;

    assert_true(fs_tree_is_folder(folder));
    for (; fs_tree_entry(tree, folder, index, name, &node); index++) {
        if (!same(fs_tree_find(tree, folder, name), node))
            fail_msg("%s is listed, and not found as what it is", name);
        if (!same(fs_tree_node(tree, fs_tree_inode(node)), node))
            fail_msg("%s is not what its number says", name);
        names += 1 + (fs_tree_is_folder(node) ? check_folder(tree, node) : 0);
    }
    assert_false(fs_tree_entry(tree, folder, index + 1, name, &node));
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
    struct fs_tree tree;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct vs_spec *spec = make_spec(cases[i].ranks, cases[i].views);

        fs_tree_init(&tree, spec, cases[i].npy);
        assert_int_equal(check_folder(&tree, (struct fs_node){.kind = FS_ROOT}), cases[i].names);
        vs_spec_free(spec);
    }
}

/* Nodes show disjoint blocks of ranks, which together are all ranks. */
TEST(blocks_of_nodes)
{
    struct vs_spec *spec = make_spec(10, ONE_VIEW);
    struct fs_tree tree;
    int64_t next = 0;

    for (int node = 0; node < 4; node++) {
        fs_tree_init(&tree, spec, false);
        fs_tree_localize(&tree, node, 4);
        assert_int_equal(tree.first, next);
        assert_int_equal(check_folder(&tree, (struct fs_node){.kind = FS_ROOT}),
                         4 + (tree.end - tree.first) + 1);
        next = tree.end;
    }
    assert_int_equal(next, 10);
    /* The last node has ranks 7 to 9. Neither names nor numbers lead to other ranks. */
    assert_int_equal(fs_tree_find(&tree, (struct fs_node){.kind = FS_ROOT}, "rank6").kind, FS_NONE);
    assert_int_equal(
        fs_tree_node(&tree, fs_tree_inode((struct fs_node){.kind = FS_SLICE, .rank = 6})).kind,
        FS_NONE);
    assert_int_equal(fs_tree_find(&tree, (struct fs_node){.kind = FS_ROOT}, "rank7").rank, 7);
    vs_spec_free(spec);
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
    struct vs_spec *spec = make_spec(120, ONE_VIEW);
    struct fs_node root = {.kind = FS_ROOT};
    char longest[FS_NAME_SIZE + 8];
    struct fs_tree tree;

    fs_tree_init(&tree, spec, true);
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
    vs_spec_free(spec);
}

/* The maximal number of ranks in MPI. The last one is found without a look at the others. */
TEST(many_ranks)
{
    struct vs_spec *spec = make_spec(INT32_MAX, TWO_VIEWS);
    struct fs_node folder = {.kind = FS_FOLDER, .view = 1}, node;
    char name[FS_NAME_SIZE];
    struct fs_tree tree;

    fs_tree_init(&tree, spec, true);
    assert_true(fs_tree_entry(&tree, folder, 2 + 2 * (int64_t)(INT32_MAX - 1) + 1, name, &node));
    assert_string_equal(name, "rank2147483646.npy");
    assert_true(same(fs_tree_node(&tree, fs_tree_inode(node)), node));
    assert_true(same(fs_tree_find(&tree, folder, name), node));
    vs_spec_free(spec);
}

/* A new number stands for the same slice and differs from all earlier ones. */
TEST(new_numbers)
{
    struct vs_spec *spec = make_spec(3, ONE_VIEW);
    struct fs_node slice = {.kind = FS_SLICE, .rank = 2};
    struct fs_tree tree;

    fs_tree_init(&tree, spec, false);
    for (uint64_t round = 1; round <= INT32_MAX; round = round * 2 + 1) {
        uint64_t inode = fs_tree_renumber(fs_tree_inode(slice), round);

        assert_true(inode != fs_tree_renumber(fs_tree_inode(slice), round - 1));
        assert_true(same(fs_tree_node(&tree, inode), slice));
        assert_int_equal(inode >> 62, 0); /* exports and "ordered" */
    }
    vs_spec_free(spec);
}

TEST(numbers_of_nothing)
{
    struct vs_spec *spec = make_spec(3, TWO_VIEWS);
    struct fs_tree tree;
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

    fs_tree_init(&tree, spec, false);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (fs_tree_node(&tree, numbers[i]).kind != FS_NONE)
            fail_msg("%" PRIu64 " is a node", numbers[i]);
    vs_spec_free(spec);
}

/* "shared" is found by name and by number if its view has a shared file pointer. It is never
   listed. */
TEST(shared_names)
{
    static const bool odd[] = {false, true};
    struct vs_spec *spec = make_spec(3, TWO_VIEWS);
    struct fs_node folder = {.kind = FS_FOLDER}, found;
    struct fs_tree tree;
    char name[FS_NAME_SIZE];

    fs_tree_init(&tree, spec, true);
    tree.shared = odd;
    assert_int_equal(fs_tree_find(&tree, folder, "shared").kind, FS_NONE);
    assert_int_equal(fs_tree_find(&tree, (struct fs_node){.kind = FS_ROOT}, "shared").kind,
                     FS_NONE);
    folder.view = 1;
    found = fs_tree_find(&tree, folder, "shared");
    assert_true(found.kind == FS_SLICE && found.shared && found.view == 1);
    assert_true(same(fs_tree_node(&tree, fs_tree_inode(found)), found));
    found.view = 0;
    assert_int_equal(fs_tree_node(&tree, fs_tree_inode(found)).kind, FS_NONE);
    fs_tree_rank_name(&tree, found, name);
    assert_string_equal(name, "shared");
    assert_int_equal(check_folder(&tree, folder), 6 + 2);
    vs_spec_free(spec);
}

/* Names in "ordered" are found by name and by number. Each use of a rank has its own number. */
TEST(ordered_folders)
{
    static const bool shared[] = {false, true};
    struct vs_spec *spec = make_spec(12, TWO_VIEWS);
    struct fs_tree tree;
    struct fs_node folder, node, found;

    fs_tree_init(&tree, spec, true);
    folder = fs_tree_find(&tree, (struct fs_node){.kind = FS_ROOT}, "odd");
    assert_int_equal(fs_tree_find(&tree, folder, "ordered").kind, FS_NONE);
    tree.shared = shared;
    assert_int_equal(fs_tree_find(&tree, folder, "ordered").kind, FS_NONE);
    tree.ordered = true;
    node = fs_tree_find(&tree, folder, "ordered");
    assert_int_equal(node.kind, FS_ORDERED);
    assert_int_equal(check_folder(&tree, node), 13);
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
    folder = fs_tree_find(&tree, (struct fs_node){.kind = FS_ROOT}, "even");
    assert_int_equal(fs_tree_find(&tree, folder, "ordered").kind, FS_NONE);
    node.view = 0;
    assert_int_equal(fs_tree_node(&tree, fs_tree_inode(node)).kind, FS_NONE);
    vs_spec_free(spec);
}
