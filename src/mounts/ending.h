/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_MOUNTS_ENDING_H
#define MPIIO_MOUNTS_ENDING_H

/*
 * What a daemon could not store after its mount was gone. Then no request reaches it any more, so
 * it tells by memory that it makes (memfd_create(2)) under this name when it begins to serve, and
 * that whoever unmounts opens before. The memory is empty until the daemon ends; then it has one
 * int64_t, the bytes that are lost, or 0.
 */
#define MOUNTS_ENDING "mpiio-ending"

#endif
