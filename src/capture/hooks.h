/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_HOOKS_H
#define CAPTURE_HOOKS_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What the intercepted calls set off, in words instead of MPI's types: an MPI handle is the lower
 * half of a word, or a pointer. Nothing here fails, for the program's sake.
 */

/* After MPI_File_open succeeded; collective as it is. */
void capture_hook_opened(intptr_t comm, const char *name, int mode, void *file);

/* After MPI_File_set_view; code is what it returned. */
void capture_hook_view_set(void *file, int code, int64_t displacement, intptr_t etype,
                           intptr_t filetype, const char *datarep);

/* Before MPI_File_close: the file's record, for capture_hook_closed, or NULL. */
void *capture_hook_closing(void *file);

/* After MPI_File_close; collective as it is. */
void capture_hook_closed(void *record);

/* Before an access at the individual file pointer: its offset, or -1. */
int64_t capture_hook_position(void *file);

/* An access of count elements of that type in memory began at an offset of the view, in etypes. */
void capture_hook_accessed(void *file, bool writing, int64_t offset, int64_t count, intptr_t type);

/* An access at the shared file pointer began. */
void capture_hook_accessed_shared(void *file);

/* Before MPI_Finalize; collective as it is. */
void capture_hook_finalize(void);

/*
 * The function of that name behind this library's own, or NULL where there is none. Thread-safe.
 */
static inline void *capture_next(const char *name)
{
    static const char *const libraries[] = {"libmpich.so.12", "libmpi.so.12", "libmpich.so",
                                            "libmpi.so"};
    void *function = dlsym(RTLD_NEXT, name);

    /* An MPI library that came with a plugin is not among the global symbols. */
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
