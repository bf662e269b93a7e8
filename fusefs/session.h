/* SPDX-License-Identifier: MIT */
#ifndef FS_SESSION_H
#define FS_SESSION_H

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "core/cache/cache.h"
#include "core/store.h"
#include "core/store_layers.h"
#include "pointers/ordered.h"
#include "pointers/stream.h"
#include "viewspec/spec.h"
#include "fusefs/base/atomic_gate.h"
#include "fusefs/storing/nodes.h"
#include "fusefs/jobs/jobs.h"
#include "fusefs/storing/flusher.h"
#include "fusefs/base/log.h"
#include "fusefs/base/memory.h"
#include "fusefs/base/workers.h"
#include "fusefs/names/unwritten.h"
#include "fusefs/kernel/drop.h"
#include "fusefs/kernel/grants.h"
#include "fusefs/kernel/mode.h"
#include "fusefs/base/options.h"
#include "fusefs/kernel/passthrough.h"
#include "fusefs/kernel/prefetch.h"
#include "fusefs/kernel/rights.h"
#include "fusefs/kernel/trace.h"
#include "fusefs/storing/pointers.h"
#include "fusefs/storing/pool.h"
#include "fusefs/storing/settling.h"
#include "fusefs/names/exports.h"
#include "fusefs/names/slices.h"
#include "fusefs/names/tree.h"

/*
 * A mount: the state that the request handlers share, passed as libfuse's userdata. fs_mount_open
 * initializes it once; afterwards it is thread-safe.
 */
struct fs_session {
    const struct fs_options *options; /* borrowed */
    struct vs_spec *spec;
    struct fs_tree tree;
    struct fs_exports exports;
    struct vs_view **common; /* by view: the view of all ranks, or NULL if they differ */
    struct mpiio_store *store;
    struct mpiio_cache *cache; /* write-back; NULL: writes go directly to the file */
    int read_only; /* 0, or the negative errno of an attempt to open a slice for writing */
    enum fs_mode mode;
    char *file;       /* absolute path of the shared file */
    char *spec_path;  /* absolute path of the spec; of the file if the spec has none */
    char *mountpoint; /* absolute path, without symbolic links */
    dev_t device;     /* device number of the mount */
    char *resolved;   /* contents of spec.json */
    size_t resolved_length;
    time_t mounted;

    struct fs_log log;
    struct fs_trace trace;
    struct fs_rights rights;
    struct fs_passthrough passthrough;
    struct fs_slices slices;
    struct fs_dropper notifier, dropper;
    struct fs_overlaps overlaps;
    struct fs_grants grants;
    struct fs_cluster cluster;
    struct fs_flusher flusher;
    struct fs_settling settling;
    struct fs_durable durable;
    struct fs_pool pool;
    struct fs_pointers pointers;
    struct mpiio_ordered *ordered;          /* NULL: the mount has no "ordered" */
    struct mpiio_stream *stream;            /* the file if it is sequential, else NULL */
    const struct fs_handle_ops *shared_ops; /* the operations of "shared" */
    _Atomic int64_t ordered_flushed;        /* time of its last close, by mpiio_clock */
    atomic_uint ordered_uses;               /* inode numbers given to its lookups */
    struct fs_jobs jobs;
    struct fs_removal removal;
    struct fs_atomic atomic;
    struct fs_workers workers;
    struct fs_prefetchers prefetchers;
    struct fuse_session *fuse;
    struct fs_read_buffers buffers; /* for answers to reads; of FS_READ_MAX bytes */
    int ready;             /* descriptor that gets one byte once the mount serves; -1: none */
    atomic_bool greeted;   /* INIT is answered */
    atomic_bool readahead; /* the kernel's readahead has been set */
    struct fs_unwritten unwritten;
    atomic_int logged_unwritten;
    atomic_int view_errors; /* number of views that failed to compile, for limiting the log */
    _Atomic int64_t listed; /* mpiio_clock until which the kernel may use listed attributes */
};

static inline struct fs_session *fs_session_of(fuse_req_t request)
{
    return fuse_req_userdata(request);
}

/*
 * Gets a reference to the slice of node. Returns 0 or a negative errno. If the view does not
 * compile, returns -EIO and logs the reason. Thread-safe.
 */
int fs_slice_of(struct fs_session *session, struct fs_node node, struct fs_slice **slice);

/* Returns the device number of what is mounted at the place. The kernel answers, not the daemon. */
dev_t fs_device_at(const char *place);

/* Writes a line to the log, as an event of the peers and of the pointers. Thread-safe. */
void fs_session_log(void *session, enum mpiio_log_level level, const char *line);

#endif
