/* SPDX-License-Identifier: MIT */

#include "unit.h"
#include "fusefs/base/memory.h"

static char root[] = "/tmp/mpiio-test-XXXXXX";

/* Writes a file below root, and makes its directories. */
static void put(const char *path, const char *text)
{
    char command[512], name[256];
    FILE *file;

    snprintf(name, sizeof(name), "%s/%s", root, path);
    snprintf(command, sizeof(command), "mkdir -p \"$(dirname %s)\"", name);
    assert_int_equal(system(command), 0);
    file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int make_root(void **state)
{
    return mkdtemp(root) == NULL;
}

static int remove_root(void **state)
{
    char command[64];

    snprintf(command, sizeof(command), "rm -r %s", root);
    return system(command);
}

TEST(the_least_of_what_is_there_and_allowed)
{
    assert_int_equal(fs_free_memory(root), 0);
    put("proc/meminfo", "MemTotal:       24105000 kB\nMemFree: 7 kB\nMemAvailable:    1000 kB\n");
    assert_int_equal(fs_free_memory(root), 1024000);
    /* One cgroup hierarchy. The limits of all enclosing groups count; "max" is no limit. */
    put("proc/self/cgroup", "0::/job/step\n");
    put("sys/fs/cgroup/job/step/memory.max", "max\n");
    assert_int_equal(fs_free_memory(root), 1024000);
    put("sys/fs/cgroup/job/memory.max", "500000\n");
    put("sys/fs/cgroup/memory.max", "600000\n");
    assert_int_equal(fs_free_memory(root), 500000);
    put("sys/fs/cgroup/job/step/memory.max", "400000\n");
    assert_int_equal(fs_free_memory(root), 400000);
    /* Several controllers. If a group's path is not visible, its nearest visible ancestor
       counts. */
    put("proc/self/cgroup", "9:name=systemd:/\n4:memory:/elsewhere/x\n1:cpu,cpuacct:/\n0::/\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    assert_int_equal(fs_free_memory(root), 600000);
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "300000\n");
    assert_int_equal(fs_free_memory(root), 300000);
    put("proc/self/cgroup", "what\n");
    assert_int_equal(fs_free_memory(root), 1024000);
}

TEST_GROUP(make_root, remove_root)
