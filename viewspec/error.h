/* SPDX-License-Identifier: MIT */
#ifndef VS_ERROR_H
#define VS_ERROR_H

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/*
 * One error of a viewspec: what is wrong and where it stands.
 *
 * An object starts zeroed; the first error set in it wins and later ones are ignored, so a caller
 * can let a failure pass through several levels. Fixed size, no ownership, not thread-safe: each
 * thread uses an object of its own.
 */
struct vs_error {
    int code;          /* 0: no error; else a negative errno: -EINVAL for a wrong spec,
                          -ENOENT, -EACCES, -ENOMEM, ... for the rest */
    int line, column;  /* 1-based, in characters; 0 where the error has no place in a text */
    char source[256];  /* file name as the caller gave it, or the option ("-D n=x") */
    char pointer[512]; /* JSON pointer (RFC 6901) of the value, "" for the whole text */
    char reason[512];
};

/*
 * Writes "SOURCE:LINE:COL: POINTER: reason" (parts that are not known are left out) into text,
 * which has size bytes; the result is always terminated, cut where it does not fit, and one line
 * whatever the spec holds: '?' stands for control characters and what is not UTF-8.
 * Returns text. Local, thread-safe.
 */
const char *vs_error_text(const struct vs_error *error, char *text, unsigned long size);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
