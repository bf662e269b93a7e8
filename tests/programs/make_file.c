/* SPDX-License-Identifier: MIT */
/* make_file PATH BYTES: writes a file whose 8-byte words all differ, always with the same bytes. */
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    FILE *out = argc == 3 ? fopen(argv[1], "w") : NULL;
    uint64_t size = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;

    if (out == NULL) {
        perror(argc == 3 ? argv[1] : "make_file PATH BYTES");
        return 1;
    }
    for (uint64_t i = 0; i * 8 < size; i++) {
        uint64_t word = htole64(i * UINT64_C(0x9E3779B97F4A7C15));
        fwrite(&word, 1, size - i * 8 < 8 ? size - i * 8 : 8, out);
    }
    if (ferror(out) || fclose(out)) {
        perror(argv[1]);
        return 1;
    }
    return 0;
}
