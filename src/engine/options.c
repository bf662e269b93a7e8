/* SPDX-License-Identifier: MIT */
#include "start.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "core/base/complain.h"

/* The command line. */

enum { OPTION_DAEMON = 256, OPTION_NAME, OPTION_REPORT, OPTION_STAY, OPTION_VERSION };

static const char help_text[] =
    "Usage: mpiexec ... mpiio-engine [OPTION]... -- DAEMON-ARGUMENT... SPEC MOUNTPOINT\n"
    "The engine of one node of a mount on several: starts the node's daemon, and stores what the\n"
    "daemons hold, together with the engines of the other nodes.\n"
    "\n"
    "      --daemon=PATH  the daemon's program (default: mpiio-fused, beside this program or on\n"
    "                     the PATH); %n in its last argument is the node's number\n"
    "      --name=NAME    what messages begin with\n"
    "      --report       print how far each node is: \"started N\", \"met N\", \"mounted N\"\n"
    "      --stay         stay until the daemon has ended, whatever becomes of the engine: for\n"
    "                     Slurm, which kills what a process of a step leaves behind\n"
    "  -h, --help         print this and exit\n"
    "      --version      print the version and exit\n"
    "\n"
    "Prints \"ready\" when the views are mounted on all nodes. mpiio-mount --hosts calls it.\n"
    "Exit status: 0 unmounted, 1 failed, 2 usage or spec error. See mpiio-engine(8).\n";

void engine_options_help(void)
{
    fputs(help_text, stdout);
}

static void set_wrong(struct engine_options *options, const char *what, const char *text)
{
    snprintf(options->wrong, sizeof(options->wrong), "%s%.160s (see --help)", what, text);
}

static void parse_option(struct engine_options *options, int key, char **argv)
{
    switch (key) {
    case OPTION_DAEMON:
        options->daemon = optarg;
        break;
    case OPTION_NAME:
        options->name = optarg;
        break;
    case OPTION_REPORT:
        options->report = true;
        break;
    case OPTION_STAY:
        options->stay = true;
        break;
    case 'h':
        options->help = true;
        break;
    case OPTION_VERSION:
        options->version = true;
        break;
    case ':':
        set_wrong(options, "an argument is missing after ", argv[optind - 1]);
        break;
    default:
        if (optopt > 0 && optopt < OPTION_DAEMON)
            set_wrong(options, "unknown option: -", (char[]){(char)optopt, '\0'});
        else
            set_wrong(options, "unknown option: ", argv[optind - 1]);
        break;
    }
}

void engine_options_parse(struct engine_options *options, int argc, char **argv)
{
    static const struct option names[] = {
        {"daemon", required_argument, NULL, OPTION_DAEMON},
        {"name", required_argument, NULL, OPTION_NAME},
        {"report", no_argument, NULL, OPTION_REPORT},
        {"stay", no_argument, NULL, OPTION_STAY},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, OPTION_VERSION},
        {NULL, 0, NULL, 0},
    };
    int key;

    *options = (struct engine_options){.name = "mpiio-engine"};
    opterr = 0;
    while (*options->wrong == '\0' && (key = getopt_long(argc, argv, "+:h", names, NULL)) != -1)
        parse_option(options, key, argv);
    if (*options->wrong != '\0' || options->help || options->version)
        return;
    if (optind < 2 || strcmp(argv[optind - 1], "--") != 0)
        set_wrong(options, "\"--\" and the daemon's arguments are missing", "");
    else if (optind == argc)
        set_wrong(options, "the daemon's arguments are missing", "");
    options->arguments = argv + optind;
}
