/* SPDX-License-Identifier: MIT */
#include "formats.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* The format HDF5: loads the module. */

static const char signature[] = "\x89HDF\r\n\x1a\n";
#define SIGNATURE_LENGTH 8

/* Returns true for an HDF5 file. A user block of 512 bytes, or a power of two more, may precede
   its signature. */
static bool is_hdf5(const struct from_bytes *head)
{
    for (size_t at = 0; at + SIGNATURE_LENGTH <= head->length; at = at ? 2 * at : 512)
        if (!memcmp(head->bytes + at, signature, SIGNATURE_LENGTH))
            return true;
    return false;
}

/* Opens the module. Its path, installed or in the build directory, is relative to the program. */
static void *open_module(void)
{
    static const char *const places[] = {MPIIO_HDF5_MODULE, "../from/mpiio-hdf5.so"};
    char self[PATH_MAX], path[2 * PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

    if (length < 0)
        return NULL;
    self[length] = '\0';
    *strrchr(self, '/') = '\0';
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        snprintf(path, sizeof(path), "%s/%s", self, places[i]);
        if (!access(path, R_OK))
            return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    return NULL;
}

/* Seconds of processor time for libhdf5 to list a file; intact files need a few seconds at most. */
#define CHILD_SECONDS 600

typedef int (*lister)(const char *path, const struct from_source *source, struct from_file *file,
                      struct vs_error *error);

/* Lists the file in a child process first, because libhdf5 crashes on some damaged files. Fails if
   the child crashes. */
static int try_out(lister list_file, const char *path, const struct from_source *source,
                   struct from_file *file, struct vs_error *error)
{
    static const struct rlimit none;
    const struct rlimit time = {CHILD_SECONDS, CHILD_SECONDS};
    /* otherwise the child's status may be discarded */
    void (*ignored)(int) = signal(SIGCHLD, SIG_DFL);
    pid_t child = fork();
    int status = 0, got;

    if (child < 0)
        return from_fail_code(error, -errno, path);
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        setrlimit(RLIMIT_CORE, &none);
        setrlimit(RLIMIT_CPU, &time);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setenv("LIBC_FATAL_STDERR_", "1", 1); /* keeps glibc from writing to the terminal */
        if (null >= 0 && dup2(null, STDERR_FILENO) >= 0)
            _exit((list_file(path, source, file, error), 0));
        _exit(1);
    }
    while ((got = waitpid(child, &status, 0)) < 0 && errno == EINTR)
        ;
    signal(SIGCHLD, ignored);
    if (got == child && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    if (got != child || !WIFSIGNALED(status))
        return from_fail(error, -EIO, path, "the process that reads HDF5 files first has failed");
    return from_fail(error, -EINVAL, path, "damaged HDF5 file: libhdf5 crashes on it (%s)",
                     strsignal(WTERMSIG(status)));
}

int from_hdf5_list(const char *path, const struct from_source *source, struct from_file *file,
                   struct vs_error *error)
{
    lister module_list;
    void *module = open_module();
    const char *why = module ? NULL : dlerror();

    if (module == NULL)
        return from_fail(error, -ENOTSUP, path, "an HDF5 file: %s",
                         why ? why
                             : "this program was built without libhdf5 (install libhdf5-dev and "
                               "build it again)");
    *(void **)&module_list = dlsym(module, FROM_HDF5_LIST);
    /* The module is never unloaded: libhdf5 has an exit handler. */
    if (module_list == NULL)
        return from_fail(error, -ENOTSUP, path, "%s", dlerror());
    if (try_out(module_list, path, source, file, error))
        return error->code;
    return module_list(path, source, file, error);
}

static int list_hdf5(const char *path, struct from_file *file, struct vs_error *error)
{
    return from_hdf5_list(path, NULL, file, error);
}

const struct from_format from_hdf5 = {
    .name = "HDF5",
    .is_it = is_hdf5,
    .list = list_hdf5,
};
