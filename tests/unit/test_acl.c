/* SPDX-License-Identifier: MIT */
#include "slice_fixture.h"

#include "core/file/acl.h"

/* Access control lists, as the kernel and an NFSv4 server return them. */

TEST(posix_lists_are_limited)
{
    unsigned char list[] = {2, 0, 0, 0, 1, 0, 7, 0, 255, 255, 255, 255, 2, 0, 6, 0, 5, 0, 0, 0};

    assert_int_equal(mpiio_acl_limit(list, sizeof(list), 4), 0);
    assert_int_equal(list[6], 4);
    assert_int_equal(list[14], 4);
    assert_int_equal(list[4], 1);
    assert_int_equal(list[16], 5);
    assert_int_equal(mpiio_acl_limit(list, 4, 6), 0);
}

TEST(other_bytes_are_no_posix_list)
{
    unsigned char list[] = {3, 0, 0, 0, 1, 0, 7, 0, 255, 255, 255, 255};

    assert_int_equal(mpiio_acl_limit(list, sizeof(list), 4), -EINVAL);
    assert_int_equal(list[6], 7);
    list[0] = 2;
    assert_int_equal(mpiio_acl_limit(list, sizeof(list) - 1, 4), -EINVAL);
    assert_int_equal(mpiio_acl_limit(list, 3, 4), -EINVAL);
    assert_int_equal(list[6], 7);
}

/* An entry that allows somebody to read: type, flags, mask and name. */
#define ENTRY      "\0\0\0\0\0\0\0\0\0\0\0\1"
#define OWNER      ENTRY "\0\0\0\6OWNER@\0\0"
#define GROUP      ENTRY "\0\0\0\6GROUP@\0\0"
#define EVERYONE   ENTRY "\0\0\0\11EVERYONE@\0\0\0"
#define BOB        ENTRY "\0\0\0\7bob@x.y\0"
#define IS_MODE(x) mpiio_acl_is_mode(x, sizeof(x) - 1)

TEST(lists_of_classes_are_modes)
{
    assert_true(IS_MODE("\0\0\0\3" OWNER GROUP EVERYONE));
    assert_true(IS_MODE("\0\0\0\0"));
    assert_false(IS_MODE("\0\0\0\3" OWNER BOB EVERYONE));
    assert_false(IS_MODE("\0\0\0\1" ENTRY "\0\0\0\5OWNER\0\0\0"));
}

/* Each list has memory of exactly its length, so that sanitizers detect a read past its end. */
TEST(cut_lists_are_no_modes)
{
    static const char whole[] = "\0\0\0\2" OWNER EVERYONE;

    for (size_t length = 0; length < sizeof(whole) - 1; length++) {
        char *cut = malloc(length);

        memcpy(cut, whole, length);
        assert_false(mpiio_acl_is_mode(cut, length));
        free(cut);
    }
    assert_false(IS_MODE("\0\0\0\1" OWNER EVERYONE));
    assert_false(IS_MODE("\0\0\0\1" ENTRY "\xff\xff\xff\xff"));
    assert_false(IS_MODE("\xff\xff\xff\xff" OWNER));
}

TEST(a_file_without_lists)
{
    int fd = make_file();

    assert_int_equal(mpiio_acl_read(fd, MPIIO_ACL_NFS4, NULL, 0), -ENODATA);
    assert_int_equal(mpiio_acl_read(fd, MPIIO_ACL_POSIX, NULL, 0), -ENODATA);
    close(fd);
    assert_int_equal(mpiio_acl_read(-1, MPIIO_ACL_POSIX, NULL, 0), -EBADF);
}
