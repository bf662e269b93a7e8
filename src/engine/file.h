/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_FILE_H
#define ENGINE_FILE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/engine_channel.h"
#include "collective.h"
#include "core/file/file.h"
#include "core/base/clock.h"
#include "viewspec/members/members.h"

/*
 * Fencing: keeps an engine from storing for a node that other nodes have declared failed. Each
 * store to the file is inside the fence. There the engine has the lock of store_layers.h, if the
 * filesystem supports it, and the node's lease has not expired. If the lease has expired, the
 * engine waits until the daemon renews it or ends the engine. A process that was stopped checks its
 * lease before it does anything else. A process has one fence.
 */
struct engine_fence {
    const struct mpiio_lease *lease; /* borrowed */
    int daemon;                      /* the channel's socket, borrowed */
    int file;                        /* for the lock; -1: no lock */
};

/*
 * Call the first before any thread starts, and the second when no library will start threads any
 * longer. The signal that resumes a stopped process must reach the thread that stores.
 */
void engine_fence_hold_signal(void);
void engine_fence_take_signal(void);

/* The shared file as all engines have it open: through MPI-IO, POSIX calls, or both.
   file_write.h writes to it. */
struct engine_file {
    MPI_File mpi;             /* for long runs; MPI_FILE_NULL: posix writes them */
    struct mpiio_file *posix; /* for short runs; NULL: mpi writes them */
    /* assembles posix from members, which mpi cannot do; NULL: one file */
    struct vs_spec *members;
    int found; /* the file that the daemon has open (O_PATH); -1 with members */
    struct engine_fence fence;
};

/*
 * Opens the file that hello describes. Collective. All nodes use the same way: MPI-IO alone if a
 * node requests it, or has the file on a filesystem that is not known to be local. A file that is
 * assembled from members is written by POSIX calls. Refuses a file whose device or inode differs
 * from hello. Without a path nothing is opened; then no node may have one. Returns -1 on failure,
 * on every node. text then has a reason for the user if this node knows one, and is empty
 * otherwise. The caller closes the file in either case.
 */
int engine_file_open(struct engine_file *file, struct engine_collective *group,
                     const struct mpiio_message_hello *hello, char *text, size_t size);

/* Sets up fencing; call it before the first store. lease and daemon are borrowed. Local. */
void engine_file_fence(struct engine_file *file, const char *path, const struct mpiio_lease *lease,
                       const struct mpiio_channel *daemon);

/* Closes the file. Collective. */
void engine_file_close(struct engine_file *file);

/*
 * Returns the hints that MPI-IO uses, from MPI_File_get_info: as many as fit in a message. The
 * caller frees their texts together with free(*texts), which is NULL if there are none. Local.
 */
void engine_file_hints(const struct engine_file *file, struct mpiio_hints *hints, char **texts);

/*
 * Returns how the file is striped over servers, as mpiio_homes_of takes it. MPI-IO's answer is
 * preferred: its drivers ask the filesystem where they can. Otherwise it uses the hints of the
 * spec, given. 0: unknown. Local.
 */
void engine_file_striping(const struct engine_file *file, const struct mpiio_hints *given,
                          int64_t *unit, int64_t *factor);

/*
 * A file that is assembled from members (viewspec(5)). MPI-IO does not support such files, so the
 * engine always stores to the members by POSIX calls.
 */

/*
 * Assembles the file for writing as hello describes: sets members and posix of file. The daemon has
 * done so before; both must get the same result. Returns 0, or -1 with a reason in text; the caller
 * closes the file in either case. Local.
 */
int engine_members_open(const struct mpiio_message_hello *hello, struct engine_file *file,
                        char *text, size_t size);

/*
 * Returns true if all nodes have the same members that hold data, with the same amount of data.
 * Compares a digest of each member with node 0's digest. For filesystems that several machines may
 * share, it also verifies one member of each filesystem by engine_same_file, for at most 16
 * filesystems. If members differ, returns false; text then names the first one on the nodes that
 * differ. Collective.
 */
bool engine_members_same(struct engine_collective *group, const struct vs_members *members,
                         const struct mpiio_file *file, char *text, size_t size);

/* The identity of the file at a path. */

#define ENGINE_BOOT_SIZE 40

/* The result of comparing a node's file with the file of node 0. */
enum engine_same {
    ENGINE_SAME,    /* proved to be one file; or one of the two has none, which the open reports */
    ENGINE_OTHER,   /* proved to be two files */
    ENGINE_UNKNOWN, /* neither proved nor disproved */
};

/* A node's knowledge of its file. It is sent as it is in memory. */
struct engine_identity {
    bool found, local, device, has_birth;
    char boot[ENGINE_BOOT_SIZE]; /* of the running kernel */
    uint64_t inode, dev, rdev;
    int64_t birth[2];
};

/* A cache for the identification of many files. Initialize it with zeros. */
struct engine_identifier {
    char boot[ENGINE_BOOT_SIZE];
    bool looked, local; /* at least one file has been examined; its filesystem was local */
    uint64_t dev;
};

/* Stores the identity of the running kernel in boot; "": it is unknown. Local. */
void engine_read_boot(char boot[ENGINE_BOOT_SIZE]);

/* Identifies the file at path. If there is no file, found is false. Local. */
struct engine_identity engine_identify(struct engine_identifier *identifier, const char *path);

/*
 * Returns whether the paths of all nodes name one file. Collective. If each host had a file of its
 * own on its local disk, the data would be scattered over all of them. Inode numbers prove nothing:
 * new filesystems number alike, and copies of a disk are identical.
 *
 * On a local filesystem, nodes have the same file only if they share a running kernel, and see the
 * same device and inode. Otherwise the attributes that do not depend on the client are compared
 * (inode, creation time), and node 0 leaves a mark that other nodes must find. The first mark is a
 * lock on a byte whose position cannot be guessed. If a node does not see it, that proves nothing,
 * because some clients keep locks local. Then node 0 briefly makes a new file with an unguessable
 * name beside the file. Times, sizes and the device number are not compared: clients cache the
 * former, and invent the latter.
 */
enum engine_same engine_same_file(struct engine_collective *group, const char *path);

#endif
