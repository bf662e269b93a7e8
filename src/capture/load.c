/* SPDX-License-Identifier: MIT */
#include "load.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "log.h"

/* An MPI ABI that capture supports. */
struct abi {
    const char *name, *library; /* as part of the name of the library that is built for it */
    const char *symbol;         /* a variable that only libraries with this ABI have */
};

static const struct abi abis[] = {
    {"Open MPI", "openmpi", "ompi_mpi_comm_world"},
    {"MPICH", "mpich", "MPI_UNWEIGHTED"},
};

static const struct capture_hooks *hooks;

void *capture_next(const char *name)
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
    void *function = capture_next("PMPI_File_open"), *library;
    Dl_info found = {.dli_fname = "unknown"};

    /* A tool between the program and MPI has MPI_ names only. */
    dladdr(function ? function : capture_next("MPI_File_open"), &found);
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

    if (abi == NULL || dladdr(&hooks, &own) == 0)
        return;
    slash = strrchr(own.dli_fname, '/');
    snprintf(path, sizeof(path), "%.*slibmpiio-capture-%s.so",
             slash ? (int)(slash + 1 - own.dli_fname) : 0, own.dli_fname, abi->library);
    library = dlopen(path, RTLD_NOW);
    hooks = library ? dlsym(library, CAPTURE_HOOKS) : NULL;
    if (hooks == NULL)
        capture_say("%s: nothing is captured: its MPI library is %s: %s", program_invocation_name,
                    abi->name, dlerror());
}

const struct capture_hooks *capture_hooks(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load_hooks);
    return hooks;
}
