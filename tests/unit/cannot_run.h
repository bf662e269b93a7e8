/* SPDX-License-Identifier: MIT */
#ifndef CANNOT_RUN_H
#define CANNOT_RUN_H

/* For tests that not every machine can run, after cmocka.h. */

#include <stdlib.h>

/*
 * Ends a test that cannot run here. In CI, where all can, that is a failure. (What cmocka's skip()
 * prints is a failure for meson everywhere.)
 */
#define CANNOT_RUN(reason)                                                                         \
    do {                                                                                           \
        if (getenv("CI") != NULL)                                                                  \
            fail_msg("cannot run: %s", reason);                                                    \
        print_message("# cannot run: %s\n", reason);                                               \
        return;                                                                                    \
    } while (0)

#endif
