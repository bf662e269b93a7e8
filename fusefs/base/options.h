/* SPDX-License-Identifier: MIT */
#ifndef FS_OPTIONS_H
#define FS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/filesystem.h"
#include "core/base/complain.h"
#include "core/conversion.h"
#include "cluster/engine_channel.h"
#include "net/address.h"
#include "viewspec/spec.h"

/* The largest READ that libfuse 3.14 and the kernel agree on, in bytes. */
#define FS_READ_MAX (1u << 20)

/* The largest WRITE that they agree on, in bytes. */
#define FS_WRITE_MAX (1u << 20)

enum fs_access {
    FS_ACCESS_BEST, /* read-write if permitted, else read-only */
    FS_ACCESS_RO,
    FS_ACCESS_RW,
};

enum fs_cache {
    FS_CACHE_AUTO, /* back if an engine stores for this daemon, else through */
    FS_CACHE_THROUGH,
    FS_CACHE_BACK,
};

enum fs_wish {
    FS_WISH_AUTO, /* on if possible */
    FS_WISH_OFF,
};

/* Chooses the size: a fraction of the free memory on several nodes, no pool on a single node. */
#define FS_POOL_AUTO INT64_MAX

/* The command line of mpiio-fused(8). Text is borrowed from argv unless marked as owned. */
struct fs_options {
    const char *name;        /* the name that messages begin with */
    const char *spec;        /* path of the spec; for a shorthand, its name in messages */
    const char *spec_name;   /* the name of the spec in messages */
    const char *spec_digest; /* SHA-256 that the spec's text must have, in hex; NULL: any */
    char *shorthand;         /* the view itself, instead of a spec; owned; NULL: none */
    char *members;           /* the pattern of the members' names; owned; NULL: none */
    char *pieces; /* the members' places, in shorthand; owned; NULL: from the view or a spec */
    const char *mountpoint;
    struct vs_overrides overrides; /* its array of defines is owned */
    bool foreground;
    bool help, version;
    enum fs_access access;
    bool create;              /* create the file if it is missing */
    bool delete_on_close;     /* remove the file when all nodes are unmounted */
    bool sequential;          /* the file is a FIFO or a character device */
    char *missing;            /* as in struct vs_overrides; owned; NULL: the spec's */
    bool local;               /* show this node's block of ranks only */
    bool atomic;              /* start in atomic mode */
    bool append;              /* shared file pointers begin at the file's end */
    bool unique;              /* no other program has the file open */
    enum mpiio_narrow narrow; /* how integers that do not fit the file's type are handled */
    enum fs_wish passthrough; /* FUSE passthrough of identity views */
    bool direct;              /* reads bypass the page cache */
    bool npy;                 /* provide each slice also with a NumPy header */
    bool nc, vti, zarr;       /* provide the arrays also in netCDF, VTK's ImageData, Zarr */
    bool allow_other, default_permissions; /* the latter is implied by the former */
    bool has_fsname, has_subtype;
    int engine_fd; /* connection to the engine that started this daemon; -1: none */
    int fuse_fd;   /* an open /dev/fuse that the caller mounts ("/dev/fd/N"); -1: none */
    enum fs_cache cache;
    enum mpiio_coherence coherence; /* how the file's filesystem is treated */
    enum mpiio_store_mode store;
    int64_t dirty_max;        /* limit of write-back, in bytes */
    int64_t pool;             /* size of the pool, in bytes; 0: none; or FS_POOL_AUTO */
    int64_t flush_interval;   /* ms until dirty data is flushed; 0: age does not matter */
    int64_t peer_timeout;     /* ms until a silent node is declared failed */
    int64_t fanout;           /* the most nodes right below a node in the tree */
    int64_t threads;          /* the most worker threads, >= 1 */
    int64_t max_read;         /* the most bytes in a READ request */
    struct mpiio_ports ports; /* ports to listen on for other nodes */
    char *interface;          /* network interface between nodes; owned; NULL: any */
    char *log;                /* log file; owned; NULL: none */
    char *pointers; /* folder of the record of shared file pointers; owned; NULL: the file's */
    enum mpiio_log_level log_level; /* the lowest level that is logged */
    char *fuse; /* options for libfuse, separated by commas; owned; NULL: none */
};

/*
 * Parses the command line into options and checks it. On error, prints one line to stderr and
 * returns a negative errno: -EINVAL for wrong usage, or -ENOMEM. The caller calls fs_options_free
 * in either case. Not thread-safe (getopt).
 */
int fs_options_parse(struct fs_options *options, int argc, char **argv);

void fs_options_free(struct fs_options *options);

/*
 * Prints the reason for a failure on stderr, in one line that begins with the program's name.
 * Returns status.
 */
int fs_fail(const struct fs_options *options, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Prints the text of --help to stdout. */
void fs_options_help(void);

#endif
