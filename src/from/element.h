/* SPDX-License-Identifier: MIT */
#ifndef FROM_ELEMENT_H
#define FROM_ELEMENT_H

/*
 * Types of elements as viewspec(5) has them. Each function returns a new reference, or NULL where
 * there is no such type or no memory; those that take types take them over, and NULL for one is
 * NULL again.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

json_t *from_integer(int64_t size, bool is_signed);
json_t *from_float(int64_t size);   /* IEEE binary16, 32, 64; this machine's long double */
json_t *from_complex(int64_t size); /* of two such */

/* Returns the type of a number by its kind in NumPy: i, u, f or c. */
json_t *from_number(char kind, int64_t size);

/* count of them side by side. */
json_t *from_several(json_t *type, int64_t count);

/* The same type with another distance to the next, in bytes. */
json_t *from_spaced(json_t *type, int64_t extent);

/* A structure without members yet. */
json_t *from_struct(void);

/* One more member of a structure, at a displacement behind those before. 0 or -1. */
int from_member(json_t *structure, int64_t displacement, json_t *type);

/*
 * Byte orders meet: order has that of the values so far ('<', '>', or 0 for none), and takes in
 * that of one more. False where both stand side by side, which a view cannot have.
 */
bool from_order(char *order, char more);

/* The data representation of that byte order; NULL for none. */
const char *from_datarep(char order);

#endif
