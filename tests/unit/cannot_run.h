/* SPDX-License-Identifier: MIT */
#ifndef CANNOT_RUN_H
#define CANNOT_RUN_H

/* Support for tests that not every machine can run. Include it after cmocka.h. */

#include <stdlib.h>
#include <string.h>

/*
 * Returns from a test that cannot run here, so that it passes with a note. With CI set it fails,
 * because CI can run every test. (cmocka's skip() prints "not ok", which meson counts as a
 * failure.)
 */
#define CANNOT_RUN(reason)                                                                         \
    do {                                                                                           \
        if (getenv("CI") != NULL && strcmp(getenv("CI"), "true") == 0)                             \
            fail_msg("cannot run: %s", reason);                                                    \
        print_message("# cannot run: %s\n", reason);                                               \
        return;                                                                                    \
    } while (0)

#endif
