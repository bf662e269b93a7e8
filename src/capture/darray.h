/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_DARRAY_H
#define CAPTURE_DARRAY_H

#include <stdint.h>

#include <jansson.h>

#include "contents.h"
#include "decode.h"

/*
 * A distributed array (MPI 3.1, 4.1.4) of contents, over oldtype (borrowed) with that extent in
 * bytes. It stays a darray where it is made for the process's own rank; for another rank, or a
 * grid that is not the file's communicator, what that rank owns is written out: as a subarray, or
 * indexed where it is cyclic. A new reference, or NULL and decoder->why.
 */
json_t *capture_darray(struct capture_decoder *decoder, struct capture_contents *contents,
                       int64_t extent, json_t *oldtype);

#endif
