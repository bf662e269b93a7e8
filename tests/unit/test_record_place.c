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

static void rename_twice(const char *file)
{
    assert_int_equal(linkat(folder_fd, file, folder_fd, "other", 0), 0);
    assert_int_equal(unlinkat(folder_fd, file, 0), 0);
    assert_int_equal(renameat(folder_fd, "other", folder_fd, file), 0);
}

/* Opens the file of a spec in the folder, checks the name of its record on node 1 of 2, and removes
   the file. Frees the spec. */
static void check_spec(struct vs_spec *spec, const char *file)
{
    struct vs_view *common[2] = {NULL};
    struct fs_options options = {.peer_timeout = 1000};
    struct vs_error why = {0};
    char path[600], name[64];

    snprintf(path, sizeof(path), "%s/%s", folder, file);
    session = (struct fs_session){.options = &options, .spec = spec, .common = common};
    assert_int_equal(mpiio_store_open_spec(spec, O_RDWR, &session.store, &why), 0);
    session.cluster.node = 1;
    session.cluster.nodes = 2;
    session.file = path;
    fs_tree_init(&session.tree, spec, false);
    rename_twice(file);
    assert_int_equal(fs_pointers_init(&session), 0);
    assert_non_null(session.tree.shared);
    snprintf(name, sizeof(name), ".%s.mpiio-pointers", file);
    assert_string_equal(session.pointers.record.name, name);
    fs_pointers_free(&session.pointers);
    vs_view_unref(common[0]);
    mpiio_store_close(session.store);
    vs_spec_free(spec);
    assert_int_equal(unlinkat(folder_fd, file, 0), 0);
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
    make("m0");
    make("m1");
    check_spec(spec_from("{'viewspec': 1, 'ranks': 1, 'view': {'etype': 'byte'}, 'members': "
                         "{'count': 2, 'file': '%s/m{member}', 'view': {'disp': '8 * rank'}}}",
                         folder),
               "m0");
    assert_int_equal(unlinkat(folder_fd, "m1", 0), 0);
}
