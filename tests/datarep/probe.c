/* SPDX-License-Identifier: MIT */
/*
 * Representations that check how their converters are called. An int has six bytes in the file:
 * two that are always the same, and the value in big-endian order. It declares the types of
 * MPICH's mpi.h itself, so that it builds without MPI.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define INT    0x4c000405 /* MPI_INT */
#define SHORT  0x4c000203
#define DOUBLE 0x4c00080b

enum { CODE_WRONG_CALL = 99, CODE_OVERLAP = 98 };

typedef int conversion_function(void *userbuf, int datatype, int count, void *filebuf,
                                long position, void *extra_state);
typedef int extent_function(int datatype, long *extent, void *extra_state);

conversion_function read_conversion_fn, write_conversion_fn, parallel_read_conversion_fn;
extent_function dtype_file_extent_fn, huge_dtype_file_extent_fn;

static int state;
void *probe_extra_state = &state;
void *failing_extra_state = &failing_extra_state; /* a test puts the code there */
const int parallel_thread_safe = 1;

/* Tests read and set these. */
int failing_code;
atomic_int parallel_inside;

/* Threads in a converter: the library may only be called by one at a time. */
static atomic_int inside;

static int check_call(const void *userbuf, int datatype, int count, const void *filebuf,
                      long position, const void *extra_state)
{
    if (datatype != INT || count < 1 || position != 0 || (uintptr_t)userbuf % 64 != 0 ||
        (uintptr_t)filebuf % 64 != 0)
        return CODE_WRONG_CALL;
    if (extra_state == &failing_extra_state)
        return failing_code;
    return extra_state == NULL || extra_state == &state ? 0 : CODE_WRONG_CALL;
}

static int enter(void)
{
    int others = atomic_fetch_add(&inside, 1);

    usleep(100);
    atomic_fetch_sub(&inside, 1);
    return others == 0 ? 0 : CODE_OVERLAP;
}

/* Changes both buffers, as a converter may: each is either MPI's own, or the user's to be
   filled. */
int read_conversion_fn(void *userbuf, int datatype, int count, void *filebuf, long position,
                       void *extra_state)
{
    int error = check_call(userbuf, datatype, count, filebuf, position, extra_state);
    unsigned char *file = filebuf;
    uint32_t *values = userbuf;

    for (int i = 0; i < count && error == 0; i++, file += 6) {
        values[i] =
            (uint32_t)file[2] << 24 | (uint32_t)file[3] << 16 | (uint32_t)file[4] << 8 | file[5];
        if (file[0] != 'P' || file[1] != 'R')
            error = CODE_WRONG_CALL;
        memset(file, 0, 6);
    }
    return error != 0 ? error : enter();
}

int write_conversion_fn(void *userbuf, int datatype, int count, void *filebuf, long position,
                        void *extra_state)
{
    int error = check_call(userbuf, datatype, count, filebuf, position, extra_state);
    unsigned char *file = filebuf;
    uint32_t *values = userbuf;

    for (int i = 0; i < count && error == 0; i++, file += 6) {
        file[0] = 'P';
        file[1] = 'R';
        for (int b = 0; b < 4; b++)
            file[2 + b] = (unsigned char)(values[i] >> (24 - 8 * b));
        values[i] = 0;
    }
    return error != 0 ? error : enter();
}

int dtype_file_extent_fn(int datatype, long *extent, void *extra_state)
{
    *extent = datatype == INT ? 6 : 0;
    return datatype == INT || datatype == SHORT ? 0 : 1;
}

/* Representation "huge". */
int huge_dtype_file_extent_fn(int datatype, long *extent, void *extra_state)
{
    *extent = datatype == DOUBLE ? 1 << 20 : 4;
    return 0;
}

/* Representation "parallel": returns once two threads are in the function at the same time. */
int parallel_read_conversion_fn(void *userbuf, int datatype, int count, void *filebuf,
                                long position, void *extra_state)
{
    atomic_fetch_add(&parallel_inside, 1);
    for (int i = 0; i < 30000; i++) {
        if (atomic_load(&parallel_inside) >= 2)
            return 0;
        usleep(1000);
    }
    return CODE_OVERLAP;
}
