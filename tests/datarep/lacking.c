/* SPDX-License-Identifier: MIT */
/* A library with only one of the three functions of a data representation. */
int read_conversion_fn(void *userbuf, int datatype, int count, void *filebuf, long position,
                       void *extra_state);

int read_conversion_fn(void *userbuf, int datatype, int count, void *filebuf, long position,
                       void *extra_state)
{
    return 0;
}
