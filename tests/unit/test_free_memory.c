/* SPDX-License-Identifier: MIT */

#include <sys/mman.h>

#include "unit.h"
#include "fusefs/base/memory.h"

static char root[] = "/tmp/mpiio-test-XXXXXX";

/* Writes a file below root. */
static void put(const char *path, const char *text)
{
    char name[256];
    FILE *file;

    snprintf(name, sizeof(name), "%s/%s", root, path);
    file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int make_root(void **state)
{
    char command[128];

    if (mkdtemp(root) == NULL)
        return -1;
    snprintf(command, sizeof(command),
             "cd %s && mkdir -p proc/self sys/fs/cgroup/job/step sys/fs/cgroup/memory", root);
    return system(command);
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

/* Returns how many bytes of memory, size bytes of whole pages, are resident. */
static size_t resident(void *memory, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), count = 0;
    unsigned char pages[1 << 10];

    assert_true(size <= sizeof(pages) * page);
    assert_int_equal(mincore(memory, size, pages), 0);
    for (size_t i = 0; i < size / page; i++)
        count += pages[i] & 1;
    return count * page;
}

/* Reads that follow each other use the same buffer. */
TEST(read_buffers_are_reused_and_small_reads_take_little_memory)
{
    const size_t size = 1 << 20;
    struct fs_read_buffers buffers;
    struct fs_read_buffer *one, *two;

    fs_read_buffers_init(&buffers, size);
    one = fs_read_buffers_take(&buffers, 4096);
    assert_non_null(one);
    madvise(one->bytes, size, MADV_DONTNEED); /* with MALLOC_PERTURB_, malloc has filled it */
    memset(one->bytes, 'x', 4096);
    assert_true(resident(one->bytes, size) < size);
    two = fs_read_buffers_take(&buffers, size);
    assert_non_null(two);
    assert_ptr_not_equal(one->bytes, two->bytes);
    memset(two->bytes, 'y', size);
    fs_read_buffers_put(&buffers, two);
    fs_read_buffers_put(&buffers, one);
    for (int i = 0; i < 3; i++) {
        assert_ptr_equal(fs_read_buffers_take(&buffers, i == 0 ? 1 : size), one);
        memset(one->bytes, 'z', i == 0 ? 1 : size);
        assert_int_equal(resident(one->bytes, size) == size, i > 0);
        fs_read_buffers_put(&buffers, one);
    }
    fs_read_buffers_free(&buffers);
}

TEST_GROUP(make_root, remove_root)
