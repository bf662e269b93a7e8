/* SPDX-License-Identifier: MIT */
/*
 * Tests data representations beside a real MPI library: external32 against MPI_Pack_external, for
 * the types that MPICH gets right; the table of datatype handles against mpi.h; and converters
 * written for MPI_Register_datarep.
 */
#include <complex.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>

#include "core/conversion.h"
#include "core/datarep.h"
#include "core/convert/user_library.h"
#include "tap.h"

/* The types of table 13.2, by name. MPICH packs the first SOUND of them correctly as external32. */

static const struct {
    const char *name;
    MPI_Datatype datatype;
} types[] = {
    {"short", MPI_SHORT},
    {"int", MPI_INT},
    {"unsigned", MPI_UNSIGNED},
    {"long_long_int", MPI_LONG_LONG_INT},
    {"float", MPI_FLOAT},
    {"double", MPI_DOUBLE},
    {"long_double", MPI_LONG_DOUBLE},
    {"int8_t", MPI_INT8_T},
    {"int16_t", MPI_INT16_T},
    {"int32_t", MPI_INT32_T},
    {"int64_t", MPI_INT64_T},
    {"uint8_t", MPI_UINT8_T},
    {"uint16_t", MPI_UINT16_T},
    {"uint32_t", MPI_UINT32_T},
    {"uint64_t", MPI_UINT64_T},
    {"c_complex", MPI_C_COMPLEX},
    {"c_double_complex", MPI_C_DOUBLE_COMPLEX},
    {"c_long_double_complex", MPI_C_LONG_DOUBLE_COMPLEX},
    {"packed", MPI_PACKED},
    {"byte", MPI_BYTE},
    {"char", MPI_CHAR},
    {"unsigned_char", MPI_UNSIGNED_CHAR},
    {"signed_char", MPI_SIGNED_CHAR},
    {"wchar", MPI_WCHAR},
    {"unsigned_short", MPI_UNSIGNED_SHORT},
    {"long", MPI_LONG},
    {"unsigned_long", MPI_UNSIGNED_LONG},
    {"unsigned_long_long", MPI_UNSIGNED_LONG_LONG},
    {"c_bool", MPI_C_BOOL},
    {"aint", MPI_AINT},
    {"count", MPI_COUNT},
    {"offset", MPI_OFFSET},
    {"character", MPI_CHARACTER},
    {"logical", MPI_LOGICAL},
    {"integer", MPI_INTEGER},
    {"real", MPI_REAL},
    {"double_precision", MPI_DOUBLE_PRECISION},
    {"complex", MPI_COMPLEX},
    {"double_complex", MPI_DOUBLE_COMPLEX},
    {"integer1", MPI_INTEGER1},
    {"integer2", MPI_INTEGER2},
    {"integer4", MPI_INTEGER4},
    {"integer8", MPI_INTEGER8},
#ifdef MPI_INTEGER16
    {"integer16", MPI_INTEGER16},
#endif
#ifdef MPI_REAL2
    {"real2", MPI_REAL2},
    {"complex4", MPI_COMPLEX4},
#endif
    {"real4", MPI_REAL4},
    {"real8", MPI_REAL8},
    {"real16", MPI_REAL16},
    {"complex8", MPI_COMPLEX8},
    {"complex16", MPI_COMPLEX16},
    {"complex32", MPI_COMPLEX32},
    {"cxx_bool", MPI_CXX_BOOL},
    {"cxx_float_complex", MPI_CXX_FLOAT_COMPLEX},
    {"cxx_double_complex", MPI_CXX_DOUBLE_COMPLEX},
    {"cxx_long_double_complex", MPI_CXX_LONG_DOUBLE_COMPLEX},
};

#define TYPES (sizeof(types) / sizeof(types[0]))
#define SOUND 18

/* Checks the signatures of the functions in src/core, and each handle. */
static void handles(void)
{
    typedef int conversion_function(void *, int, int, void *, long, void *);
    typedef int extent_function(int, long *, void *);
    int wrong = 0, without = 0;

    ok(__builtin_types_compatible_p(conversion_function, MPI_Datarep_conversion_function) &&
           __builtin_types_compatible_p(extent_function, MPI_Datarep_extent_function),
       "the signatures of the functions are MPI's");
    for (size_t i = 0; i < TYPES; i++) {
        int handle = mpiio_datatype_handle(vs_basic_number(vs_basic_find(types[i].name)));
        if (handle != types[i].datatype && handle != MPIIO_DATATYPE_NULL) {
            printf("# %s is %x\n", types[i].name, (unsigned)types[i].datatype);
            wrong++;
        }
    }
    for (size_t i = 0; i < VS_BASICS; i++)
        without += mpiio_datatype_handle(i) == MPIIO_DATATYPE_NULL;
    ok(wrong == 0 && without == 3, "the handles of all types but 3 are mpi.h's");
}

/* external32. */

enum { COUNT = 1000 };

static uint64_t random_bits(void)
{
    return (uint64_t)random() << 42 ^ (uint64_t)random() << 21 ^ (uint64_t)random();
}

/* Makes random bytes. Long doubles are numbers, spread over all exponents. */
static void fill(const struct vs_basic *basic, unsigned char *native)
{
    for (size_t i = 0; i < (size_t)COUNT * basic->size; i++)
        native[i] = (unsigned char)random_bits();
    for (size_t i = 0; basic->extended && i < (size_t)COUNT * basic->parts; i++) {
        long double value =
            ldexpl((long double)random_bits() + 1, (int)(random_bits() % 32000) - 16100);
        memset(native + 16 * i, 0, 16);
        value = random_bits() % 2 ? value : -value;
        memcpy(native + 16 * i, &value, 10);
    }
}

static bool packs_alike(const struct vs_basic *basic, MPI_Datatype datatype)
{
    static unsigned char native[COUNT * 32], file[COUNT * 32], again[COUNT * 32];
    static unsigned char packed[COUNT * 32], unpacked[COUNT * 32];
    const struct vs_view_facts facts = {.datarep = VS_EXTERNAL32};
    struct mpiio_conversion conversion;
    MPI_Aint at = 0, from = 0, length = (MPI_Aint)COUNT * basic->external;

    fill(basic, native);
    memset(again, 0, sizeof(again));
    memset(unpacked, 0, sizeof(unpacked));
    if (mpiio_conversion_find(basic, &facts, MPIIO_NARROW_REFUSE, &conversion) != 0 ||
        mpiio_to_file(&conversion, file, native, COUNT) != 0 ||
        mpiio_to_native(&conversion, again, file, COUNT) != 0 ||
        MPI_Pack_external("external32", native, COUNT, datatype, packed, sizeof(packed), &at) ||
        MPI_Unpack_external("external32", file, length, &from, unpacked, COUNT, datatype))
        return false;
    return at == length && memcmp(file, packed, (size_t)length) == 0 &&
           memcmp(again, native, (size_t)COUNT * basic->size) == 0 &&
           memcmp(unpacked, native, (size_t)COUNT * basic->size) == 0;
}

static void external32(void)
{
    for (size_t i = 0; i < SOUND; i++)
        ok(packs_alike(vs_basic_find(types[i].name), types[i].datatype),
           "external32: %s as MPI_Pack_external", types[i].name);
}

/* Libraries. */

static char folder[] = "/tmp/mpiio-test-datarep.XXXXXX";

/* Loads a copy that no other user can write. Returns NULL after a comment if the library is
   refused. */
static struct vs_user_datarep *load(const char *name, const char *library)
{
    struct vs_user_datarep *datarep = NULL;
    char command[600], path[200], why[600];

    snprintf(path, sizeof(path), "%s/%s", folder, strrchr(library, '/') + 1);
    snprintf(command, sizeof(command), "cp -n '%s' '%s' && chmod 755 '%s'", library, path, path);
    if (system(command) != 0)
        return NULL;
    if (mpiio_datarep_load(NULL, name, path, &datarep, why, sizeof(why)) != 0)
        printf("# %s\n", why);
    return datarep;
}

static struct mpiio_conversion find(const struct vs_user_datarep *datarep, const char *type)
{
    const struct vs_view_facts facts = {.datarep = VS_USER, .user = datarep};
    struct mpiio_conversion conversion = {0};

    if (mpiio_conversion_find(vs_basic_find(type), &facts, MPIIO_NARROW_REFUSE, &conversion))
        abort();
    return conversion;
}

/* Checks converters that call MPI. MPI is initialized for them, and they also work after a fork. */
static void asking(void)
{
    struct sigaction before[NSIG], after;
    int initialized = 1, size = 0, status = -1;
    bool same = true;

    for (int i = 1; i < NSIG; i++)
        sigaction(i, NULL, &before[i]);
    setenv("PMI_FD", "999", 1); /* of a job that does not exist */
    setenv("PMI_RANK", "7", 1);
    MPI_Initialized(&initialized);
    struct vs_user_datarep *datarep = load("inverted", ASKING_LIBRARY);
    ok(datarep != NULL && !initialized, "a library that needs MPI is loaded before it runs");
    if (datarep == NULL)
        return;
    MPI_Initialized(&initialized);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    ok(initialized && size == 1, "MPI is initialised for the library, as a job of one");
    const char *rank = getenv("PMI_RANK"), *fd = getenv("PMI_FD");
    ok(rank != NULL && strcmp(rank, "7") == 0 && fd != NULL && strcmp(fd, "999") == 0,
       "the environment is as it was");
    for (int i = 1; i < NSIG; i++)
        if (sigaction(i, NULL, &after) == 0 && after.sa_handler != before[i].sa_handler)
            same = false;
    ok(same, "no signal has another handler");
    ok(datarep->file_size[vs_basic_number(vs_basic_find("complex32"))] == 32 &&
           datarep->file_size[vs_basic_number(vs_basic_find("integer16"))] == 0,
       "sizes come from MPI_Type_size");
    pid_t child = fork();
    if (child == 0) {
        struct mpiio_conversion conversion = find(datarep, "double");
        double value = 1.5, back = 0;
        unsigned char file[8];
        bool good = mpiio_to_file(&conversion, file, &value, 1) == 0 && file[7] == 0xc0 &&
                    file[6] == 0x07 && mpiio_to_native(&conversion, &back, file, 1) == 0;
        _exit(good && back == value ? 0 : 1);
    }
    waitpid(child, &status, 0);
    ok(status == 0, "converters that call MPI work after a fork");
    mpiio_datarep_unload(datarep);
}

/* Numbers as VAX files have them, from the architecture's handbook. */
static const struct {
    const char *representation, *type;
    double value;
    const char *bytes;
} values[] = {
    {"vax", "real", 1, "\x80\x40\0\0"},
    {"vax", "float", -1.5, "\xc0\xc0\0\0"},
    {"vax", "real4", (double)3.14159274f, "\x49\x41\xdb\x0f"},
    {"vax", "real", 0, "\0\0\0\0"},
    /* the least VAX number, a denormal here */
    {"vax", "real", (double)(FLT_MIN / 4), "\x80\x00\0\0"},
    {"vax", "double", 1, "\x80\x40\0\0\0\0\0\0"},
    {"vax", "double_precision", 3.141592653589793, "\x49\x41\xda\x0f\x21\xa2\xc0\x68"},
    {"vaxg", "double", 1, "\x10\x40\0\0\0\0\0\0"},
    {"vaxg", "real8", 3.141592653589793, "\x29\x40\xfb\x21\x44\x54\x18\x2d"},
    {"vaxg", "double", -1e-300, "\xc5\x81\x1f\x6e\xf8\xc2\x59\xf3"},
    {"vaxg", "real", 1, "\x80\x40\0\0"},
};

static bool converts(const struct vs_user_datarep *datarep, const char *type, double value,
                     const char *bytes)
{
    struct mpiio_conversion conversion = find(datarep, type);
    unsigned char native[8], file[8], back[8];
    float single = (float)value;

    memcpy(native, conversion.native == 4 ? (void *)&single : (void *)&value, conversion.native);
    if (mpiio_to_file(&conversion, file, native, 1) || mpiio_to_native(&conversion, back, file, 1))
        return false;
    if (memcmp(file, bytes, conversion.file) != 0) {
        printf("# %s %a:", type, value);
        for (size_t i = 0; i < conversion.file; i++)
            printf(" %02x", file[i]);
        putchar('\n');
        return false;
    }
    return memcmp(back, native, conversion.native) == 0;
}

/* Returns true if random bits of VAX numbers survive a round trip. IEEE numbers have as many
   bits. */
static bool round_trips(const struct vs_user_datarep *datarep, const char *type)
{
    struct mpiio_conversion conversion = find(datarep, type);
    unsigned char file[COUNT * 8], native[COUNT * 8], back[COUNT * 8];

    for (size_t i = 0; i < sizeof(file); i++)
        file[i] = (unsigned char)random_bits();
    for (size_t i = 0; i < COUNT; i++)
        file[i * conversion.file + 1] = (unsigned char)(i % 126 + 2); /* avoids denormals of IEEE */
    return mpiio_to_native(&conversion, native, file, COUNT) == 0 &&
           mpiio_to_file(&conversion, back, native, COUNT) == 0 &&
           memcmp(back, file, COUNT * conversion.file) == 0;
}

static bool fails(const struct vs_user_datarep *datarep, double value)
{
    struct mpiio_conversion conversion = find(datarep, "double");
    unsigned char file[8];

    return mpiio_to_file(&conversion, file, &value, 1) == -EIO;
}

static void vax(void)
{
    struct vs_user_datarep *d = load("vax", VAX_LIBRARY), *g = load("vaxg", VAX_LIBRARY);
    double value;
    int good = 0, count = sizeof(values) / sizeof(values[0]);

    if (d == NULL || g == NULL) {
        ok(false, "the VAX library is loaded");
        return;
    }
    for (int i = 0; i < count; i++)
        good += converts(strcmp(values[i].representation, "vax") == 0 ? d : g, values[i].type,
                         values[i].value, values[i].bytes);
    ok(good == count, "VAX numbers, both ways");
    ok(round_trips(d, "real"), "random F_floating numbers");
    ok(round_trips(g, "double"), "random G_floating numbers");
    ok(round_trips(d, "integer2"), "integers as they are");
    ok(fails(d, 1e39) && !fails(g, 1e39) && fails(g, 1e308) && fails(d, (double)INFINITY) &&
           fails(g, (double)NAN),
       "what VAX has no number for fails");
    struct mpiio_conversion conversion = find(d, "double");
    ok(mpiio_to_native(&conversion, &value, "\x00\x80\0\0\0\0\0\0", 1) == -EIO,
       "a reserved operand fails");
    ok(d->file_size[vs_basic_number(vs_basic_find("long"))] == 0, "types that VAX does not have");
    mpiio_datarep_unload(d);
    mpiio_datarep_unload(g);
}

int main(void)
{
    char command[100];

    if (mkdtemp(folder) == NULL)
        return 1;
    handles();
    asking(); /* also initializes MPI */
    external32();
    vax();
    snprintf(command, sizeof(command), "rm -r '%s'", folder);
    ok(system(command) == 0, "the libraries' folder is removed");
    MPI_Finalize();
    return tap_end();
}
