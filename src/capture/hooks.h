/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_HOOKS_H
#define CAPTURE_HOOKS_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Functions that the intercepted calls invoke. They take machine words instead of MPI's types: an
 * MPI handle is the lower half of a word, or a pointer. None of them fails, so that the program is
 * not affected.
 */

/* Call it after MPI_File_open has succeeded; collective like that call. */
void capture_hook_opened(intptr_t comm, const char *name, int mode, void *file);

/* Call it after MPI_File_set_view with the code that it returned. */
void capture_hook_view_set(void *file, int code, int64_t displacement, intptr_t etype,
                           intptr_t filetype, const char *datarep);

/* Call it before MPI_File_close. Returns the file's record for capture_hook_closed, or NULL. */
void *capture_hook_closing(void *file);

/* Call it after MPI_File_close; collective like that call. */
void capture_hook_closed(void *record);

/* Call it before an access at the individual file pointer. Returns its offset, or -1. */
int64_t capture_hook_position(void *file);

/* Records an access of count elements of that memory type at an offset of the view, in etypes. */
void capture_hook_accessed(void *file, bool writing, int64_t offset, int64_t count, intptr_t type);

/* Records an access at the shared file pointer. */
void capture_hook_accessed_shared(void *file);

/* Call it before MPI_Finalize; collective like that call. */
void capture_hook_finalize(void);

/* Returns the next function of that name after this library's own, or NULL. Thread-safe. */
static inline void *capture_next(const char *name)
{
    static const char *const libraries[] = {"libmpich.so.12", "libmpi.so.12", "libmpich.so",
                                            "libmpi.so"};
    void *function = dlsym(RTLD_NEXT, name);

    /* The symbols of an MPI library that a plugin has loaded are not global. */
    for (size_t i = 0; function == NULL && i < sizeof(libraries) / sizeof(*libraries); i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
        if (library) {
            function = dlsym(library, name);
            dlclose(library);
        }
    }
    return function;
}

#endif
