/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_HOOKS_H
#define CAPTURE_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

/* The offset of an access at the shared file pointer, whose position is unknown. */
#define CAPTURE_SHARED (-2)

/*
 * Functions that the intercepted calls invoke. They take machine words instead of MPI's types: an
 * MPI handle is the lower half of a word, or a pointer. None of them fails, so that the program is
 * not affected. Each of libmpiio-capture-mpich and libmpiio-capture-openmpi has them.
 */
struct capture_hooks {
    /* Call it after MPI_File_open has succeeded; collective like that call. */
    void (*opened)(intptr_t comm, const char *name, int mode, void *file);

    /* Call it after MPI_File_set_view with the code that it returned. */
    void (*view_set)(void *file, int code, int64_t displacement, intptr_t etype, intptr_t filetype,
                     const char *datarep);

    /* Call it before MPI_File_close. Returns the file's record for closed, or NULL. */
    void *(*closing)(void *file);

    /* Call it after MPI_File_close; collective like that call. */
    void (*closed)(void *record);

    /* Call it before an access at the individual file pointer. Returns its offset, or -1. */
    int64_t (*position)(void *file);

    /* Records an access of count elements of that memory type at an offset of the view, in
       etypes. -1: unknown; CAPTURE_SHARED: at the shared file pointer. */
    void (*accessed)(void *file, bool writing, int64_t offset, int64_t count, intptr_t type);

    /* Call it before MPI_Finalize; collective like that call. */
    void (*finalize)(void);
};

/* The name of the symbol in these libraries, for dlsym. */
#define CAPTURE_HOOKS "mpiio_capture_hooks"
extern const struct capture_hooks mpiio_capture_hooks;

#endif
