/* SPDX-License-Identifier: MIT */
#ifndef FROM_HDF5_WHOLE_H
#define FROM_HDF5_WHOLE_H

/*
 * A part of the module of hdf5_module.h: the whole that specs of such variables assemble whose
 * bytes are not all in the HDF5 file. It begins with that file, so that displacements are the same
 * in both. Other files follow, and holes: bytes of no file, which read as values.
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
 * Adds the file at path, unless it is there: sets where it begins and how long it is. 0 or a
 * negative errno; -EFBIG if the whole had more than 2^62 bytes.
 */
int from_whole_add(struct from_whole *whole, const char *path, int64_t *at, int64_t *size);

/*
 * Adds a hole that reads as a value of length bytes, again and again. Returns where it begins, or a
 * negative errno as from_whole_add.
 */
int64_t from_whole_hole(struct from_whole *whole, int64_t bytes, const unsigned char *value,
                        size_t length);

/* Returns "members" as viewspec(5) has it: a new reference, or NULL without memory. */
json_t *from_whole_members(const struct from_whole *whole);

void from_whole_clear(struct from_whole *whole);

#endif
