/* SPDX-License-Identifier: MIT */
#include "fill.h"

#include <string.h>

#include "viewspec/base/integer.h"

/* Fills the part of buffer, which is [at, end) of the file, that one range of the fill covers. The
   range begins at displacement start. */
static void fill_range(const struct vs_fill *fill, int64_t start, char *buffer, int64_t at,
                       int64_t end)
{
    int64_t from = vs_max(at, start), count = vs_min(end, start + fill->size) - from, done = 0;
    char *to = buffer + (from - at);

    for (; done < count && done < fill->length; done++)
        to[done] = (char)fill->value[(from - start + done) % fill->length];
    /* Double the filled part, which has whole values, until the range is full. */
    for (int64_t more; done < count; done += more) {
        more = vs_min(done, count - done);
        memcpy(to + done, to, (size_t)more);
    }
}

void mpiio_fill(const struct mpiio_fills *fills, void *buffer, int64_t at, size_t length)
{
    int64_t end = at + (int64_t)length;

    memset(buffer, 0, length);
    for (size_t i = 0; i < fills->count; i++) {
        const struct vs_fill *fill = &fills->list[i];
        int64_t first = 0, last = 0;

        if (at >= end || end <= fill->at)
            continue;
        if (fill->count > 1 && fill->every > 0) {
            first = vs_max(at - fill->at - fill->size, 0) / fill->every;
            last = vs_min((end - 1 - fill->at) / fill->every, fill->count - 1);
        } else if (fill->count == 0) {
            last = -1;
        }
        for (int64_t range = first; range <= last; range++)
            fill_range(fill, fill->at + range * fill->every, buffer, at, end);
    }
}

bool mpiio_fills_any(const struct mpiio_fills *fills)
{
    static const unsigned char zeros[VS_FILL_BYTES];

    for (size_t i = 0; i < fills->count; i++)
        if (memcmp(fills->list[i].value, zeros, fills->list[i].length) != 0)
            return true;
    return false;
}
