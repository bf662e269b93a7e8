/* SPDX-License-Identifier: MIT */
/* Tests digests against FIPS 180-2, appendix B, and against coreutils' sha256sum for lengths at
   which padding changes. */

#include "unit.h"
#include "core/base/sha256.h"

static void assert_digest(const char *text, size_t length, const char *expected)
{
    char hex[MPIIO_SHA256_HEX];

    mpiio_sha256_hex(text, length, hex);
    assert_string_equal(hex, expected);
}

TEST(test_standard)
{
    const char *two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    char *many = malloc(1000000);

    assert_digest("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_digest(two, strlen(two),
                  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    assert_non_null(many);
    memset(many, 'a', 1000000);
    assert_digest(many, 1000000,
                  "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(many);
}

TEST(test_padding)
{
    char text[64];

    memset(text, 'a', sizeof(text));
    assert_digest("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_digest(text, 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
    assert_digest(text, 56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
    assert_digest(text, 63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34");
    assert_digest(text, 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
}
