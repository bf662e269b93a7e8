/* SPDX-License-Identifier: MIT */
#include "filesystem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Magic numbers that linux/magic.h lacks. */
#define BCACHEFS_MAGIC 0xca451a4e
#define BEEGFS_MAGIC   0x19830326
#define EXFAT_MAGIC    0x2011bab0
#define GFS2_MAGIC     0x01161970
#define GPFS_MAGIC     0x47504653
#define HFSPLUS_MAGIC  0x482b
#define JFS_MAGIC      0x3153464a
#define LUSTRE_MAGIC   0x0bd00bd0
#define NTFS3_MAGIC    0x7366746e
#define ORANGEFS_MAGIC 0x20030528
#define ZFS_MAGIC      0x2fc12fc1

#define LOCAL MPIIO_COHERENCE_LOCAL
#define OPENS MPIIO_COHERENCE_CLOSE_TO_OPEN

/* An unknown type counts as close-to-open. If that is too strict, it only costs time. */
static const struct mpiio_filesystem filesystems[] = {
    {BTRFS_SUPER_MAGIC, "btrfs", LOCAL, true, true, true},
    {EXT4_SUPER_MAGIC, "ext4", LOCAL, true, true, true},
    {TMPFS_MAGIC, "tmpfs", LOCAL, true, true, true},
    {XFS_SUPER_MAGIC, "xfs", LOCAL, true, true, true},
    {OVERLAYFS_SUPER_MAGIC, "overlay", LOCAL, true, false, true},
    {BCACHEFS_MAGIC, "bcachefs", LOCAL, true, false, false},
    {EXFAT_MAGIC, "exFAT", LOCAL, true, false, false},
    {F2FS_SUPER_MAGIC, "F2FS", LOCAL, true, false, false},
    {MSDOS_SUPER_MAGIC, "FAT", LOCAL, true, false, false},
    {NTFS3_MAGIC, "NTFS", LOCAL, true, false, false},
    {ECRYPTFS_SUPER_MAGIC, "eCryptfs", LOCAL, true, false, false},
    {EROFS_SUPER_MAGIC_V1, "EROFS", LOCAL, true, false, false},
    {HFSPLUS_MAGIC, "HFS+", LOCAL, true, false, false},
    {ISOFS_SUPER_MAGIC, "ISO 9660", LOCAL, true, false, false},
    {JFS_MAGIC, "JFS", LOCAL, true, false, false},
    {NILFS_SUPER_MAGIC, "NILFS2", LOCAL, true, false, false},
    {RAMFS_MAGIC, "ramfs", LOCAL, true, false, false},
    {REISERFS_SUPER_MAGIC, "ReiserFS", LOCAL, true, false, false},
    {SQUASHFS_MAGIC, "SquashFS", LOCAL, true, false, false},
    {UDF_SUPER_MAGIC, "UDF", LOCAL, true, false, false},
    {ZFS_MAGIC, "ZFS", LOCAL, true, false, false},
    /* Distributed locks keep the page caches of all clients coherent. */
    {GFS2_MAGIC, "GFS2", LOCAL, false, false, false},
    {GPFS_MAGIC, "GPFS", LOCAL, false, false, false},
    {LUSTRE_MAGIC, "Lustre", LOCAL, false, false, false},
    {OCFS2_SUPER_MAGIC, "OCFS2", LOCAL, false, false, false},
    /* Each client has its own cache. */
    {AFS_SUPER_MAGIC, "AFS", OPENS, false, false, false},
    {BEEGFS_MAGIC, "BeeGFS", OPENS, false, false, false},
    {CEPH_SUPER_MAGIC, "CephFS", OPENS, false, false, false},
    {CIFS_SUPER_MAGIC, "SMB", OPENS, false, false, false},
    {FUSE_SUPER_MAGIC, "FUSE", OPENS, false, false, false},
    {NFS_SUPER_MAGIC, "NFS", OPENS, false, false, false},
    {ORANGEFS_MAGIC, "OrangeFS", OPENS, false, false, false},
    {SMB2_SUPER_MAGIC, "SMB", OPENS, false, false, false},
    {V9FS_MAGIC, "9P", OPENS, false, false, false},
    {0, "an unknown filesystem", OPENS, false, false, false},
};

static const struct mpiio_filesystem *find_filesystem(uint32_t type)
{
    const struct mpiio_filesystem *row = filesystems;

    while (row->type != 0 && row->type != type)
        row++;
    return row;
}

const struct mpiio_filesystem *mpiio_filesystem_at(const char *path)
{
    struct statfs fs;

    return find_filesystem(statfs(path, &fs) == 0 ? (uint32_t)fs.f_type : 0);
}

const struct mpiio_filesystem *mpiio_filesystem_of(int fd)
{
    struct statfs fs;

    return find_filesystem(fstatfs(fd, &fs) == 0 ? (uint32_t)fs.f_type : 0);
}

const char *mpiio_coherence_name(enum mpiio_coherence coherence)
{
    static const char *const names[] = {"auto", "local", "close-to-open", "none"};

    return names[coherence];
}

int mpiio_folder_sync(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = fd < 0 || fsync(fd) < 0 ? -errno : 0;

    if (fd >= 0)
        close(fd);
    return error == -EINVAL || error == -EACCES ? 0 : error;
}
