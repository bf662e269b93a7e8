/* SPDX-License-Identifier: MIT */
#ifndef VS_ERROR_H
#define VS_ERROR_H

#include <stdbool.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/*
 * One error of a viewspec: the reason and its place in the text.
 *
 * Zero an object before its first use. Only the first error is kept and later ones are ignored, so
 * that a failure can pass through several levels. The object has a fixed size and owns nothing. It
 * is not thread-safe: each thread uses its own.
 */
struct vs_error {
    int code;          /* 0: no error; else a negative errno: -EINVAL for a wrong spec,
                          -ENOENT, -EACCES, -ENOMEM, ... for other failures */
    int line, column;  /* 1-based, in characters; 0 if the error has no place in a text */
    char source[256];  /* file name as the caller gave it, or the option ("-D n=x") */
    char pointer[512]; /* JSON pointer (RFC 6901) of the value, "" for the whole text */
    bool shorthand;    /* the pointer is of the JSON that shorthand stands for */
    char reason[512];
};

/*
 * Writes "SOURCE:LINE:COL: POINTER: reason" into text, which has size bytes; unknown parts are left
 * out. The result is terminated, truncated if necessary, and always one line: control characters
 * and bytes that are not UTF-8 are replaced by '?'. Returns text. Local, thread-safe.
 */
const char *vs_error_text(const struct vs_error *error, char *text, unsigned long size);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
