/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer harness for NumPy headers that a program writes to a slice. A header is either the one
 * that NumPy would write for some length of the slice, or it is refused. The input's first byte
 * chooses a view, the next four a length, and the next two an offset. The rest of the input
 * overwrites the header for that length, from that offset on.
 */

#include "fuzz.h"
#include "viewspec/npy.h"
#include "viewspec/spec.h"

#define CHOICE 7 /* bytes of the input in front of the header's */

static const char *const views[] = {
    "{}",
    "{\"etype\": \"double\"}",
    "{\"etype\": \"long_double\", \"datarep\": \"external32\"}",
    "{\"etype\": {\"type\": \"struct\", \"blocklengths\": [1, 3], \"displacements\": [0, 8],"
    " \"types\": [\"char\", \"double\"]}}",
    "{\"etype\": \"int\", \"filetype\": {\"type\": \"subarray\", \"sizes\": [4, 6],"
    " \"subsizes\": [2, 3], \"starts\": [1, 1], \"order\": \"Fortran\"}}",
    "{\"etype\": \"int\", \"filetype\": {\"type\": \"subarray\", \"sizes\": [4, 6],"
    " \"subsizes\": [0, 3], \"starts\": [1, 1], \"order\": \"C\"}}",
    "{\"etype\": {\"type\": \"contiguous\", \"count\": 1099511627776, \"oldtype\": \"short\"}}",
};
#define VIEWS (sizeof(views) / sizeof(views[0]))

static struct vs_npy *make(const char *view)
{
    struct vs_error error = {0};
    struct vs_spec *spec = NULL;
    struct vs_view *compiled = NULL;
    struct vs_npy *npy = NULL;
    char text[1000];

    CHECK(strlen(view) < sizeof(text) - 100);
    strcpy(text, "{\"viewspec\": 1, \"file\": \"/f\", \"view\": ");
    strcat(strcat(text, view), "}");
    CHECK(vs_spec_parse(text, strlen(text), "fuzz", "/", NULL, &spec, &error) == 0);
    CHECK(vs_spec_view(spec, 0, 0, &compiled, &error) == 0);
    CHECK(vs_npy_new(compiled, &npy) == 0);
    vs_view_unref(compiled);
    vs_spec_free(spec);
    return npy;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct vs_npy *made[VIEWS];
    size_t length, at;
    int64_t reported;
    char *header, *again;

    if (size < CHOICE)
        return 0;
    if (made[data[0] % VIEWS] == NULL)
        made[data[0] % VIEWS] = make(views[data[0] % VIEWS]);
    const struct vs_npy *npy = made[data[0] % VIEWS];
    length = (size_t)vs_npy_length(npy);
    header = malloc(length);
    again = malloc(length);
    CHECK(header != NULL && again != NULL && length % 64 == 0);
    vs_npy_header(npy, data[1] | data[2] << 8 | data[3] << 16 | (int64_t)data[4] << 24, header);
    at = (data[5] | (size_t)data[6] << 8) % length;
    memcpy(header + at, data + CHOICE, size - CHOICE < length - at ? size - CHOICE : length - at);
    reported = vs_npy_size(npy, header);
    if (reported >= 0) {
        vs_npy_header(npy, reported, again);
        CHECK(memcmp(header, again, length) == 0);
    }
    free(header);
    free(again);
    return 0;
}
