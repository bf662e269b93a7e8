/* SPDX-License-Identifier: MIT */
/* Tests which file a member is: when two files are the same, and when only their names are. */
#include "slice_fixture.h"

#include <sys/stat.h>

#include "core/members/identity.h"

static char folder[64], path[80], other[80];
static struct mpiio_member_identity identity;

static int set_up(void **state)
{
    struct stat st;
    int fd;

    strcpy(folder, "/var/tmp/identity.XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/member", folder);
    snprintf(other, sizeof(other), "%s/other", folder);
    make_named_file(path, "member", 6);
    memset(&identity, 0, sizeof(identity));
    fd = mpiio_member_identify(path, &st, &identity);
    assert_true(fd >= 0);
    assert_true(identity.known && st.st_size == 6);
    close(fd);
    return 0;
}

static int tear_down(void **state)
{
    unlink(path);
    unlink(other);
    return rmdir(folder);
}

/* Checks that both ways of identifying a file agree. Returns their result. */
static int ask(const char *name)
{
    struct stat st;
    int error = mpiio_member_look(name, &identity, &st);
    int fd = mpiio_member_find(name, &identity);

    assert_int_equal(fd < 0 ? fd : 0, error);
    if (fd >= 0)
        close(fd);
    return error;
}

TEST(the_file_is_the_same_by_any_name_and_with_any_rights, set_up, tear_down)
{
    assert_int_equal(ask(path), 0);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(truncate(path, 1), 0);
    assert_int_equal(ask(path), 0);
    assert_int_equal(link(path, other), 0);
    assert_int_equal(ask(other), 0);
    assert_int_equal(unlink(other), 0);
    assert_int_equal(symlink(path, other), 0);
    assert_int_equal(ask(other), 0);
}

TEST(what_takes_the_name_is_another, set_up, tear_down)
{
    make_named_file(other, "member", 6);
    assert_int_equal(rename(other, path), 0);
    assert_int_equal(ask(path), -ESTALE);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(ask(path), -ENOENT);
    /* The FIFO has no other end open, so opening it would block. */
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(ask(path), -ESTALE);
    assert_int_equal(ask("/dev/zero"), -ESTALE);
    assert_int_equal(ask(folder), -ESTALE);
}

TEST(an_inode_that_is_used_again_is_another_file, set_up, tear_down)
{
    identity.birth++;
    assert_int_equal(ask(path), -ESTALE);
    /* If the birth time is unknown, the owner counts. */
    identity.birth = 0;
    assert_int_equal(ask(path), 0);
    identity.owner++;
    assert_int_equal(ask(path), -ESTALE);
}

TEST(no_file_is_one_that_was_missing, set_up, tear_down)
{
    identity.known = false;
    assert_int_equal(ask(path), -ESTALE);
}

TEST(other_kinds_have_no_identity, set_up, tear_down)
{
    struct stat st;

    assert_int_equal(mpiio_member_identify(folder, &st, &identity), -EINVAL);
    assert_int_equal(mpiio_member_identify("/dev/null", &st, &identity), -EINVAL);
    assert_int_equal(mpiio_member_identify(other, &st, &identity), -ENOENT);
}

TEST(twins_are_found, set_up, tear_down)
{
    struct mpiio_member_identity members[5] = {{.known = true, .device = 1, .inode = 7},
                                               {.known = true, .device = 2, .inode = 7},
                                               {.device = 1, .inode = 7},
                                               {.known = true, .device = 1, .inode = 8},
                                               {.known = true, .device = 1, .inode = 8}};
    struct mpiio_member_twins twins;

    assert_int_equal(mpiio_member_find_twins(members, 4, &twins), 0);
    assert_int_equal(mpiio_member_find_twins(members, 5, &twins), 1);
    assert_true(twins.first == 3 && twins.second == 4);
    members[2].known = true;
    assert_int_equal(mpiio_member_find_twins(members, 5, &twins), 1);
    assert_true(twins.first == 0 && twins.second == 2);
}
