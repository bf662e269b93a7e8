/* SPDX-License-Identifier: MIT */
/*
 * Tests where the daemon keeps the record of shared file pointers. A FUSE or NFS client may drop
 * the name of an open file from its cache, after which /proc calls the file deleted. Here the file
 * is removed and gets its name back, which has the same effect.
 */
#include "folder_fixture.h"
#include "slice_fixture.h"

#include "fusefs/session.h"

static struct fs_session session;

void fs_log_line(const struct fs_log *log, enum mpiio_log_level level, const char *format, ...)
{
}

void fs_workers_waits(void *workers, bool waits)
{
}

static void rename_twice(const char *path)
{
    char other[600];

    snprintf(other, sizeof(other), "%s/other", folder);
    assert_int_equal(link(path, other), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rename(other, path), 0);
}

/* Checks the record's name on node 1 of 2, and removes the file. Owns the store and the spec. */
static void check_place(struct mpiio_store *store, struct vs_spec *spec, const char *path)
{
    struct vs_view *common[2] = {NULL};
    struct fs_options options = {.peer_timeout = 1000};
    char name[64];

    session =
        (struct fs_session){.options = &options, .store = store, .spec = spec, .common = common};
    session.cluster.node = 1;
    session.cluster.nodes = 2;
    session.file = strdup(path);
    fs_tree_init(&session.tree, spec, false);
    rename_twice(path);
    assert_int_equal(fs_pointers_init(&session), 0);
    assert_non_null(session.tree.shared);
    snprintf(name, sizeof(name), ".%s.mpiio-pointers", strrchr(path, '/') + 1);
    assert_string_equal(session.pointers.record.name, name);
    fs_pointers_free(&session.pointers);
    vs_view_unref(common[0]);
    free(session.file);
    mpiio_store_close(store);
    vs_spec_free(spec);
    assert_int_equal(unlink(path), 0);
}

/* Opens the file of a spec in the folder, and checks the place of its record. */
static void check_spec(struct vs_spec *spec, const char *file)
{
    struct vs_error why = {0};
    struct mpiio_store *store;
    char path[600];

    snprintf(path, sizeof(path), "%s/%s", folder, file);
    assert_int_equal(mpiio_store_open_spec(spec, O_RDWR, &store, &why), 0);
    check_place(store, spec, path);
}

static void make(const char *name)
{
    char path[600];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    make_named_file(path, "12345678", 8);
}

TEST(a_file_that_has_lost_its_name, make_folder, remove_folder)
{
    make("file");
    check_spec(spec_from("{'viewspec': 1, 'file': '%s/file', 'ranks': 1, 'view': {'etype': "
                         "'byte'}}",
                         folder),
               "file");
}

TEST(a_member_that_has_lost_its_name, make_folder, remove_folder)
{
    char other[600];

    make("m0");
    make("m1");
    check_spec(spec_from("{'viewspec': 1, 'ranks': 1, 'view': {'etype': 'byte'}, 'members': "
                         "{'count': 2, 'file': '%s/m{member}', 'view': {'disp': '8 * rank'}}}",
                         folder),
               "m0");
    snprintf(other, sizeof(other), "%s/m1", folder);
    assert_int_equal(unlink(other), 0);
}
