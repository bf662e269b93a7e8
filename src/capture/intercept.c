/* SPDX-License-Identifier: MIT */
/*
 * The MPI calls of the program, intercepted: the MPI_ names, and the PMPI_ names, which the Fortran
 * bindings call. Each call is passed on to the function that it would have reached.
 *
 * mpi.h is not included. Handles are ints in MPICH and pointers in Open MPI. They are passed on as
 * words; an int uses the lower half.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "hooks.h"
#include "log.h"

/*
 * The MPI library of the program. libmpiio-capture is loaded into every process that a command line
 * starts. Most of these use no MPI, and the others may use different MPI libraries, so it is linked
 * with none.
 */

/* An MPI ABI that capture supports. */
struct abi {
    const char *name, *library; /* as part of the name of the library that is built for it */
    const char *symbol;         /* a variable that only libraries with this ABI have */
};

static const struct abi abis[] = {
    {"Open MPI", "openmpi", "ompi_mpi_comm_world"},
    {"MPICH", "mpich", "MPI_UNWEIGHTED"},
};

/* The hooks that are built for the program's MPI library; NULL: it is not supported. */
static const struct capture_hooks *loaded;

/* Returns the next function of that name after this library's own, or NULL. Thread-safe. */
static void *find_next(const char *name)
{
    static const char *const libraries[] = {"libmpich.so.12", "libmpi.so.12", "libmpi.so.40",
                                            "libmpich.so", "libmpi.so"};
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

/*
 * Finds the ABI of the program's MPI library, and makes the library's symbols global, for the
 * library that is loaded next. Returns NULL, after a message, if the ABI is not supported.
 */
static const struct abi *find_abi(void)
{
    void *function = find_next("PMPI_File_open"), *library;
    Dl_info found = {.dli_fname = "unknown"};

    /* A tool between the program and MPI has MPI_ names only. */
    dladdr(function ? function : find_next("MPI_File_open"), &found);
    library = dlopen(found.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
    for (size_t i = 0; i < sizeof(abis) / sizeof(*abis); i++)
        if (dlsym(library ? library : RTLD_DEFAULT, abis[i].symbol))
            return &abis[i];
    capture_say("%s: nothing is captured: its MPI library, %s, is neither MPICH, nor one with its "
                "ABI, nor Open MPI (build the program with one of these, or write the spec: "
                "viewspec(5))",
                program_invocation_name, found.dli_fname);
    return NULL;
}

/* Loads the library that is built for the program's MPI library. It is beside this one. */
static void load_hooks(void)
{
    const struct abi *abi = find_abi();
    Dl_info own = {0};
    char path[PATH_MAX];
    const char *slash;
    void *library;

    if (abi == NULL || dladdr(&loaded, &own) == 0)
        return;
    slash = strrchr(own.dli_fname, '/');
    snprintf(path, sizeof(path), "%.*slibmpiio-capture-%s.so",
             slash ? (int)(slash + 1 - own.dli_fname) : 0, own.dli_fname, abi->library);
    library = dlopen(path, RTLD_NOW);
    loaded = library ? dlsym(library, CAPTURE_HOOKS) : NULL;
    if (loaded == NULL)
        capture_say("%s: nothing is captured: its MPI library is %s: %s", program_invocation_name,
                    abi->name, dlerror());
}

/* The calls. */

typedef intptr_t word;

#define MPI_ERR_INTERN 16

/* Above zero in a call. */
static _Thread_local int inside;

/* Returns the hooks if a call is the program's own: calls by MPI itself, or by another tool between
   MPI and the program, are nested in one. */
static const struct capture_hooks *own_call(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    if (inside != 1)
        return NULL;
    pthread_once(&once, load_hooks);
    return loaded;
}

typedef int open_call(word comm, const char *name, int mode, word info, void **file);
typedef int view_call(void *file, int64_t displacement, word etype, word filetype,
                      const char *datarep, word info);
typedef int close_call(void **file);
typedef int at_call(void *file, int64_t offset, word buffer, word count, word type, word last);
typedef int next_call(void *file, word buffer, word count, word type, word last);
typedef int finalize_call(void);

static int open_file(open_call *next, word comm, const char *name, int mode, word info, void **file)
{
    int code = next(comm, name, mode, info, file);
    const struct capture_hooks *hooks = own_call();

    if (hooks && !code)
        hooks->opened(comm, name, mode, *file);
    return code;
}

static int set_view(view_call *next, void *file, int64_t displacement, word etype, word filetype,
                    const char *datarep, word info)
{
    int code = next(file, displacement, etype, filetype, datarep, info);
    const struct capture_hooks *hooks = own_call();

    if (hooks)
        hooks->view_set(file, code, displacement, etype, filetype, datarep);
    return code;
}

/* MPI may reuse the handle as soon as the file is closed, so look it up before. */
static int close_file(close_call *next, void **file)
{
    const struct capture_hooks *hooks = own_call();
    void *record = hooks && file ? hooks->closing(*file) : NULL;
    int code = next(file);

    if (record)
        hooks->closed(record);
    return code;
}

/* The offset of an access at the individual file pointer. */
#define INDIVIDUAL INT64_MIN

struct access {
    bool writing;
    void *file;
    int64_t offset; /* in etypes; or INDIVIDUAL, or CAPTURE_SHARED */
    word buffer, count, type, last;
};

/* Accesses the file by a call with an offset, or by one at a file pointer. */
static int access_file(at_call *at, next_call *next, struct access access)
{
    const struct capture_hooks *hooks = own_call();
    int code;

    if (next && access.offset == INDIVIDUAL) /* before the call moves the pointer */
        access.offset = hooks ? hooks->position(access.file) : -1;
    code =
        at ? at(access.file, access.offset, access.buffer, access.count, access.type, access.last)
           : next(access.file, access.buffer, access.count, access.type, access.last);
    if (hooks && !code)
        hooks->accessed(access.file, access.writing, access.offset, access.count, access.type);
    return code;
}

static int call_finalize(finalize_call *next)
{
    const struct capture_hooks *hooks = own_call();

    if (hooks)
        hooks->finalize();
    return next();
}

/* Looks up the next function once. Uses memcpy, because ISO C has no conversion to a function
   pointer. */
#define CATCH_ONE(name, call, parameters, ...)                                                     \
    int name parameters;                                                                           \
    __attribute__((visibility("default"))) int name parameters                                     \
    {                                                                                              \
        static call *_Atomic next;                                                                 \
        call *found = next;                                                                        \
        int code;                                                                                  \
        if (found == NULL) {                                                                       \
            void *address = find_next(#name);                                                      \
            if (address == NULL)                                                                   \
                return MPI_ERR_INTERN;                                                             \
            memcpy(&found, &address, sizeof(found));                                               \
            next = found;                                                                          \
        }                                                                                          \
        inside++;                                                                                  \
        code = __VA_ARGS__;                                                                        \
        inside--;                                                                                  \
        return code;                                                                               \
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
CATCH(Finalize, finalize_call, (void), call_finalize(found))

/* These calls differ in their last argument, which some do not have, and in their count: an int
   uses the lower half. */
#define CATCH_AT(name, writing, count_type)                                                        \
    CATCH(name, at_call,                                                                           \
          (void *file, int64_t offset, word buffer, word count, word type, word last),             \
          access_file(                                                                             \
              found, NULL,                                                                         \
              (struct access){writing, file, offset, buffer, (count_type)count, type, last}))

#define CATCH_NEXT(name, pointer, writing, count_type)                                             \
    CATCH(name, next_call, (void *file, word buffer, word count, word type, word last),            \
          access_file(                                                                             \
              NULL, found,                                                                         \
              (struct access){writing, file, pointer, buffer, (count_type)count, type, last}))

#define CATCH_ACCESSES(direction, writing, suffix, count)                                          \
    CATCH_AT(File_##direction##_at##suffix, writing, count)                                        \
    CATCH_AT(File_##direction##_at_all##suffix, writing, count)                                    \
    CATCH_AT(File_##direction##_at_all_begin##suffix, writing, count)                              \
    CATCH_AT(File_i##direction##_at##suffix, writing, count)                                       \
    CATCH_AT(File_i##direction##_at_all##suffix, writing, count)                                   \
    CATCH_NEXT(File_##direction##suffix, INDIVIDUAL, writing, count)                               \
    CATCH_NEXT(File_##direction##_all##suffix, INDIVIDUAL, writing, count)                         \
    CATCH_NEXT(File_##direction##_all_begin##suffix, INDIVIDUAL, writing, count)                   \
    CATCH_NEXT(File_i##direction##suffix, INDIVIDUAL, writing, count)                              \
    CATCH_NEXT(File_i##direction##_all##suffix, INDIVIDUAL, writing, count)                        \
    CATCH_NEXT(File_##direction##_shared##suffix, CAPTURE_SHARED, writing, count)                  \
    CATCH_NEXT(File_i##direction##_shared##suffix, CAPTURE_SHARED, writing, count)                 \
    CATCH_NEXT(File_##direction##_ordered##suffix, CAPTURE_SHARED, writing, count)                 \
    CATCH_NEXT(File_##direction##_ordered_begin##suffix, CAPTURE_SHARED, writing, count)

CATCH_ACCESSES(read, false, , int)
CATCH_ACCESSES(read, false, _c, word)
CATCH_ACCESSES(write, true, , int)
CATCH_ACCESSES(write, true, _c, word)
