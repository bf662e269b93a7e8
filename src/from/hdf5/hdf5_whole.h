/* SPDX-License-Identifier: MIT */
#ifndef FROM_HDF5_WHOLE_H
#define FROM_HDF5_WHOLE_H

/*
 * Part of the module (hdf5_module.h): the whole, which a spec assembles if a variable has bytes
 * that are not in the HDF5 file. It begins with that file, so that displacements are the same in
 * both. Other files and holes follow. A hole lies in no file, and reads as a value, repeated.
 */

#include <jansson.h>
#include <stdint.h>
#include <sys/types.h>

struct from_whole {
    struct from_whole_file {
        char *path;
        dev_t device;
        ino_t inode;
        int64_t at, size;
    } * files;
    size_t count, room;
    int64_t end;
    json_t *fills;
};

/*
 * Adds the file at path, unless the whole has it already. Sets at to its displacement and size to
 * its size. Returns 0 or a negative errno: -EFBIG if the whole would exceed 2^62-1 bytes.
 */
int from_whole_add(struct from_whole *whole, const char *path, int64_t *at, int64_t *size);

/*
 * Adds a hole that reads as a value of length bytes, repeated. Returns its displacement, or -EFBIG
 * or -ENOMEM.
 */
int64_t from_whole_hole(struct from_whole *whole, int64_t bytes, const unsigned char *value,
                        size_t length);

/* Returns "members" as in viewspec(5): a new reference, or NULL if out of memory. */
json_t *from_whole_members(const struct from_whole *whole);

void from_whole_clear(struct from_whole *whole);

#endif
