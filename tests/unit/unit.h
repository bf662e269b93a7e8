/* SPDX-License-Identifier: MIT */
#ifndef UNIT_H
#define UNIT_H

/*
 * The header of all unit tests: cmocka, and tests that register themselves. unit.c has main(),
 * which runs them in the order of their source. A test is
 *
 *     TEST(name[, setup[, teardown]])
 *     {
 *         ...
 *     }
 *
 * where setup and teardown are cmocka's, or NULL. The test finds what its setup left in state.
 */

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* The number of rounds that a random test runs. With a sanitizer a round takes ten times as
   long, so fewer run. A sanitizer reports a wrong access the first time that it happens. Builds
   without a sanitizer compare the results of all rounds. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNIT_ROUNDS(rounds) ((rounds) / 4)
#else
#define UNIT_ROUNDS(rounds) (rounds)
#endif

#define TEST(...) TEST_OF(__VA_ARGS__, NULL, NULL, )
#define TEST_OF(name, setup, teardown, ...)                                                        \
    static void name(void **state);                                                                \
    __attribute__((constructor)) static void add_##name(void)                                      \
    {                                                                                              \
        unit_add((struct CMUnitTest){#name, name, setup, teardown, NULL}, __LINE__);               \
    }                                                                                              \
    static void name(void **state)

/* Runs the tests of the program between these group fixtures of cmocka. */
#define TEST_GROUP(setup, teardown)                                                                \
    __attribute__((constructor)) static void add_group(void)                                       \
    {                                                                                              \
        unit_setup = setup;                                                                        \
        unit_teardown = teardown;                                                                  \
    }

/* BEFORE_TESTS { ... }: runs before cmocka installs its signal handlers and runs the first test. */
#define BEFORE_TESTS void unit_before(void)

/*
 * WRAP(result, name, parameters...) { ... }: defines what the program calls instead of a function
 * that it is linked with --wrap for. The function itself is then __real_NAME.
 */
#define WRAP(result, name, ...)                                                                    \
    result __real_##name(__VA_ARGS__);                                                             \
    result __wrap_##name(__VA_ARGS__);                                                             \
    result __wrap_##name(__VA_ARGS__)

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

void unit_add(struct CMUnitTest test, int line);

extern CMFixtureFunction unit_setup, unit_teardown;
void unit_before(void);

#endif
