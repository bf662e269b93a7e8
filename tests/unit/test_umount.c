/* SPDX-License-Identifier: MIT */
/* Tests the input of mpiio-umount: the kernel's table of mounts, and the statistics of a mount. */

#include "unit.h"
#include "mounts/mount.h"
#include "umount/process.h"

static bool parse(const char *line, struct mounts_entry *entry)
{
    char copy[8192];

    assert_true(strlen(line) < sizeof(copy));
    strcpy(copy, line);
    return mounts_entry_parse(copy, entry);
}

TEST(test_entry)
{
    struct mounts_entry entry;

    assert_true(parse("42 27 0:39 / /a\\040b\\134c\\012 rw,nosuid shared:5 master:1 - fuse.mpiio "
                      "user_id=7 rw,user_id=65534,group_id=100,max_read=1\n",
                      &entry));
    assert_int_equal(entry.id, 42);
    assert_int_equal(entry.major, 0);
    assert_int_equal(entry.minor, 39);
    assert_string_equal(entry.place, "/a b\\c\n");
    assert_string_equal(entry.type, "fuse.mpiio");
    assert_int_equal(entry.owner, 65534);
    assert_int_equal(entry.group, 100);
    assert_string_equal(entry.source, "user_id=7");
    assert_true(parse("1 1 8:1 / / rw - ext4 /dev/sda1 rw,xuser_id=3\n", &entry));
    assert_int_equal(entry.owner, 0);
    assert_true(parse("1 1 8:1 / / rw - ext4", &entry));
    assert_int_equal(entry.owner, 0);
    assert_string_equal(entry.source, "");
}

TEST(test_no_entry)
{
    const char *lines[] = {
        "",
        "\n",
        "1 2 3",
        "1 1 8:1 / / rw shared:1\n",
        "1 1 8:1 / / rw -\n",
        "1 1 eight / / rw - ext4 x rw\n",
    };
    struct mounts_entry entry;
    char line[PATH_MAX + 100];

    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
        assert_false(parse(lines[i], &entry));
    /* Names that are too long. */
    memset(line, 'a', sizeof(line));
    memcpy(line, "1 1 8:1 / /", 11);
    strcpy(line + sizeof(line) - 20, " rw - ext4 x rw\n");
    assert_false(parse(line, &entry));
    memset(line, 'a', 200);
    memcpy(line, "1 1 8:1 / / rw - ", 17);
    strcpy(line + 200, " x rw\n");
    assert_false(parse(line, &entry));
}

TEST(test_stat)
{
    const char *text = "{\n  \"pid\": 17,\n \"nodes\":2, \"peers\" : 9223372036854775807, "
                       "\"much\": 9223372036854775808, \"less\": -1, \"word\": \"x\", \"end\":";

    assert_int_equal(umount_stat(text, "pid", 0), 17);
    assert_int_equal(umount_stat(text, "nodes", 1), 2);
    assert_int_equal(umount_stat(text, "peers", 0), INT64_MAX);
    assert_int_equal(umount_stat(text, "much", 3), 3);
    assert_int_equal(umount_stat(text, "less", 3), 3);
    assert_int_equal(umount_stat(text, "word", 3), 3);
    assert_int_equal(umount_stat(text, "end", 3), 3);
    assert_int_equal(umount_stat(text, "none", 3), 3);
    assert_int_equal(umount_stat("", "pid", 3), 3);
}

TEST(test_list)
{
    char list[24] = "";

    umount_list_process(list, sizeof(list), "bash", 12);
    umount_list_process(list, sizeof(list), "od", 3);
    assert_string_equal(list, "bash (12), od (3)");
    umount_list_process(list, sizeof(list), "something", 4);
    assert_int_equal(strlen(list), sizeof(list) - 1);
}
