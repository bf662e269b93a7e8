/* SPDX-License-Identifier: MIT */
#include "handshake_proof.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

static uint64_t rotate(uint64_t value, int bits)
{
    return value << bits | value >> (64 - bits);
}

static void mix(uint64_t v[4], int rounds)
{
    for (int i = 0; i < rounds; i++) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate(v[1], 13) ^ v[0];
        v[3] = rotate(v[3], 16) ^ v[2];
        v[0] = rotate(v[0], 32) + v[3];
        v[2] += v[1];
        v[3] = rotate(v[3], 21) ^ v[0];
        v[1] = rotate(v[1], 17) ^ v[2];
        v[2] = rotate(v[2], 32);
    }
}

static uint64_t load(const uint8_t *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, sizeof(word));
    return le64toh(word);
}

static void absorb(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    mix(v, 2);
    v[0] ^= word;
}

uint64_t mpiio_siphash(const uint8_t key[16], const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    uint64_t k0 = load(key), k1 = load(key + 8);
    uint64_t v[4] = {k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261,
                     k1 ^ 0x7465646279746573};
    uint64_t last = (uint64_t)size << 56;
    size_t left = size;

    for (; left >= 8; at += 8, left -= 8)
        absorb(v, load(at));
    for (size_t i = 0; i < left; i++)
        last |= (uint64_t)at[i] << (8 * i);
    absorb(v, last);
    v[2] ^= 0xff;
    mix(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t mpiio_handshake_proof(const uint8_t token[MPIIO_TOKEN_BYTES],
                               const struct mpiio_claim *claim)
{
    uint8_t text[2 * MPIIO_NONCE_BYTES + 12];
    uint32_t numbers[3] = {htobe32(claim->by), htobe32(claim->node), htobe32(claim->nodes)};

    memcpy(text, claim->asked, MPIIO_NONCE_BYTES);
    memcpy(text + MPIIO_NONCE_BYTES, claim->answered, MPIIO_NONCE_BYTES);
    memcpy(text + sizeof(text) - sizeof(numbers), numbers, sizeof(numbers));
    return mpiio_siphash(token, text, sizeof(text));
}

int mpiio_random(void *bytes, size_t size)
{
    ssize_t got;

    do
        got = getrandom(bytes, size, 0);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return -errno;
    return (size_t)got == size ? 0 : -EIO;
}
