/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/core/peers.h"
#include "../src/core/units.h"

#define THREADS_DEFAULT 8
#define THREADS_MAX     1024
#define READ_MIN        4096
#define RANKS_MAX       2147483647

#define DIRTY_DEFAULT ((int64_t)256 << 20)
#define DIRTY_MIN     ((int64_t)1 << 20)
#define FLUSH_DEFAULT 5000
#define SECONDS_MAX   86400

enum { OPTION_NAME = 256, OPTION_VERSION, OPTION_ENGINE, OPTION_VIEW };

/* Options that libfuse and the kernel take as they are; with '=' those that have a value. */
static const char *const fuse_options[] = {
    "allow_other", "allow_root",   "auto_unmount", "default_permissions",
    "suid",        "nosuid",       "dev",          "nodev",
    "exec",        "noexec",       "atime",        "noatime",
    "sync",        "async",        "dirsync",      "debug",
    "fsname=",     "subtype=",     "context=",     "fscontext=",
    "defcontext=", "rootcontext=",
};

/* Options of fstab(5) that speak to mount(8), and those that change nothing here. */
static const char *const ignored_options[] = {
    "defaults", "auto",  "noauto",  "nofail",   "_netdev",  "user",       "nouser",
    "users",    "owner", "nogroup", "relatime", "diratime", "norelatime", "nodiratime",
};

static const char help_text[] =
    "Usage: mpiio-fused [OPTION]... SPEC MOUNTPOINT\n"
    "       mpiio-fused [OPTION]... --view=SHORTHAND FILE MOUNTPOINT\n"
    "Serves the views that SPEC describes as a filesystem: one node's daemon.\n"
    "\n"
    "  -n, --ranks=RANKS        number of ranks, instead of the spec's\n"
    "  -f, --file=FILE          the shared file, instead of the spec's\n"
    "  -D, --define=NAME=VALUE  value of a name of the spec's \"let\"\n"
    "      --view=SHORTHAND     the view itself, in words (viewspec(5)), instead of a SPEC\n"
    "  -o, --options=OPTIONS    mount options, separated by commas (below)\n"
    "  -F, --foreground         do not become a daemon\n"
    "      --name=NAME          what messages begin with\n"
    "  -h, --help               print this and exit\n"
    "      --version            print the version and exit\n"
    "\n"
    "Mount options: ro, rw (default: as the file can be opened), create (make the file if it is\n"
    "missing), unique (nobody else has the file open: writes may be held back), narrow=refuse or\n"
    "narrow=truncate (integers that the file has no room for), npy (a rankN.npy beside each\n"
    "rankN, for NumPy), atomic (atomic mode), local (of several nodes each shows its own block\n"
    "of ranks), view=SHORTHAND (as --view), threads=N (worker threads at most), log=FILE (else\n"
    "syslog, or stderr in the foreground), max_read=SIZE (4k to 1M), and FUSE's own: allow_other\n"
    "(which implies default_permissions), allow_root, auto_unmount, default_permissions, nosuid,\n"
    "nodev, noexec, noatime, fsname=NAME, ...\n"
    "Of write-back: cache=auto|through|back, dirty_max=SIZE, flush_interval=SECONDS. Of several\n"
    "nodes, where mpiio-engine starts this program: store=auto|posix|mpiio, peer_timeout=SECONDS.\n"
    "\n"
    "Exit status: 0 done, 1 failed, 2 usage or spec error. See mpiio-fused(8).\n";

void fs_options_help(void)
{
    fputs(help_text, stdout);
}

void fs_complain(const struct fs_options *options, const char *format, ...)
{
    char text[2048];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s: %s\n", options->name, text);
}

static int usage(const struct fs_options *options, const char *what, const char *text)
{
    fs_complain(options, "%s%s (see --help)", what, text);
    return -EINVAL;
}

/* A decimal number in [low, high], or -1. */
static long long number(const char *text, long long low, long long high)
{
    char *end;
    long long value;

    if (*text < '0' || *text > '9')
        return -1;
    errno = 0;
    value = strtoll(text, &end, 10);
    return errno == 0 && *end == '\0' && value >= low && value <= high ? value : -1;
}

/* The value of "key=value" where option has that key ("key="), else NULL. */
static const char *value_of(const char *option, const char *key)
{
    size_t length = strlen(key);

    return strncmp(option, key, length) == 0 ? option + length : NULL;
}

static bool listed(const char *option, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(list[i]);

        if (list[i][length - 1] == '=' ? value_of(option, list[i]) != NULL
                                       : strcmp(option, list[i]) == 0)
            return true;
    }
    return false;
}

static int append(char **list, const char *option)
{
    char *joined;

    if (asprintf(&joined, "%s%s%s", *list ? *list : "", *list ? "," : "", option) < 0)
        return -ENOMEM;
    free(*list);
    *list = joined;
    return 0;
}

static int pass_on(struct fs_options *options, const char *option)
{
    if (strcmp(option, "allow_other") == 0)
        options->allow_other = true;
    if (strcmp(option, "default_permissions") == 0)
        options->default_permissions = true;
    if (value_of(option, "fsname=") != NULL)
        options->has_fsname = true;
    if (value_of(option, "subtype=") != NULL)
        options->has_subtype = true;
    return append(&options->fuse, option);
}

/* Makes *text a copy of value. */
static int keep(char **text, const char *value)
{
    free(*text);
    *text = strdup(value);
    return *text != NULL ? 0 : -ENOMEM;
}

/* The index of value in list, which NULL ends, or -1. */
static int choice(const char *value, const char *const *list)
{
    for (int i = 0; list[i] != NULL; i++)
        if (strcmp(value, list[i]) == 0)
            return i;
    return -1;
}

/* Options of several nodes and write-back: 1 where option is none of them. */
static int flush_option(struct fs_options *options, const char *option)
{
    static const char *const caches[] = {"auto", "through", "back", NULL};
    static const char *const stores[] = {"auto", "posix", "mpiio", NULL};
    const char *value;
    long long n;

    if ((value = value_of(option, "cache=")) != NULL) {
        n = choice(value, caches);
        if (n < 0)
            return usage(options, "cache= needs auto, through or back: ", value);
        options->cache = (enum fs_cache)n;
    } else if ((value = value_of(option, "store=")) != NULL) {
        n = choice(value, stores);
        if (n < 0)
            return usage(options, "store= needs auto, posix or mpiio: ", value);
        options->store = (enum mpiio_store_mode)n;
    } else if ((value = value_of(option, "dirty_max=")) != NULL) {
        if (mpiio_parse_size(value, &options->dirty_max) != 0 || options->dirty_max < DIRTY_MIN)
            return usage(options, "dirty_max= needs a size of 1M or more: ", value);
    } else if ((value = value_of(option, "flush_interval=")) != NULL) {
        n = number(value, 0, SECONDS_MAX);
        if (n < 0)
            return usage(options, "flush_interval= needs seconds, from 0 to 86400: ", value);
        options->flush_interval = n * 1000;
    } else if ((value = value_of(option, "peer_timeout=")) != NULL) {
        n = number(value, 1, SECONDS_MAX);
        if (n < 0)
            return usage(options, "peer_timeout= needs seconds, from 1 to 86400: ", value);
        options->peer_timeout = (int)n * 1000;
    } else {
        return 1;
    }
    return 0;
}

/* Options without a value: whether option is one of them. */
static bool plain_option(struct fs_options *options, const char *option)
{
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {
        {"create", &options->create}, {"unique", &options->unique}, {"atomic", &options->atomic},
        {"local", &options->local},   {"npy", &options->npy},
    };

    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        if (strcmp(option, flags[i].name) == 0) {
            *flags[i].flag = true;
            return true;
        }
    }
    if (strcmp(option, "ro") == 0)
        options->access = FS_ACCESS_RO;
    else if (strcmp(option, "rw") == 0)
        options->access = FS_ACCESS_RW;
    else
        return false;
    return true;
}

static int mount_option(struct fs_options *options, const char *option)
{
    const char *value;
    int64_t size;
    long long n;

    if (plain_option(options, option))
        return 0;
    if ((n = flush_option(options, option)) <= 0)
        return (int)n;
    if ((value = value_of(option, "threads=")) != NULL) {
        n = number(value, 1, THREADS_MAX);
        if (n < 0)
            return usage(options, "threads= needs a number from 1 to 1024: ", value);
        options->threads = (unsigned)n;
        return 0;
    }
    if ((value = value_of(option, "max_read=")) != NULL) {
        if (mpiio_parse_size(value, &size) != 0 || size < READ_MIN || size > FS_READ_MAX)
            return usage(options, "max_read= needs a size from 4k to 1M: ", value);
        options->max_read = (unsigned)size;
        return 0;
    }
    if ((value = value_of(option, "narrow=")) != NULL) {
        if (!mpiio_narrow_parse(value, &options->narrow))
            return usage(options, "narrow= needs refuse or truncate: ", value);
        return 0;
    }
    if ((value = value_of(option, "log=")) != NULL) {
        if (*value == '\0')
            return usage(options, "log= needs the name of a file", "");
        return keep(&options->log, value);
    }
    if ((value = value_of(option, "view=")) != NULL)
        return keep(&options->shorthand, value);
    if (listed(option, fuse_options, sizeof(fuse_options) / sizeof(*fuse_options)))
        return pass_on(options, option);
    if (listed(option, ignored_options, sizeof(ignored_options) / sizeof(*ignored_options)) ||
        value_of(option, "x-") != NULL || value_of(option, "comment=") != NULL)
        return 0;
    return usage(options, "unknown mount option: ", option);
}

static int mount_options(struct fs_options *options, const char *text)
{
    char *copy = strdup(text);
    char *rest = copy;
    char *option;
    int error = copy ? 0 : -ENOMEM;

    while (error == 0 && (option = strsep(&rest, ",")) != NULL)
        if (*option != '\0')
            error = mount_option(options, option);
    free(copy);
    return error;
}

static int define(struct fs_options *options, const char *text)
{
    struct vs_overrides *overrides = &options->overrides;
    const char **defines;

    defines =
        reallocarray((void *)overrides->defines, overrides->define_count + 1, sizeof(*defines));
    if (defines == NULL)
        return -ENOMEM;
    defines[overrides->define_count++] = text;
    overrides->defines = defines;
    return 0;
}

static int command_option(struct fs_options *options, int key, char **argv)
{
    switch (key) {
    case 'n':
        options->overrides.ranks = number(optarg, 1, RANKS_MAX);
        if (options->overrides.ranks < 0)
            return usage(options, "-n needs a number from 1 to 2147483647: ", optarg);
        return 0;
    case 'f':
        options->overrides.file = optarg;
        return 0;
    case 'D':
        return define(options, optarg);
    case 'o':
        return mount_options(options, optarg);
    case 'F':
        options->foreground = true;
        return 0;
    case 'h':
        options->help = true;
        return 0;
    case OPTION_NAME:
        options->name = optarg;
        return 0;
    case OPTION_ENGINE:
        options->engine_fd = (int)number(optarg, 0, INT_MAX);
        return options->engine_fd < 0 ? usage(options, "--engine-fd needs a number: ", optarg) : 0;
    case OPTION_VERSION:
        options->version = true;
        return 0;
    case OPTION_VIEW:
        return keep(&options->shorthand, optarg);
    case ':':
        return usage(options, "an argument is missing after ", argv[optind - 1]);
    default:
        if (optopt > 0 && optopt < OPTION_NAME)
            return usage(options, "unknown option: -", (char[]){(char)optopt, '\0'});
        return usage(options, "unknown option: ", argv[optind - 1]);
    }
}

/* SPEC and MOUNTPOINT; with a view in shorthand FILE and MOUNTPOINT, or -f and MOUNTPOINT. */
static int take_operands(struct fs_options *options, int count, char **operands)
{
    bool no_spec = options->shorthand != NULL;

    if (count == 0 || (count == 1 && !no_spec))
        return usage(options,
                     count == 1 ? "MOUNTPOINT is missing"
                     : no_spec  ? "FILE and MOUNTPOINT are missing"
                                : "SPEC and MOUNTPOINT are missing",
                     "");
    if (count > 2)
        return usage(options, "too many arguments: ", operands[2]);
    if (count == 2 && no_spec && options->overrides.file != NULL)
        return usage(options, "the file is named twice, by -f and as ", operands[0]);
    if (count == 2 && no_spec)
        options->overrides.file = operands[0];
    options->spec = no_spec ? "--view" : operands[0];
    options->mountpoint = operands[count - 1];
    return 0;
}

int fs_options_parse(struct fs_options *options, int argc, char **argv)
{
    static const struct option names[] = {
        {"ranks", required_argument, NULL, 'n'},
        {"file", required_argument, NULL, 'f'},
        {"define", required_argument, NULL, 'D'},
        {"options", required_argument, NULL, 'o'},
        {"foreground", no_argument, NULL, 'F'},
        {"name", required_argument, NULL, OPTION_NAME},
        {"engine-fd", required_argument, NULL, OPTION_ENGINE},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, OPTION_VERSION},
        {"view", required_argument, NULL, OPTION_VIEW},
        {NULL, 0, NULL, 0},
    };
    int key;
    int error = 0;

    *options = (struct fs_options){
        .name = "mpiio-fused",
        .threads = THREADS_DEFAULT,
        .max_read = FS_READ_MAX,
        .engine_fd = -1,
        .dirty_max = DIRTY_DEFAULT,
        .flush_interval = FLUSH_DEFAULT,
        .peer_timeout = MPIIO_PEERS_TIMEOUT,
    };
    while (error == 0 && (key = getopt_long(argc, argv, ":n:f:D:o:Fh", names, NULL)) != -1)
        error = command_option(options, key, argv);
    if (error == -ENOMEM)
        fs_complain(options, "out of memory");
    if (error != 0 || options->help || options->version)
        return error;
    if (take_operands(options, argc - optind, argv + optind) != 0)
        return -EINVAL;
    if (options->create && options->access == FS_ACCESS_RO)
        return usage(options, "mount options ro and create exclude each other", "");
    return 0;
}

void fs_options_free(struct fs_options *options)
{
    free((void *)options->overrides.defines);
    free(options->shorthand);
    free(options->log);
    free(options->fuse);
}
