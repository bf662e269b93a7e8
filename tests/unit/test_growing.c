/* SPDX-License-Identifier: MIT */
/*
 * Tests writing through a mapping while another writer makes the file longer. The program is linked
 * with --wrap for fallocate64 and pwrite64. As in a filesystem, these calls wait for the other
 * writer. Only then does it clear the rest of the file's former last block, although the new size
 * is visible before that.
 */

#include "slice_fixture.h"

#define BLOCK 4096
#define START (5 * BLOCK + 100) /* the former end of the file */
#define END   (6 * BLOCK)       /* the end of its former last block */
#define RUN   8
#define RUNS  100

static bool growing;

static void await_growth(int fd);

WRAP(int, fallocate64, int fd, int mode, off_t displacement, off_t length)
{
    await_growth(fd);
    return __real_fallocate64(fd, mode, displacement, length);
}

WRAP(ssize_t, pwrite64, int fd, const void *buffer, size_t length, off_t displacement)
{
    await_growth(fd);
    return __real_pwrite64(fd, buffer, length, displacement);
}

static void await_growth(int fd)
{
    static const char zeros[END - START];

    if (growing)
        assert_int_equal(__real_pwrite64(fd, zeros, sizeof(zeros), START), sizeof(zeros));
    growing = false;
}

/* Writes runs of 8 bytes from START on, into a file that has just grown to size bytes. */
static void check_growing(int64_t size, bool has_page)
{
    struct opened opened = open_slice(O_RDWR, make_vector(START, RUN, 2 * RUN));
    struct mpiio_counters counters;
    unsigned char bytes[RUNS * RUN], file[2 * RUN * RUNS];

    assert_int_equal(ftruncate(opened.fd, START), 0);
    if (has_page)
        write_file(opened.fd, "x", 1, START - 1);
    assert_int_equal(ftruncate(opened.fd, size), 0);
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i % 255 + 1);
    growing = true;
    write_bytes(opened.slice, bytes, sizeof(bytes), 0);
    assert_false(growing);
    mpiio_store_counters(opened.store, &counters);
    assert_true(counters.store_map_write_bytes > sizeof(bytes) / 2);
    assert_int_equal(pread(opened.fd, file, sizeof(file), START), sizeof(file));
    for (int i = 0; i < RUNS; i++)
        assert_memory_equal(file + 2 * RUN * i, bytes + RUN * i, RUN);
    close_opened(&opened);
}

TEST(test_pages_near_and_far_from_the_new_end)
{
    check_growing(1 << 20, true);
    check_growing(1 << 20, false); /* the page is missing */
    check_growing((int64_t)1 << 30, false);
}
