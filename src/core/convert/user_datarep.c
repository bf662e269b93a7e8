/* SPDX-License-Identifier: MIT */
#include "core/datarep.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user_library.h"

/* MPI's function types, in the ABI of MPICH. */
typedef int extent_function(int datatype, long *extent, void *extra_state);
typedef int conversion_function(void *userbuf, int datatype, int count, void *filebuf,
                                long position, void *extra_state);

/* A converter in one direction. */
struct converter {
    const char *name; /* for messages */
    conversion_function *function;
    atomic_int reported[VS_BASICS]; /* the last reported error; 0: none */
};

struct datarep {
    struct vs_user_datarep user;
    struct mpiio_user_library library;
    char *name, *path; /* owned */
    struct converter read, write;
    void *extra_state;
    bool thread_safe; /* otherwise converters are called with others_wait locked */
    struct mpiio_datarep_log log;
};

/*
 * Held around each call of a converter that is not declared thread-safe. There is one lock for the
 * process, because representations may share a library, and libraries may share others.
 */
static pthread_mutex_t others_wait = PTHREAD_MUTEX_INITIALIZER;

/* The size in bytes of the buffers that a converter works on. Both are on the stack. */
#define CHUNK 16384

/* The maximum size of a library's element: every element fits into a chunk. */
#define ELEMENT_MAX 1024

/* Loading. */

static bool find_function(const struct datarep *datarep, const char *symbol, void *function,
                          char *why, size_t why_size)
{
    void *found = mpiio_user_library_symbol(&datarep->library, datarep->name, symbol);

    memcpy(function, &found, sizeof(found));
    if (found == NULL)
        snprintf(why, why_size, "library %s: it has neither %.100s_%s nor %s", datarep->path,
                 datarep->name, symbol, symbol);
    return found != NULL;
}

/* Gets the size of each type that MPICH has a handle for from the library. */
static int find_sizes(struct datarep *datarep, extent_function *extent_of, char *why,
                      size_t why_size)
{
    for (size_t i = 0; i < VS_BASICS; i++) {
        int handle = mpiio_datatype_handle(i);
        long extent = 0;

        if (handle == MPIIO_DATATYPE_NULL || extent_of(handle, &extent, datarep->extra_state) != 0)
            continue;
        if (extent > ELEMENT_MAX) {
            snprintf(why, why_size, "library %s: %ld bytes for a value of type %s are more than %d",
                     datarep->path, extent, vs_basic_at(i)->name, ELEMENT_MAX);
            return -EINVAL;
        }
        datarep->user.file_size[i] = extent > 0 ? extent : 0;
    }
    return 0;
}

static int find_symbols(struct datarep *datarep, char *why, size_t why_size)
{
    const struct mpiio_user_library *library = &datarep->library;
    extent_function *extent_of;

    if (!find_function(datarep, "read_conversion_fn", &datarep->read.function, why, why_size) ||
        !find_function(datarep, "write_conversion_fn", &datarep->write.function, why, why_size) ||
        !find_function(datarep, "dtype_file_extent_fn", &extent_of, why, why_size))
        return -ELIBBAD;
    void *const *extra_state = mpiio_user_library_symbol(library, datarep->name, "extra_state");
    if (extra_state != NULL)
        datarep->extra_state = *extra_state;
    const int *thread_safe = mpiio_user_library_symbol(library, datarep->name, "thread_safe");
    datarep->thread_safe = thread_safe != NULL && *thread_safe != 0;
    return find_sizes(datarep, extent_of, why, why_size);
}

static struct datarep *make_datarep(const char *name, const char *path)
{
    struct datarep *made = calloc(1, sizeof(*made));

    if (made == NULL)
        return NULL;
    made->name = strdup(name);
    made->path = strdup(path);
    made->user.name = made->name;
    made->user.library = made;
    made->library.fd = -1;
    made->read.name = "read";
    made->write.name = "write";
    if (made->name != NULL && made->path != NULL)
        return made;
    mpiio_datarep_unload(&made->user);
    return NULL;
}

int mpiio_datarep_load(void *argument, const char *name, const char *library,
                       struct vs_user_datarep **datarep, char *why, size_t why_size)
{
    const struct mpiio_datarep_log *log = argument;
    struct datarep *made = make_datarep(name, library);
    int error;

    if (made == NULL)
        return -ENOMEM;
    if (log != NULL)
        made->log = *log;
    error = mpiio_user_library_open(&made->library, library, why, why_size);
    if (error == 0)
        error = find_symbols(made, why, why_size);
    if (error != 0)
        mpiio_datarep_unload(&made->user);
    else
        *datarep = &made->user;
    return error;
}

void mpiio_datarep_unload(struct vs_user_datarep *datarep)
{
    struct datarep *made = datarep->library;

    mpiio_user_library_close(&made->library);
    free(made->name);
    free(made->path);
    free(made);
}

/* Converting. */

static void report_error(struct datarep *datarep, struct converter *converter, size_t number,
                         int error)
{
    const char *name = vs_basic_at(number)->name;
    char message[512], upper[32];
    size_t length = 0;

    if (datarep->log.report == NULL ||
        atomic_exchange(&converter->reported[number], error) == error)
        return;
    for (; name[length] != '\0' && length + 1 < sizeof(upper); length++)
        upper[length] = (char)toupper((unsigned char)name[length]);
    upper[length] = '\0';
    snprintf(message, sizeof(message),
             "representation %.64s: %s converter failed with MPI error %d for MPI_%s (%s)",
             datarep->name, converter->name, error, upper, datarep->path);
    datarep->log.report(datarep->log.argument, message);
}

static int call_converter(struct datarep *datarep, struct converter *converter, size_t number,
                          void *native, void *file, size_t count)
{
    int error;

    if (!datarep->thread_safe)
        pthread_mutex_lock(&others_wait);
    error = converter->function(native, mpiio_datatype_handle(number), (int)count, file, 0,
                                datarep->extra_state);
    if (!datarep->thread_safe)
        pthread_mutex_unlock(&others_wait);
    if (error != 0)
        report_error(datarep, converter, number, error);
    return error == 0 ? 0 : -EIO;
}

/*
 * Converts through aligned buffers, in chunks, because a converter may require alignment and may
 * change its input. Each chunk is one call for contiguous elements of a predefined type from
 * position 0 on, as for a read or write of only these.
 */
static int convert_values(struct datarep *datarep, struct converter *converter, size_t number,
                          char *to, size_t to_size, const char *from, size_t from_size,
                          size_t count)
{
    bool reading = converter == &datarep->read;
    _Alignas(64) char source[CHUNK];
    _Alignas(64) char result[CHUNK];
    size_t chunk = CHUNK / (to_size > from_size ? to_size : from_size);
    int error = 0;

    for (; count > 0 && error == 0; count -= chunk) {
        if (chunk > count)
            chunk = count;
        memcpy(source, from, chunk * from_size);
        /* Bytes that a converter does not set must not expose the contents of the stack. */
        memset(result, 0, chunk * to_size);
        error = call_converter(datarep, converter, number, reading ? result : source,
                               reading ? source : result, chunk);
        memcpy(to, result, chunk * to_size);
        to += chunk * to_size;
        from += chunk * from_size;
    }
    return error;
}

int mpiio_datarep_to_native(const struct vs_user_datarep *datarep, size_t number, void *native,
                            const void *file, size_t count)
{
    struct datarep *made = datarep->library;

    return convert_values(made, &made->read, number, native, vs_basic_at(number)->size, file,
                          (size_t)datarep->file_size[number], count);
}

int mpiio_datarep_to_file(const struct vs_user_datarep *datarep, size_t number, void *file,
                          const void *native, size_t count)
{
    struct datarep *made = datarep->library;

    return convert_values(made, &made->write, number, file, (size_t)datarep->file_size[number],
                          native, vs_basic_at(number)->size, count);
}
