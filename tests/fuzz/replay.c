/* SPDX-License-Identifier: MIT */
/* Runs a fuzz harness once on each file below the given directories, so that a corpus is a test. */
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>

#include "fuzz.h"

#define MAX_BYTES (1 << 20)

static int replay(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    FILE *file;
    uint8_t *data;

    if (kind != FTW_F)
        return 0;
    file = fopen(path, "rb");
    data = malloc(MAX_BYTES);
    if (file == NULL || data == NULL) {
        fprintf(stderr, "replay: cannot read %s\n", path);
        return 1;
    }
    LLVMFuzzerTestOneInput(data, fread(data, 1, MAX_BYTES, file));
    free(data);
    fclose(file);
    return 0;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (nftw(argv[i], replay, 16, FTW_PHYS)) {
            fprintf(stderr, "replay: %s failed\n", argv[i]);
            return 1;
        }
    }
    return 0;
}
