/* SPDX-License-Identifier: MIT */
#ifndef VS_BYTE_ORDER_H
#define VS_BYTE_ORDER_H

/* The byte order of native values, for viewspec/ and for code that converts. Not installed. */

#include "viewspec/spec.h"

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define VS_NATIVE_ORDER VS_BIG_ENDIAN
#elif __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define VS_NATIVE_ORDER VS_LITTLE_ENDIAN
#else
#error "the bytes of an integer stand in neither order"
#endif

#endif
