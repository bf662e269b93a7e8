/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_MOUNTS_ENDING_H
#define MPIIO_MOUNTS_ENDING_H

/*
 * The name of the memory in which a daemon reports what it could not store after its mount was
 * gone. No request reaches it then. So it makes the memory (memfd_create(2)) when it begins to
 * serve, and whoever unmounts opens it before the mount is gone. The memory is empty until the
 * daemon ends; then it has one int64_t: the number of bytes that are lost, or 0.
 */
#define MOUNTS_ENDING "mpiio-ending"

#endif
