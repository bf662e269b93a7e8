/* SPDX-License-Identifier: MIT */
#ifndef FS_OPERATIONS_H
#define FS_OPERATIONS_H

#include "fusefs/session.h"

/*
 * The request handlers. As libfuse's low-level API has it, each answers its request exactly once: a
 * do_x makes the answer or returns a negative errno, and fs_x replies.
 */

/* The operations for fuse_session_new. */
extern const struct fuse_lowlevel_ops fs_operations;

#endif
