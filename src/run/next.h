/* SPDX-License-Identifier: MIT */
#ifndef RUN_NEXT_H
#define RUN_NEXT_H

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

/* A function of the C library that the program calls, and this library defines instead. */
#define CATCH __attribute__((visibility("default")))

/*
 * The function that the program would have called without this library, in the C library or another
 * preloaded one. It is looked up at its first use, which may come before any constructor has run.
 */
#define RUN_NEXT(name) RUN_NEXT_NAMED(__typeof__(&(name)), #name)

#define RUN_NEXT_NAMED(type, name)                                                                 \
    __extension__({                                                                                \
        static void *_Atomic found;                                                                \
        void *function = atomic_load_explicit(&found, memory_order_relaxed);                       \
        if (function == NULL) {                                                                    \
            function = dlsym(RTLD_NEXT, name);                                                     \
            atomic_store_explicit(&found, function, memory_order_relaxed);                         \
        }                                                                                          \
        (type) function;                                                                           \
    })

#endif
