/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/peers.h"
#include "core/base/complain.h"
#include "core/base/sizes.h"

#define THREADS_DEFAULT 8
#define RANKS_MAX       2147483647

#define DIRTY_DEFAULT ((int64_t)256 << 20)
#define FLUSH_DEFAULT 5000

enum {
    OPTION_NAME = 256,
    OPTION_VERSION,
    OPTION_ENGINE,
    OPTION_VIEW,
    OPTION_DIGEST,
    OPTION_SPEC_NAME,
    OPTION_MEMBERS,
    OPTION_PIECES
};

/* Options that are passed to libfuse and the kernel unchanged. A '=' marks those with a value. */
static const char *const fuse_options[] = {
    "allow_other", "allow_root",   "auto_unmount", "default_permissions",
    "suid",        "nosuid",       "dev",          "nodev",
    "exec",        "noexec",       "atime",        "noatime",
    "sync",        "async",        "dirsync",      "debug",
    "fsname=",     "subtype=",     "context=",     "fscontext=",
    "defcontext=", "rootcontext=",
};

/* Options of fstab(5) that only concern mount(8), and options that have no effect here. */
static const char *const ignored_options[] = {
    "defaults", "auto",     "noauto",     "nofail",     "_netdev",
    "user",     "nouser",   "users",      "owner",      "nogroup",
    "relatime", "diratime", "norelatime", "nodiratime", "io_uring=off",
};

/* Options that were removed, with advice for their users. */
static const struct removed_option {
    const char *key, *advice;
} removed_options[] = {
    {"io_uring", "the mount option io_uring was removed: requests arrive through /dev/fuse only"},
    {"slice_cache", "the mount option slice_cache was removed: copy the slice to /dev/shm instead"},
};

/* The kind of value that an option takes, and the type of its field. */
enum kind {
    FLAG,   /* no value; sets a bool to true */
    CHOICE, /* one of several words; sets an enum to the word's index */
    MEMBER, /* no value; sets an enum to low */
    NUMBER, /* a number from low to high; sets an int64_t to the number times unit */
    SIZE,   /* a size from low to high; sets an int64_t */
    ROOM,   /* a SIZE, or "off", which means 0 */
    PORTS,  /* a TCP port, or a range PORT-PORT; sets a struct mpiio_ports */
    TEXT,   /* a string of at least low bytes; sets a new string */
};

static const struct mount_option {
    const char *key;
    enum kind kind;
    size_t field; /* its offset in struct fs_options */
    int64_t low, high, unit;
    const char *value; /* the value's name in --help; for CHOICE, the words */
    const char *needs; /* the requirement that an error message states */
    const char *help;
} mount_option_table[] = {
#define FIELD(name) offsetof(struct fs_options, name)
    {"ro", MEMBER, FIELD(access), FS_ACCESS_RO, 0, 0, NULL, NULL, "mount read-only"},
    {"rw", MEMBER, FIELD(access), FS_ACCESS_RW, 0, 0, NULL, NULL,
     "fail where the file may not be written to (else: read-only)"},
    {"create", FLAG, FIELD(create), 0, 0, 0, NULL, NULL, "make the file if it is missing"},
    {"delete_on_close", FLAG, FIELD(delete_on_close), 0, 0, 0, NULL, NULL,
     "remove the file when it is unmounted, of several nodes from the last"},
    {"append", FLAG, FIELD(append), 0, 0, 0, NULL, NULL, "\"shared\" begins at the file's end"},
    {"sequential", FLAG, FIELD(sequential), 0, 0, 0, NULL, NULL,
     "the file is a FIFO or a character device: read with ro, else written"},
    {"missing", TEXT, FIELD(missing), 1, 0, 0, "error|zero|VALUE", NULL,
     "members of the file that are missing or too short: fail, or read zeros or VALUE"},
    {"unique", FLAG, FIELD(unique), 0, 0, 0, NULL, NULL, "nobody else has the file open"},
    {"direct", FLAG, FIELD(direct), 0, 0, 0, NULL, NULL,
     "read past the page cache: for programs that read large pieces, once"},
    {"npy", FLAG, FIELD(npy), 0, 0, 0, NULL, NULL, "a rankN.npy beside each rankN, for NumPy"},
    {"nc", FLAG, FIELD(nc), 0, 0, 0, NULL, NULL, "rankN.nc and whole.nc, in netCDF"},
    {"vti", FLAG, FIELD(vti), 0, 0, 0, NULL, NULL, "rankN.vti and a .pvti of all, for ParaView"},
    {"zarr", FLAG, FIELD(zarr), 0, 0, 0, NULL, NULL, "a Zarr store, zarr, of all arrays"},
    {"atomic", FLAG, FIELD(atomic), 0, 0, 0, NULL, NULL, "atomic mode"},
    {"local", FLAG, FIELD(local), 0, 0, 0, NULL, NULL,
     "of several nodes each shows its own block of ranks"},
    {"view", TEXT, FIELD(shorthand), 0, 0, 0, "SHORTHAND", NULL, "as --view"},
    {"members", TEXT, FIELD(members), 0, 0, 0, "NAMES", NULL, "as --members"},
    {"pieces", TEXT, FIELD(pieces), 0, 0, 0, "SHORTHAND", NULL, "as --pieces"},
    {"narrow", CHOICE, FIELD(narrow), 0, 0, 0, "refuse|truncate", "refuse or truncate",
     "integers that the file has no room for"},
    {"threads", NUMBER, FIELD(threads), 1, 1024, 1, "N", "a number from 1 to 1024",
     "worker threads at most (8)"},
    {"max_read", SIZE, FIELD(max_read), 4096, FS_READ_MAX, 0, "SIZE", "a size from 4k to 1M",
     "largest read request, 4k to 1M (1M)"},
    {"pointers", TEXT, FIELD(pointers), 1, 0, 0, "DIR", "the name of a folder",
     "several nodes: keep the shared file pointers there, not beside the file"},
    {"log", TEXT, FIELD(log), 1, 0, 0, "FILE", "the name of a file",
     "append messages to it (syslog, or stderr with -F)"},
    {"log_level", CHOICE, FIELD(log_level), 0, 0, 0, "debug|info|warning|error",
     "debug, info, warning or error", "which messages are logged, from this level up (info)"},
    {"cache", CHOICE, FIELD(cache), 0, 0, 0, "auto|through|back", "auto, through or back",
     "whether the daemon holds writes back"},
    {"coherence", CHOICE, FIELD(coherence), 0, 0, 0, "auto|local|close-to-open|none",
     "auto, local, close-to-open or none",
     "when hosts see each other's writes to the file (auto: by the type of its filesystem)"},
    {"passthrough", CHOICE, FIELD(passthrough), 0, 0, 0, "auto|off", "auto or off",
     "whether the kernel itself may read and write the file where a slice is all of it"},
    {"dirty_max", SIZE, FIELD(dirty_max), 1 << 20, INT64_MAX, 0, "SIZE", "a size of 1M or more",
     "how much it may hold back (256M)"},
    {"pool", ROOM, FIELD(pool), 16 << 20, INT64_MAX - 1, 0, "SIZE|off",
     "a size of 16M or more, or off",
     "memory for the file, which all nodes share (of several: a quarter of what is free)"},
    {"flush_interval", NUMBER, FIELD(flush_interval), 0, 86400, 1000, "SECONDS",
     "seconds, from 0 to 86400", "how long it may (5); 0: for ever"},
    {"store", CHOICE, FIELD(store), 0, 0, 0, "auto|posix|mpiio", "auto, posix or mpiio",
     "how mpiio-engine stores, where it starts this program"},
    {"peer_timeout", NUMBER, FIELD(peer_timeout), 1, 86400, 1000, "SECONDS",
     "seconds, from 1 to 86400", "how long another node may be silent (10)"},
    {"fanout", NUMBER, FIELD(fanout), 1, MPIIO_PEERS_NODES, 1, "N", "a number from 1 to 1048576",
     "how many nodes a node has right below it (16)"},
    {"interface", TEXT, FIELD(interface), 1, 0, 0, "INTERFACE",
     "an interface, an address or a network", "by which nodes reach each other (any)"},
    {"port", PORTS, FIELD(ports), 0, 0, 0, "PORT[-PORT]", "a TCP port, or two as in 7000-7009",
     "where it listens for other nodes: the first of these that is free (any)"},
#undef FIELD
};

static const char help_text[] =
    "Usage: mpiio-fused [OPTION]... SPEC MOUNTPOINT\n"
    "       mpiio-fused [OPTION]... --view=SHORTHAND FILE MOUNTPOINT\n"
    "       mpiio-fused [OPTION]... --members=NAMES --pieces=SHORTHAND MOUNTPOINT\n"
    "Serves the views that SPEC describes as a filesystem: one node's daemon.\n"
    "\n"
    "  -n, --ranks=RANKS        number of ranks, instead of the spec's\n"
    "  -f, --file=FILE          the shared file, instead of the spec's\n"
    "  -D, --define=NAME=VALUE  value of a name of the spec's \"let\"\n"
    "      --view=SHORTHAND     the view itself, in words (viewspec(5)), instead of a SPEC\n"
    "      --members=NAMES      files that the shared one is assembled from, {member:WIDTH} in\n"
    "                           their names being the number; with --view or --pieces\n"
    "      --pieces=SHORTHAND   where the members' data lies in the whole (as the view)\n"
    "  -o, --options=OPTIONS    mount options, separated by commas (below)\n"
    "  -F, --foreground         do not become a daemon\n"
    "      --name=NAME          what messages begin with\n"
    "      --spec-digest=SHA256 refuse a SPEC whose text has another digest, in hex\n"
    "      --spec-name=NAME     what messages call SPEC\n"
    "  -h, --help               print this and exit\n"
    "      --version            print the version and exit\n"
    "\n"
    "Mount options:\n";

static const char help_end[] =
    "\n"
    "Those of FUSE are taken, too: allow_other (which implies default_permissions), allow_root,\n"
    "auto_unmount, default_permissions, nosuid, nodev, noexec, noatime, fsname=NAME, ...\n"
    "\n"
    "Exit status: 0 done, 1 failed, 2 usage or spec error. See mpiio-fused(8).\n";

int fs_fail(const struct fs_options *options, int status, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    mpiio_complain_list(options->name, format, arguments);
    va_end(arguments);
    return status;
}

static int usage(const struct fs_options *options, const char *what, const char *text)
{
    return fs_fail(options, -EINVAL, "%s%s (see --help)", what, text);
}

/* Returns the value of a decimal number in [low, high], or -1. */
static int64_t parse_number(const char *text, int64_t low, int64_t high)
{
    char *end;
    int64_t value;

    if (*text < '0' || *text > '9')
        return -1;
    errno = 0;
    value = strtoll(text, &end, 10);
    return errno == 0 && *end == '\0' && value >= low && value <= high ? value : -1;
}

/* Returns the value of "key=value" if option begins with key, which includes the '='; else NULL. */
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

/* Replaces *text by a copy of value. Returns 0 or -ENOMEM. */
static int keep_text(char **text, const char *value)
{
    free(*text);
    *text = strdup(value);
    return *text != NULL ? 0 : -ENOMEM;
}

/* Returns the index of word in words, which '|' separates, or -1. */
static int choice(const char *words, const char *word)
{
    size_t length = strlen(word);

    for (int i = 0; words != NULL; i++, words = strchr(words, '|')) {
        words += *words == '|';
        if (strcspn(words, "|") == length && strncmp(words, word, length) == 0)
            return i;
    }
    return -1;
}

/* Reads "PORT" or "PORT-PORT". */
static int parse_ports(const char *text, struct mpiio_ports *ports)
{
    unsigned first = 0, last;
    int end = 0;

    if (sscanf(text, "%5u%n-%5u%n", &first, &end, &last, &end) < 2)
        last = first;
    if (strspn(text, "0123456789-") != strlen(text) || text[end] != '\0' || end == 0 ||
        first == 0 || first > last || last > UINT16_MAX)
        return -EINVAL;
    *ports = (struct mpiio_ports){(uint16_t)first, (uint16_t)last};
    return 0;
}

/*
 * Sets the field of row from value, if it takes one. Returns 0, -EINVAL for an invalid value, or
 * -ENOMEM.
 */
static int set(struct fs_options *options, const struct mount_option *row, const char *value)
{
    void *field = (char *)options + row->field;
    int64_t number = row->low;
    int error = 0;

    switch (row->kind) {
    case FLAG:
        *(bool *)field = true;
        return 0;
    case TEXT:
        return strlen(value) < (size_t)row->low ? -EINVAL : keep_text(field, value);
    case CHOICE:
        number = choice(row->value, value);
        if (number < 0)
            return -EINVAL;
        /* fall through */
    case MEMBER:
        memcpy(field, &(int){(int)number}, sizeof(int));
        return 0;
    case PORTS:
        return parse_ports(value, field);
    case NUMBER:
        number = parse_number(value, row->low, row->high);
        *(int64_t *)field = number * row->unit;
        return number < 0 ? -EINVAL : 0;
    case ROOM:
        if (strcmp(value, "off") == 0) {
            *(int64_t *)field = 0;
            return 0;
        }
        /* fall through */
    case SIZE:
        error = mpiio_parse_size(value, field);
        number = *(int64_t *)field;
        return error != 0 || number < row->low || number > row->high ? -EINVAL : 0;
    }
    return error;
}

/* Applies one of this program's own options. Returns 1 if option is none of them. */
static int own_option(struct fs_options *options, const char *option)
{
    for (size_t i = 0; i < sizeof(mount_option_table) / sizeof(mount_option_table[0]); i++) {
        const struct mount_option *row = &mount_option_table[i];
        size_t length = strlen(row->key);
        int error;

        if (strncmp(option, row->key, length) != 0 ||
            option[length] != (row->value != NULL ? '=' : '\0'))
            continue;
        error = set(options, row, option + length + 1);
        if (error == -EINVAL)
            mpiio_complain(options->name, "%s= needs %s: %s (see --help)", row->key, row->needs,
                           option + length + 1);
        return error;
    }
    return 1;
}

/* Reports an unknown option, with advice if it was removed. */
static int refuse(const struct fs_options *options, const char *option)
{
    for (size_t i = 0; i < sizeof(removed_options) / sizeof(*removed_options); i++) {
        const char *key = removed_options[i].key;

        if (strcspn(option, "=") == strlen(key) && value_of(option, key) != NULL)
            return usage(options, removed_options[i].advice, "");
    }
    return usage(options, "unknown mount option: ", option);
}

static int mount_option(struct fs_options *options, const char *option)
{
    int error = own_option(options, option);

    if (error <= 0)
        return error;
    if (listed(option, fuse_options, sizeof(fuse_options) / sizeof(*fuse_options)))
        return pass_on(options, option);
    if (listed(option, ignored_options, sizeof(ignored_options) / sizeof(*ignored_options)) ||
        value_of(option, "x-") != NULL || value_of(option, "comment=") != NULL)
        return 0;
    return refuse(options, option);
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
        options->overrides.ranks = parse_number(optarg, 1, RANKS_MAX);
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
        options->engine_fd = (int)parse_number(optarg, 0, INT_MAX);
        return options->engine_fd < 0 ? usage(options, "--engine-fd needs a number: ", optarg) : 0;
    case OPTION_VERSION:
        options->version = true;
        return 0;
    case OPTION_DIGEST:
        options->spec_digest = optarg;
        return 0;
    case OPTION_SPEC_NAME:
        options->spec_name = optarg;
        return 0;
    case OPTION_VIEW:
        return keep_text(&options->shorthand, optarg);
    case OPTION_MEMBERS:
        return keep_text(&options->members, optarg);
    case OPTION_PIECES:
        return keep_text(&options->pieces, optarg);
    case ':':
        return usage(options, "an argument is missing after ", argv[optind - 1]);
    default:
        if (optopt > 0 && optopt < OPTION_NAME)
            return usage(options, "unknown option: -", (char[]){(char)optopt, '\0'});
        return usage(options, "unknown option: ", argv[optind - 1]);
    }
}

/*
 * Takes SPEC and MOUNTPOINT. With a view in shorthand, takes FILE and MOUNTPOINT, or MOUNTPOINT
 * alone if -f or --members replaces FILE.
 */
static int take_operands(struct fs_options *options, int count, char **operands)
{
    bool no_spec = options->shorthand != NULL;

    if (options->members != NULL && no_spec && count == 1) {
        options->spec = "--members";
        options->mountpoint = operands[0];
        return 0;
    }
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

/* Returns N if the mount point is /dev/fd/N, or -1. */
static int descriptor_of(const char *mountpoint)
{
    unsigned number;
    int end = 0;

    if (sscanf(mountpoint, "/dev/fd/%u%n", &number, &end) != 1 || mountpoint[end] != '\0')
        return -1;
    return number <= INT_MAX ? (int)number : -1;
}

/* Checks --members, which needs --view or --pieces and excludes -f. */
static int take_members(struct fs_options *options)
{
    if (options->pieces != NULL && options->members == NULL)
        return usage(options, "--pieces is for --members, which is missing", "");
    if (options->members == NULL)
        return 0;
    if (options->shorthand == NULL && options->pieces == NULL)
        return usage(options, "--members needs --pieces or --view, which say where they lie", "");
    if (options->overrides.file != NULL)
        return usage(options, "--members and -f exclude each other", "");
    if (options->shorthand == NULL && keep_text(&options->shorthand, "") != 0)
        return -ENOMEM;
    options->overrides.members = options->members;
    options->overrides.pieces = options->pieces;
    return 0;
}

/* Refuses options that exclude each other. Returns 0, or -EINVAL after one line on stderr. */
static int check_together(const struct fs_options *options)
{
    if (options->create && options->access == FS_ACCESS_RO)
        return usage(options, "mount options ro and create exclude each other", "");
    if (options->fuse_fd >= 0 && options->engine_fd >= 0)
        return usage(options,
                     "a descriptor as the mount point is for one node: ", options->mountpoint);
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
        {"spec-digest", required_argument, NULL, OPTION_DIGEST},
        {"spec-name", required_argument, NULL, OPTION_SPEC_NAME},
        {"members", required_argument, NULL, OPTION_MEMBERS},
        {"pieces", required_argument, NULL, OPTION_PIECES},
        {NULL, 0, NULL, 0},
    };
    int key;
    int error = 0;

    *options = (struct fs_options){
        .name = "mpiio-fused",
        .threads = THREADS_DEFAULT,
        .max_read = FS_READ_MAX,
        .engine_fd = -1,
        .fuse_fd = -1,
        .dirty_max = DIRTY_DEFAULT,
        .pool = FS_POOL_AUTO,
        .flush_interval = FLUSH_DEFAULT,
        .peer_timeout = MPIIO_PEERS_TIMEOUT,
        .fanout = MPIIO_TREE_FANOUT,
        .log_level = MPIIO_LOG_INFO,
    };
    while (error == 0 && (key = getopt_long(argc, argv, ":n:f:D:o:Fh", names, NULL)) != -1)
        error = command_option(options, key, argv);
    if (error == -ENOMEM)
        mpiio_complain(options->name, "out of memory");
    if (error != 0 || options->help || options->version)
        return error;
    options->overrides.missing = options->missing;
    error = take_members(options);
    if (error != 0)
        return error;
    if (take_operands(options, argc - optind, argv + optind) != 0)
        return -EINVAL;
    if (options->spec_name == NULL)
        options->spec_name = options->spec;
    options->fuse_fd = descriptor_of(options->mountpoint);
    return check_together(options);
}

void fs_options_free(struct fs_options *options)
{
    free((void *)options->overrides.defines);
    free(options->shorthand);
    free(options->members);
    free(options->pieces);
    free(options->interface);
    free(options->missing);
    free(options->log);
    free(options->pointers);
    free(options->fuse);
}

void fs_options_help(void)
{
    fputs(help_text, stdout);
    for (size_t i = 0; i < sizeof(mount_option_table) / sizeof(mount_option_table[0]); i++) {
        const struct mount_option *row = &mount_option_table[i];
        char text[64];

        snprintf(text, sizeof(text), "%s%s%s", row->key, row->value != NULL ? "=" : "",
                 row->value != NULL ? row->value : "");
        printf("  %-24s %s\n", text, row->help);
    }
    fputs(help_end, stdout);
}
