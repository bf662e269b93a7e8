/* SPDX-License-Identifier: MIT */
#ifndef WRAP_H
#define WRAP_H

/*
 * WRAP(result, name, parameters...) { ... }: defines what the program calls instead of a function
 * that it is linked with --wrap for. The function itself is then __real_NAME.
 */
#define WRAP(result, name, ...)                                                                    \
    result __real_##name(__VA_ARGS__);                                                             \
    result __wrap_##name(__VA_ARGS__);                                                             \
    result __wrap_##name(__VA_ARGS__)

#endif
