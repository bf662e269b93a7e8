/* SPDX-License-Identifier: MIT */
/*
 * The MPI calls that the program makes, caught on their way: the MPI_ names, and the PMPI_ names,
 * which MPICH's Fortran 2008 binding calls. Each goes on to what it would have reached.
 *
 * mpi.h is not included. In libraries with another ABI handles are pointers, not ints: they pass
 * through untouched as words, of which an int uses the lower half.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "next.h"
#include "hooks.h"

typedef intptr_t word;

#define MPI_ERR_INTERN 16

/* A call that MPI makes itself, or another tool between MPI and the program, is not counted. */
static _Thread_local int inside;

typedef int open_call(word comm, const char *name, int mode, word info, void **file);
typedef int view_call(void *file, int64_t displacement, word etype, word filetype,
                      const char *datarep, word info);
typedef int close_call(void **file);
typedef int access_call(void *file, int64_t offset, word buffer, word count, word type, word last);
typedef int finalize_call(void);

static int open_file(open_call *next, word comm, const char *name, int mode, word info, void **file)
{
    int code;

    inside++;
    code = next(comm, name, mode, info, file);
    if (inside == 1 && !code)
        capture_hook_opened(comm, name, mode, *file);
    inside--;
    return code;
}

static int set_view(view_call *next, void *file, int64_t displacement, word etype, word filetype,
                    const char *datarep, word info)
{
    int code;

    inside++;
    code = next(file, displacement, etype, filetype, datarep, info);
    if (inside == 1)
        capture_hook_view_set(file, code, displacement, etype, filetype, datarep);
    inside--;
    return code;
}

/* The handle may be given out again as soon as the file is closed: it is looked up before. */
static int close_file(close_call *next, void **file)
{
    void *record = NULL;
    int code;

    inside++;
    if (inside == 1 && file)
        record = capture_hook_closing(*file);
    code = next(file);
    if (record)
        capture_hook_closed(record);
    inside--;
    return code;
}

static int access_file(access_call *next, bool writing, void *file, int64_t offset, word buffer,
                       word count, word type, word last)
{
    int code;

    inside++;
    if (inside == 1)
        capture_hook_accessed(file, writing);
    code = next(file, offset, buffer, count, type, last);
    inside--;
    return code;
}

static int finalize(finalize_call *next)
{
    int code;

    inside++;
    if (inside == 1)
        capture_hook_finalize();
    code = next();
    inside--;
    return code;
}

/* Looks the next function up once; memcpy, as ISO C has no such conversion of pointers. */
#define THROUGH(name, call, ...)                                                                   \
    static call *_Atomic next;                                                                     \
    call *found = next;                                                                            \
    if (found == NULL) {                                                                           \
        void *address = capture_next(name);                                                        \
        if (address == NULL)                                                                       \
            return MPI_ERR_INTERN;                                                                 \
        memcpy(&found, &address, sizeof(found));                                                   \
        next = found;                                                                              \
    }                                                                                              \
    return __VA_ARGS__

#define CATCH_ONE(name, call, parameters, ...)                                                     \
    int name parameters;                                                                           \
    __attribute__((visibility("default"))) int name parameters                                     \
    {                                                                                              \
        THROUGH(#name, call, __VA_ARGS__);                                                         \
    }

#define CATCH(name, call, parameters, ...)                                                         \
    CATCH_ONE(MPI_##name, call, parameters, __VA_ARGS__)                                           \
    CATCH_ONE(PMPI_##name, call, parameters, __VA_ARGS__)

CATCH(File_open, open_call, (word comm, const char *name, int mode, word info, void **file),
      open_file(found, comm, name, mode, info, file))
CATCH(File_set_view, view_call,
      (void *file, int64_t displacement, word etype, word filetype, const char *datarep, word info),
      set_view(found, file, displacement, etype, filetype, datarep, info))
CATCH(File_close, close_call, (void **file), close_file(found, file))
CATCH(Finalize, finalize_call, (void), finalize(found))

/* They differ in their last argument, which some do not have. */
#define CATCH_ACCESS(name, writing)                                                                \
    CATCH(name, access_call,                                                                       \
          (void *file, int64_t offset, word buffer, word count, word type, word last),             \
          access_file(found, writing, file, offset, buffer, count, type, last))

#define CATCH_ACCESSES(suffix)                                                                     \
    CATCH_ACCESS(File_read_at##suffix, false)                                                      \
    CATCH_ACCESS(File_read_at_all##suffix, false)                                                  \
    CATCH_ACCESS(File_read_at_all_begin##suffix, false)                                            \
    CATCH_ACCESS(File_iread_at##suffix, false)                                                     \
    CATCH_ACCESS(File_iread_at_all##suffix, false)                                                 \
    CATCH_ACCESS(File_write_at##suffix, true)                                                      \
    CATCH_ACCESS(File_write_at_all##suffix, true)                                                  \
    CATCH_ACCESS(File_write_at_all_begin##suffix, true)                                            \
    CATCH_ACCESS(File_iwrite_at##suffix, true)                                                     \
    CATCH_ACCESS(File_iwrite_at_all##suffix, true)

CATCH_ACCESSES()
CATCH_ACCESSES(_c)
