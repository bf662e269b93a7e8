/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_OPTIONS_H
#define ENGINE_OPTIONS_H

#include <stdbool.h>

/* The command line. All texts are borrowed from argv. */
struct engine_options {
    const char *name; /* what messages begin with */
    const char
        *daemon;      /* the program to start; NULL: mpiio-fused beside this one, or on the PATH */
    char **arguments; /* for it: those behind "--", ended by NULL */
    bool report;      /* tell how far the start has come */
    bool stay;        /* until the daemon has ended: stay.h */
    bool help;
    bool version;
    char wrong[256]; /* what is wrong with the command line; "": nothing */
};

/* Reads the command line. Prints nothing: there are as many of us as there are nodes. */
void engine_options_parse(struct engine_options *options, int argc, char **argv);

void engine_options_help(void);

#endif
