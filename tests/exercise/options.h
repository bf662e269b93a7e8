/* SPDX-License-Identifier: MIT */
#ifndef OPTIONS_H
#define OPTIONS_H

/* The options of the programs here: numbers, flags and texts. */

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_SETTINGS 16

/* An option. Its value goes to the one of number, flag and text that is not NULL. */
struct setting {
    const char *name;
    int64_t *number, least, most;
    bool *flag;
    const char **text;
};

static inline void set_option(const struct setting *setting, const char *value)
{
    char *end;

    if (setting->flag != NULL)
        *setting->flag = true;
    if (setting->text != NULL)
        *setting->text = value;
    if (setting->number == NULL)
        return;
    errno = 0;
    *setting->number = strtoll(value, &end, 0);
    if (errno != 0 || end == value || *end != '\0' || *setting->number < setting->least ||
        *setting->number > setting->most) {
        fprintf(stderr, "%s: --%s: wrong number: %s\n", program_invocation_short_name,
                setting->name, value);
        exit(2);
    }
}

/* Parses a command line into the settings. Exits with status 2 if an option is wrong. */
static inline void parse_options(const struct setting *settings, int count, int argc, char **argv)
{
    struct option names[MAX_SETTINGS + 1] = {0};

    for (int i = 0; i < count; i++)
        names[i] = (struct option){settings[i].name, settings[i].flag == NULL, NULL, i};
    for (int i; (i = getopt_long(argc, argv, "", names, NULL)) != -1;) {
        if (i == '?')
            exit(2);
        set_option(&settings[i], optarg);
    }
}

#endif
