/* SPDX-License-Identifier: MIT */
/*
 * The number formats of VAX files as a data representation of MPI (MPI 3.1, 13.7.3), for use in a
 * viewspec(5). REAL is F_floating; DOUBLE PRECISION is D_floating in "vax" and G_floating in
 * "vaxg". Integers are little-endian, as on this machine.
 *
 *   cc -shared -fPIC -o libvax.so vax.c $(pkg-config --cflags mpich)
 */
#include <math.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

MPI_Datarep_conversion_function read_conversion_fn, write_conversion_fn;
MPI_Datarep_extent_function dtype_file_extent_fn;

/* The layout of a number: a sign, an exponent, and a fraction behind an implied leading bit. The
   value is 0.1fff * 2^(exponent-bias). */
struct format {
    int exponent_bits;
    int bias;
};

static struct format f_or_d = {8, 128}, g = {11, 1024};

/* The extra_state of the functions below. */
void *vax_extra_state = &f_or_d;
void *vaxg_extra_state = &g;

/* The functions keep no state, so several threads may call them at once. */
const int thread_safe = 1;

/* Reads words of 16 bits. The word with the sign comes first. An F is the upper half of a D. */
static uint64_t get_bits(const unsigned char *bytes, int size)
{
    uint64_t bits = 0;

    for (int i = 0; i < size; i += 2)
        bits |= (uint64_t)(bytes[i] | bytes[i + 1] << 8) << (48 - 8 * i);
    return bits;
}

static void put_bits(unsigned char *bytes, int size, uint64_t bits)
{
    for (int i = 0; i < size; i += 2) {
        bytes[i] = (unsigned char)(bits >> (48 - 8 * i));
        bytes[i + 1] = (unsigned char)(bits >> (56 - 8 * i));
    }
}

static int from_vax(const struct format *format, uint64_t bits, double *value)
{
    const int fraction_bits = 63 - format->exponent_bits;
    const uint64_t leading_bit = UINT64_C(1) << fraction_bits;
    const int exponent = (int)(bits << 1 >> (64 - format->exponent_bits));
    const uint64_t mantissa = leading_bit | (bits & (leading_bit - 1));

    *value = 0;
    if (exponent == 0) /* zero; with a sign, it is no number */
        return bits >> 63 ? MPI_ERR_CONVERSION : MPI_SUCCESS;
    *value = ldexp((double)mantissa, exponent - format->bias - fraction_bits - 1);
    if (bits >> 63)
        *value = -*value;
    return MPI_SUCCESS;
}

static int to_vax(const struct format *format, double value, uint64_t *bits)
{
    const int fraction_bits = 63 - format->exponent_bits;
    const uint64_t leading_bit = UINT64_C(1) << fraction_bits;
    int exponent;
    const double fraction = frexp(fabs(value), &exponent);

    *bits = 0;
    if (!isfinite(value) || exponent + format->bias >= 1 << format->exponent_bits)
        return MPI_ERR_CONVERSION;
    if (value == 0 || exponent + format->bias < 1) /* too small: becomes zero, which has no sign */
        return MPI_SUCCESS;
    *bits = ((uint64_t)ldexp(fraction, fraction_bits + 1) & (leading_bit - 1)) |
            (uint64_t)(exponent + format->bias) << fraction_bits |
            (value < 0 ? UINT64_C(1) << 63 : 0);
    return MPI_SUCCESS;
}

enum kind { UNKNOWN, BYTES, SINGLE, DOUBLE };

static enum kind kind_of(MPI_Datatype datatype, int *size)
{
    static const struct {
        MPI_Datatype datatype;
        enum kind kind;
        int size;
    } types[] = {
        {MPI_REAL, SINGLE, 4},
        {MPI_REAL4, SINGLE, 4},
        {MPI_FLOAT, SINGLE, 4},
        {MPI_DOUBLE, DOUBLE, 8},
        {MPI_DOUBLE_PRECISION, DOUBLE, 8},
        {MPI_REAL8, DOUBLE, 8},
        {MPI_INTEGER, BYTES, 4},
        {MPI_INTEGER4, BYTES, 4},
        {MPI_INT, BYTES, 4},
        {MPI_LOGICAL, BYTES, 4},
        {MPI_INTEGER2, BYTES, 2},
        {MPI_SHORT, BYTES, 2},
        {MPI_CHAR, BYTES, 1},
        {MPI_CHARACTER, BYTES, 1},
        {MPI_INTEGER1, BYTES, 1},
    };

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (types[i].datatype == datatype) {
            *size = types[i].size;
            return types[i].kind;
        }
    }
    *size = 0;
    return UNKNOWN;
}

/* The extent function. All sizes are those in memory. */
int dtype_file_extent_fn(MPI_Datatype datatype, MPI_Aint *file_extent, void *extra_state)
{
    int size;

    if (kind_of(datatype, &size) == UNKNOWN)
        return MPI_ERR_TYPE;
    *file_extent = size;
    return MPI_SUCCESS;
}

/* Converts a number of size bytes from the file. */
static int read_number(const struct format *format, int size, char *native, unsigned char *file)
{
    double value;
    const int error = from_vax(format, get_bits(file, size), &value);
    const float narrow = (float)value;

    memcpy(native, size == 4 ? (const void *)&narrow : (const void *)&value, (size_t)size);
    return error;
}

static int write_number(const struct format *format, int size, char *native, unsigned char *file)
{
    double value = 0;
    float narrow = 0;
    uint64_t bits;

    memcpy(size == 4 ? (void *)&narrow : (void *)&value, native, (size_t)size);
    const int error = to_vax(format, size == 4 ? (double)narrow : value, &bits);
    put_bits(file, size, bits);
    return error;
}

/* Converts count elements. position counts elements: userbuf is the address of element 0.
   filebuf has only the count elements. */
static int convert(bool reading, void *userbuf, MPI_Datatype datatype, int count, void *filebuf,
                   MPI_Offset position, void *extra_state)
{
    int size, error = MPI_SUCCESS;
    const enum kind kind = kind_of(datatype, &size);
    const struct format *format = kind == SINGLE ? &f_or_d : extra_state;
    char *native = (char *)userbuf + position * size;
    unsigned char *file = filebuf;

    if (kind == UNKNOWN)
        return MPI_ERR_TYPE;
    if (kind == BYTES && reading)
        memcpy(native, file, (size_t)count * (size_t)size);
    else if (kind == BYTES)
        memcpy(file, native, (size_t)count * (size_t)size);
    for (; kind != BYTES && count > 0 && error == MPI_SUCCESS;
         count--, native += size, file += size)
        error = (reading ? read_number : write_number)(format, size, native, file);
    return error;
}

int read_conversion_fn(void *userbuf, MPI_Datatype datatype, int count, void *filebuf,
                       MPI_Offset position, void *extra_state)
{
    return convert(true, userbuf, datatype, count, filebuf, position, extra_state);
}

int write_conversion_fn(void *userbuf, MPI_Datatype datatype, int count, void *filebuf,
                        MPI_Offset position, void *extra_state)
{
    return convert(false, userbuf, datatype, count, filebuf, position, extra_state);
}
