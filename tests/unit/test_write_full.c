/* SPDX-License-Identifier: MIT */
#include "slice_fixture.h"
#include "faults.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/* Tests a full disk with small filesystems of its own. This needs the right to mount. */

struct disk {
    char folder[64];
    char image[64]; /* of ext4 */
    int fd;         /* of the file on the disk */
    struct mpiio_store *store;
};

static struct disk disk; /* of the running test; the folder is empty if there is none */

/* Makes a disk of 8 MiB in a new folder by a shell command, which gets the folder as $disk, and may
   make $disk.img. Returns false if the command fails. */
static bool make_disk(const char *command)
{
    char path[128];

    strcpy(disk.folder, "/tmp/mpiio-disk-XXXXXX");
    assert_non_null(mkdtemp(disk.folder));
    snprintf(disk.image, sizeof(disk.image), "%s.img", disk.folder);
    assert_int_equal(setenv("disk", disk.folder, 1), 0);
    if (system(command) != 0) {
        unlink(disk.image);
        rmdir(disk.folder);
        disk.folder[0] = '\0';
        return false;
    }
    snprintf(path, sizeof(path), "%s/file", disk.folder);
    disk.fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(disk.fd >= 0);
    disk.store = open_store_for(disk.fd, O_RDWR);
    return true;
}

static bool make_tmpfs(void)
{
    return make_disk("mount -t tmpfs -o size=8M mpiio-test $disk 2>/dev/null");
}

static bool make_ext4(void)
{
    return make_disk("truncate -s 8M $disk.img && "
                     "mkfs.ext4 -q -O ^has_journal -m 0 $disk.img 2>/dev/null && "
                     "mount -o loop $disk.img $disk 2>/dev/null");
}

/* Removes the disk after each test, also after one that failed. */
static int remove_disk(void **state)
{
    if (disk.folder[0] == '\0')
        return 0;
    mpiio_store_close(disk.store);
    close(disk.fd);
    if (umount2(disk.folder, MNT_DETACH) != 0 || rmdir(disk.folder) != 0)
        return -1;
    unlink(disk.image);
    disk.folder[0] = '\0';
    return 0;
}

/* Fills the disk until left bytes remain. Returns the file that uses the space. */
static int fill_disk(int64_t left)
{
    char path[128];
    struct statvfs st;
    int64_t free_bytes;
    int fd;

    snprintf(path, sizeof(path), "%s/filler", disk.folder);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(fstatvfs(fd, &st), 0);
    free_bytes = (int64_t)st.f_bavail * (int64_t)st.f_frsize;
    assert_true(free_bytes > left);
    assert_int_equal(fallocate(fd, 0, 0, free_bytes - left), 0);
    return fd;
}

static unsigned char bytes[1 << 20];

/* Fills the disk. The filesystem may grant a block or two more before it reports that it is
   full. */
static void use_up(struct mpiio_slice *slice, int64_t offset)
{
    ssize_t did;

    for (int i = 0; i < 20; i++) {
        did = mpiio_slice_write(slice, bytes, 400000, offset);
        if (did < 0)
            break;
        assert_in_range(did, 0, 8192);
        offset += did;
    }
    assert_int_equal(did, -ENOSPC);
}

/* Writes more than fits, frees space, and continues where the short count ended. */
static void check_growing(int64_t run)
{
    struct mpiio_slice *slice = make_slice(disk.store, make_vector(0, run, 2 * run));
    int filler = fill_disk(512 << 10);
    ssize_t did = mpiio_slice_write(slice, bytes, sizeof(bytes), 0);

    /* Half of 512 KiB, less the filesystem's metadata. */
    assert_in_range(did, 100 << 10, 512 << 10);
    expect_bytes(slice, bytes, (size_t)did, 0);
    /* The size is not far ahead of the stored bytes. */
    assert_in_range(mpiio_slice_size(slice), did, did + (64 << 10));
    use_up(slice, 2 << 20);
    expect_bytes(slice, bytes, (size_t)did, 0);
    close(filler);
    write_bytes(slice, bytes + did, sizeof(bytes) - (size_t)did, did);
    expect_bytes(slice, bytes, sizeof(bytes), 0);
    assert_int_equal(mpiio_store_sync(disk.store, false), 0);
    mpiio_slice_free(slice);
    assert_int_equal(ftruncate(disk.fd, 0), 0);
}

/* Writes inside a sparse file do not make it grow: the first access to a page fails. */
static void check_holes(int64_t run)
{
    struct mpiio_slice *slice = make_slice(disk.store, make_vector(0, run, 2 * run));
    int filler;
    ssize_t did;

    assert_int_equal(ftruncate(disk.fd, 2 * (int64_t)sizeof(bytes)), 0);
    filler = fill_disk(256 << 10);
    did = mpiio_slice_write(slice, bytes, sizeof(bytes), 0);
    assert_in_range(did, 0, 256 << 10);
    expect_bytes(slice, bytes, (size_t)did, 0);
    use_up(slice, 500000);
    assert_int_equal(mpiio_slice_reserve(slice, 0, sizeof(bytes)), -ENOSPC);
    close(filler);
    write_bytes(slice, bytes, sizeof(bytes), 0);
    expect_bytes(slice, bytes, sizeof(bytes), 0);
    mpiio_slice_free(slice);
    assert_int_equal(ftruncate(disk.fd, 0), 0);
}

static void check_disk(void)
{
    static const int runs[] = {8, 512, 3000, 32 << 10};

    FAULTS_OR_RETURN();
    for (int i = 0; i < 4; i++) {
        check_growing(runs[i]);
        check_holes(runs[i]);
    }
}

TEST(test_full_tmpfs, NULL, remove_disk)
{
    if (!make_tmpfs())
        CANNOT_RUN("mounting a tmpfs needs root");
    check_disk();
}

TEST(test_full_ext4, NULL, remove_disk)
{
    if (!make_ext4())
        CANNOT_RUN("mounting an ext4 image needs root, mkfs.ext4 and a loop device");
    check_disk();
}

/* Reserved space can be written even if the disk is full. */
TEST(test_reserved_space, NULL, remove_disk)
{
    struct mpiio_slice *slice;
    int filler;

    if (!make_tmpfs())
        CANNOT_RUN("mounting a tmpfs needs root");
    FAULTS_OR_RETURN();
    slice = make_slice(disk.store, make_vector(0, 8, 16));
    assert_int_equal(mpiio_slice_reserve(slice, 0, sizeof(bytes)), 0);
    filler = fill_disk(0);
    write_bytes(slice, bytes, sizeof(bytes), 0);
    expect_bytes(slice, bytes, sizeof(bytes), 0);
    assert_int_equal(mpiio_slice_write(slice, bytes, 100000, sizeof(bytes)), -ENOSPC);
    close(filler);
    mpiio_slice_free(slice);
}

BEFORE_TESTS
{
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(1 + rand() % 255);
    keep_guard();
}
