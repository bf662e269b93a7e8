/* SPDX-License-Identifier: MIT */
#ifndef FUZZ_H
#define FUZZ_H

/* The header of the libFuzzer harnesses. They are built with -fsanitize=fuzzer for a campaign,
   or with replay.c as plain tests. */

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            abort();                                                                               \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
