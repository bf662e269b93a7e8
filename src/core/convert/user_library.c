/* SPDX-License-Identifier: MIT */
#include "user_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fd_link.h"
#include "viewspec/basic.h"

/* The buffer for an error text. */
struct why {
    char *text;
    size_t size;
    const char *path; /* of the library */
};

__attribute__((format(printf, 3, 4))) static int refuse(const struct why *why, int error,
                                                        const char *format, ...)
{
    va_list arguments;
    int length = snprintf(why->text, why->size, "library %s: ", why->path);

    va_start(arguments, format);
    if (length > 0 && (size_t)length < why->size)
        vsnprintf(why->text + length, why->size - (size_t)length, format, arguments);
    va_end(arguments);
    return error;
}

/* Checks that only root and the effective user can have written the open file or folder. */
static int check_owner(const struct why *why, int fd, const char *what, struct stat *status)
{
    if (fstat(fd, status) != 0)
        return refuse(why, -errno, "%s: %s", what, strerror(errno));
    if (status->st_uid != 0 && status->st_uid != geteuid())
        return refuse(why, -EPERM, "%s belongs to neither root nor user %ld", what,
                      (long)geteuid());
    if ((status->st_mode & S_IWOTH) != 0)
        return refuse(why, -EPERM, "%s is writable by others", what);
    if ((status->st_mode & S_IWGRP) != 0)
        return refuse(why, -EPERM, "%s is writable by its group", what);
    return 0;
}

/* Opens the folder of path for openat, and checks it. Cuts path, which is a copy, at the last
   slash. */
static int open_folder(const struct why *why, char *path, int *folder, char **base)
{
    struct stat status;
    char *slash = strrchr(path, '/');

    *base = slash + 1;
    *slash = '\0';
    *folder = open(slash == path ? "/" : path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (*folder < 0)
        return refuse(why, -errno, "its folder: %s", strerror(errno));
    return check_owner(why, *folder, "its folder", &status);
}

/* Checks the folder of a name that may be a symbolic link: other users must not be able to
   replace it. */
static int check_folder(const struct why *why)
{
    char *path = strdup(why->path), *base;
    int folder = -1;
    int error = path != NULL ? open_folder(why, path, &folder, &base) : -ENOMEM;

    if (folder >= 0)
        close(folder);
    free(path);
    return error;
}

static int open_checked(const struct why *why, int *fd)
{
    char *path = realpath(why->path, NULL), *base;
    struct stat status;
    int folder = -1, error;

    *fd = -1;
    if (path == NULL)
        return refuse(why, -errno, "%s", strerror(errno));
    error = check_folder(why);
    if (error == 0)
        error = open_folder(why, path, &folder, &base);
    if (error == 0) {
        *fd = openat(folder, base, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (*fd < 0)
            error = refuse(why, -errno, "%s", strerror(errno));
    }
    if (error == 0)
        error = check_owner(why, *fd, "it", &status);
    if (error == 0 && !S_ISREG(status.st_mode))
        error = refuse(why, -EINVAL, "it is not a file");
    if (folder >= 0)
        close(folder);
    free(path);
    return error;
}

/* Loads the file fd. Removes /proc/self/fd/N from the start of the loader's message. */
static int load_library(const struct why *why, struct mpiio_user_library *library)
{
    char name[MPIIO_FD_LINK_SIZE];

    mpiio_fd_link(library->fd, name);
    library->handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library->handle == NULL) {
        const char *message = dlerror();
        size_t length = strlen(name);

        if (message == NULL)
            message = "it cannot be loaded";
        else if (strncmp(message, name, length) == 0 && message[length] == ':')
            message += length + 1 + (message[length + 1] == ' ');
        return refuse(why, -ELIBBAD, "%s", message);
    }
    return 0;
}

/* Looks up a function. memcpy, because C cannot convert dlsym's pointer to a function pointer. */
static bool find_function(void *handle, const char *name, void *function)
{
    void *symbol = dlsym(handle, name);

    memcpy(function, &symbol, sizeof(symbol));
    return symbol != NULL;
}

/* Environment variables that would make MPI_Init join the job that started this process. */
static const char *const job_variables[] = {
    "PMI_FD", "PMI_PORT", "PMI_RANK", "PMI_SIZE", "PMI_ID", "PMIX_NAMESPACE", "PMIX_RANK",
};

#define JOB_VARIABLES (sizeof(job_variables) / sizeof(job_variables[0]))

/* Removes the variables from the environment, and copies them to values. */
static int hide_job(char *values[JOB_VARIABLES])
{
    for (size_t i = 0; i < JOB_VARIABLES; i++) {
        const char *value = getenv(job_variables[i]);

        if (value != NULL && (values[i] = strdup(value)) == NULL)
            return -ENOMEM;
        unsetenv(job_variables[i]);
    }
    return 0;
}

static void restore_job(char *values[JOB_VARIABLES])
{
    for (size_t i = 0; i < JOB_VARIABLES; i++) {
        if (values[i] != NULL)
            setenv(job_variables[i], values[i], 1);
        free(values[i]);
    }
}

static int initialise_alone(const struct why *why, void *handle)
{
    const int multiple = 3; /* MPI_THREAD_MULTIPLE */
    int (*initialise)(int *, char ***, int, int *);
    char *values[JOB_VARIABLES] = {NULL};
    int provided, code = 0, error;

    if (!find_function(handle, "MPI_Init_thread", &initialise))
        return refuse(why, -ELIBBAD, "it has MPI_Initialized but no MPI_Init_thread");
    error = hide_job(values);
    if (error == 0)
        code = initialise(NULL, NULL, multiple, &provided);
    restore_job(values);
    return code == 0 ? error : refuse(why, -EIO, "MPI_Init_thread failed with MPI error %d", code);
}

static int start_mpi(const struct why *why, struct mpiio_user_library *library)
{
    int (*initialised)(int *flag);
    int flag = 0;

    if (!find_function(library->handle, "MPI_Initialized", &initialised))
        return 0;
    library->pinned = true;
    if (dlsym(library->handle, "ompi_mpi_byte") != NULL)
        return refuse(why, -ELIBBAD, "it is linked to Open MPI, not to MPICH");
    return initialised(&flag) == 0 && flag ? 0 : initialise_alone(why, library->handle);
}

int mpiio_user_library_open(struct mpiio_user_library *library, const char *path, char *why,
                            size_t why_size)
{
    const struct why reason = {.text = why, .size = why_size, .path = path};
    struct sigaction actions[NSIG];
    bool saved[NSIG] = {false};
    int error;

    *library = (struct mpiio_user_library){.fd = -1};
    error = open_checked(&reason, &library->fd);
    if (error == 0) {
        for (int i = 1; i < NSIG; i++)
            saved[i] = sigaction(i, NULL, &actions[i]) == 0;
        error = load_library(&reason, library);
        if (error == 0)
            error = start_mpi(&reason, library);
        for (int i = 1; i < NSIG; i++)
            if (saved[i])
                sigaction(i, &actions[i], NULL);
    }
    if (error != 0)
        mpiio_user_library_close(library);
    return error;
}

void mpiio_user_library_close(struct mpiio_user_library *library)
{
    if (library->pinned)
        return;
    if (library->handle != NULL)
        dlclose(library->handle);
    if (library->fd >= 0)
        close(library->fd);
    *library = (struct mpiio_user_library){.fd = -1};
}

void *mpiio_user_library_symbol(const struct mpiio_user_library *library, const char *prefix,
                                const char *symbol)
{
    char *name = NULL;
    void *found;

    if (asprintf(&name, "%s_%s", prefix, symbol) < 0)
        return NULL;
    found = dlsym(library->handle, name);
    free(name);
    return found != NULL ? found : dlsym(library->handle, symbol);
}

/* The handles in the order of table 13.2, like viewspec's basic types. */
static const int handles[] = {
    0x4c00010f,          /* packed */
    0x4c00010d,          /* byte */
    0x4c000101,          /* char */
    0x4c000102,          /* unsigned_char */
    0x4c000118,          /* signed_char */
    0x4c00040e,          /* wchar */
    0x4c000203,          /* short */
    0x4c000204,          /* unsigned_short */
    0x4c000405,          /* int */
    0x4c000406,          /* unsigned */
    0x4c000807,          /* long */
    0x4c000808,          /* unsigned_long */
    0x4c000809,          /* long_long_int */
    0x4c000819,          /* unsigned_long_long */
    0x4c00040a,          /* float */
    0x4c00080b,          /* double */
    0x4c00100c,          /* long_double */
    0x4c00013f,          /* c_bool */
    0x4c000137,          /* int8_t */
    0x4c000238,          /* int16_t */
    0x4c000439,          /* int32_t */
    0x4c00083a,          /* int64_t */
    0x4c00013b,          /* uint8_t */
    0x4c00023c,          /* uint16_t */
    0x4c00043d,          /* uint32_t */
    0x4c00083e,          /* uint64_t */
    0x4c000843,          /* aint */
    0x4c000845,          /* count */
    0x4c000844,          /* offset */
    0x4c000840,          /* c_complex */
    0x4c001041,          /* c_double_complex */
    0x4c002042,          /* c_long_double_complex */
    0x4c00011a,          /* character */
    0x4c00041d,          /* logical */
    0x4c00041b,          /* integer */
    0x4c00041c,          /* real */
    0x4c00081f,          /* double_precision */
    0x4c00081e,          /* complex */
    0x4c001022,          /* double_complex */
    0x4c00012d,          /* integer1 */
    0x4c00022f,          /* integer2 */
    0x4c000430,          /* integer4 */
    0x4c000831,          /* integer8 */
    MPIIO_DATATYPE_NULL, /* integer16 */
    MPIIO_DATATYPE_NULL, /* real2 */
    0x4c000427,          /* real4 */
    0x4c000829,          /* real8 */
    0x4c00102b,          /* real16 */
    MPIIO_DATATYPE_NULL, /* complex4 */
    0x4c000828,          /* complex8 */
    0x4c00102a,          /* complex16 */
    0x4c00202c,          /* complex32 */
    0x4c000133,          /* cxx_bool */
    0x4c000834,          /* cxx_float_complex */
    0x4c001035,          /* cxx_double_complex */
    0x4c002036,          /* cxx_long_double_complex */
};
_Static_assert(sizeof(handles) / sizeof(handles[0]) == VS_BASICS, "a handle for each basic type");

int mpiio_datatype_handle(size_t number)
{
    return handles[number];
}
