/* SPDX-License-Identifier: MIT */
#include "mpich_handles.h"

#include "viewspec/basic.h"

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
