/* SPDX-License-Identifier: MIT */
#include "header.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_BYTES 65536

static uint32_t add_to_sum(uint32_t sum, const unsigned char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        sum ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (0xedb88320 & -(sum & 1));
    }
    return sum;
}

static int sum_of(int fd, int64_t at, int64_t size, uint32_t *sum)
{
    unsigned char buffer[BUFFER_BYTES];

    *sum = UINT32_MAX;
    while (size > 0) {
        size_t part = size < BUFFER_BYTES ? (size_t)size : BUFFER_BYTES;
        ssize_t n = pread(fd, buffer, part, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -ENODATA;
        *sum = add_to_sum(*sum, buffer, (size_t)n);
        at += n;
        size -= n;
    }
    *sum = ~*sum;
    return 0;
}

int mpiio_header_sum(const char *path, int64_t at, int64_t size, uint32_t *sum)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), error;

    if (fd < 0)
        return -errno;
    error = sum_of(fd, at, size, sum);
    close(fd);
    return error;
}

int mpiio_header_check(const struct vs_spec *spec, char *why, size_t why_size)
{
    struct vs_header part;

    for (size_t i = 0; vs_spec_header(spec, i, &part); i++) {
        const char *path = part.file != NULL ? part.file : vs_spec_file(spec);
        uint32_t sum = 0;
        int error = mpiio_header_sum(path, part.at, part.size, &sum);

        if (error == -ENODATA || (error == 0 && sum != part.crc32)) {
            snprintf(why, why_size,
                     "%s: its header is not the one that the spec was made from (mpiio-view spec "
                     "--from makes a new spec)",
                     path);
            return -ESTALE;
        }
        if (error != 0) {
            snprintf(why, why_size, "%s: %s", path, strerror(-error));
            return error;
        }
    }
    return 0;
}
