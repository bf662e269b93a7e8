/* SPDX-License-Identifier: MIT */
#include "slice_fixture.h"
#include "faults.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/* Tests a full disk with small filesystems of its own. This needs the right to mount. */

#define DISK_BYTES ((int64_t)8 << 20)

struct disk {
    char folder[64];
    char image[64]; /* empty: no image */
    int fd;         /* of the file on the disk */
    struct mpiio_store *store;
};

static struct disk disk; /* of the running test; the folder is empty if there is none */

static void make_disk(void)
{
    strcpy(disk.folder, "/tmp/mpiio-disk-XXXXXX");
    disk.image[0] = '\0';
    assert_non_null(mkdtemp(disk.folder));
}

static void forget_folder(void)
{
    rmdir(disk.folder);
    disk.folder[0] = '\0';
}

static void open_disk(void)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/file", disk.folder);
    disk.fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(disk.fd >= 0);
    disk.store = open_store_for(disk.fd, O_RDWR);
}

static bool make_tmpfs(void)
{
    char options[64];

    make_disk();
    snprintf(options, sizeof(options), "size=%" PRId64, DISK_BYTES);
    if (mount("mpiio-test", disk.folder, "tmpfs", 0, options) != 0) {
        forget_folder();
        return false;
    }
    open_disk();
    return true;
}

static bool make_ext4(void)
{
    char command[512];

    make_disk();
    snprintf(disk.image, sizeof(disk.image), "%s.img", disk.folder);
    snprintf(command, sizeof(command),
             "truncate -s %" PRId64 " %s && mkfs.ext4 -q -O ^has_journal -m 0 %s 2>/dev/null && "
             "mount -o loop %s %s 2>/dev/null",
             DISK_BYTES, disk.image, disk.image, disk.image, disk.folder);
    if (system(command) != 0) {
        unlink(disk.image);
        forget_folder();
        return false;
    }
    open_disk();
    return true;
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
    if (disk.image[0] != '\0')
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

static unsigned char bytes[1 << 20], back[1 << 20];

static void check_back(struct mpiio_slice *slice, size_t length)
{
    assert_int_equal(mpiio_slice_read(slice, back, length, 0), length);
    assert_memory_equal(back, bytes, length);
}

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
    check_back(slice, (size_t)did);
    /* The size is not far ahead of the stored bytes. */
    assert_in_range(mpiio_slice_size(slice), did, did + (64 << 10));
    use_up(slice, 2 << 20);
    check_back(slice, (size_t)did);
    close(filler);
    assert_int_equal(
        mpiio_slice_write(slice, bytes + did, sizeof(bytes) - (size_t)did, (int64_t)did),
        (ssize_t)sizeof(bytes) - did);
    check_back(slice, sizeof(bytes));
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
    check_back(slice, (size_t)did);
    use_up(slice, 500000);
    assert_int_equal(mpiio_slice_reserve(slice, 0, sizeof(bytes)), -ENOSPC);
    close(filler);
    assert_int_equal(mpiio_slice_write(slice, bytes, sizeof(bytes), 0), sizeof(bytes));
    check_back(slice, sizeof(bytes));
    mpiio_slice_free(slice);
    assert_int_equal(ftruncate(disk.fd, 0), 0);
}

static void check_disk(void)
{
    static const int runs[] = {8, 512, 3000, 32 << 10};

    FAULTS_OR_RETURN();
    restore_guard();
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
    restore_guard();
    slice = make_slice(disk.store, make_vector(0, 8, 16));
    assert_int_equal(mpiio_slice_reserve(slice, 0, sizeof(bytes)), 0);
    filler = fill_disk(0);
    assert_int_equal(mpiio_slice_write(slice, bytes, sizeof(bytes), 0), sizeof(bytes));
    check_back(slice, sizeof(bytes));
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
