/* SPDX-License-Identifier: MIT */
#include "view.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "core/datarep.h"
#include "core/load.h"
#include "core/base/sizes.h"

/* The command line of a subcommand. */

static const char common_help[] =
    "\n"
    "Options of every subcommand:\n"
    "  -n, --ranks=RANKS        number of ranks, instead of the spec's\n"
    "  -f, --file=FILE          the shared file, instead of the spec's\n"
    "  -D, --define=NAME=VALUE  value of a name in the spec's \"let\"; may be repeated\n"
    "  -v, --view=SHORTHAND     the view itself, in words of viewspec(5), such as\n"
    "                           'scatter 512 on 4 of double at 64'; the shared file, if any, "
    "stands\n"
    "                           in the place of SPEC, or comes with -f\n"
    "      --members=NAMES      files that the shared one is assembled from, {member:WIDTH} in "
    "their\n"
    "                           names being the number; instead of SPEC, with --view or --pieces\n"
    "      --pieces=SHORTHAND   where the members' data lies in the whole (default: as the view)\n"
    "      --missing=WHAT       how to treat bytes that members lack: error (default), zero, or\n"
    "                           the number that they read as\n"
    "  -h, --help               this text\n"
    "  -V, --version            the version\n"
    "\n"
    "Offsets, lengths and displacements count bytes and take the suffixes k, M, G, T (powers of\n"
    "1024).\n";

/* Long options without a short form. */
enum {
    OFFSET = 256,
    LENGTH,
    FORMAT,
    FIELDS,
    TO,
    FORCE,
    SPEC,
    NARROW,
    SVG,
    WINDOW,
    WIDTH,
    COLOR,
    FROM,
    VAR,
    ALL,
    TYPE,
    MEMBERS,
    PIECES,
    MISSING,
};

static const struct option long_options[] = {
    {"ranks", required_argument, NULL, 'n'},     {"file", required_argument, NULL, 'f'},
    {"define", required_argument, NULL, 'D'},    {"rank", required_argument, NULL, 'r'},
    {"view", required_argument, NULL, 'v'},      {"members", required_argument, NULL, MEMBERS},
    {"pieces", required_argument, NULL, PIECES}, {"missing", required_argument, NULL, MISSING},
    {"offset", required_argument, NULL, OFFSET}, {"length", required_argument, NULL, LENGTH},
    {"format", required_argument, NULL, FORMAT}, {"fields", required_argument, NULL, FIELDS},
    {"to", required_argument, NULL, TO},         {"output", required_argument, NULL, 'o'},
    {"force", no_argument, NULL, FORCE},         {"spec", required_argument, NULL, SPEC},
    {"narrow", required_argument, NULL, NARROW}, {"svg", required_argument, NULL, SVG},
    {"window", required_argument, NULL, WINDOW}, {"width", required_argument, NULL, WIDTH},
    {"color", required_argument, NULL, COLOR},   {"from", required_argument, NULL, FROM},
    {"var", required_argument, NULL, VAR},       {"all", no_argument, NULL, ALL},
    {"type", required_argument, NULL, TYPE},     {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},         {NULL, 0, NULL, 0},
};

/* Options of some subcommands: those whose `options` have one of these flags. */
static const struct {
    int option;
    unsigned takers;
    const char *name;
} special_options[] = {
    {'r', VIEW_TAKES_RANK, "-r"},
    {OFFSET, VIEW_TAKES_RANGE | VIEW_TAKES_OFFSET | VIEW_TAKES_PICTURE, "--offset"},
    {LENGTH, VIEW_TAKES_RANGE, "--length"},
    {FORMAT, VIEW_TAKES_FORMAT, "--format"},
    {FIELDS, VIEW_TAKES_FORMAT, "--fields"},
    {TO, VIEW_TAKES_TARGET, "--to"},
    {'o', VIEW_TAKES_TARGET, "-o"},
    {FORCE, VIEW_TAKES_TARGET, "--force"},
    {SPEC, VIEW_TAKES_TARGET, "--spec"},
    {NARROW, VIEW_TAKES_NARROW, "--narrow"},
    {SVG, VIEW_TAKES_PICTURE, "--svg"},
    {WINDOW, VIEW_TAKES_PICTURE, "--window"},
    {WIDTH, VIEW_TAKES_PICTURE, "--width"},
    {COLOR, VIEW_TAKES_PICTURE, "--color"},
    {FROM, VIEW_TAKES_SOURCE, "--from"},
    {VAR, VIEW_TAKES_SOURCE, "--var"},
    {ALL, VIEW_TAKES_SOURCE, "--all"},
    {TYPE, VIEW_TAKES_SOURCE, "--type"},
};

/* The values of --format, in the order of enum view_format. */
static const char *const formats[] = {"text", "csv", "json"};
#define FORMATS (sizeof(formats) / sizeof(*formats))

/* Reports a usage error and refers to the help. */
static int fail_usage(const struct view_command *command, const char *what, const char *why)
{
    view_message("%s: %s%s%s (see mpiio-view %s --help)", command->name, what, *why ? ": " : "",
                 why, command->name);
    return VIEW_USAGE;
}

/* Reports a value that an option cannot have. */
static int fail_value(const struct view_command *command, const char *option, const char *text,
                      const char *why)
{
    char what[256];

    snprintf(what, sizeof(what), "%s %s", option, text);
    return fail_usage(command, what, why);
}

static int parse_size(const struct view_command *command, const char *option, const char *text,
                      int64_t *value)
{
    int error = mpiio_parse_size(text, value);

    if (!error)
        return VIEW_DONE;
    return fail_value(command, option, text,
                      error == -ERANGE ? "more than 2^63-1 bytes"
                                       : "expected a number of bytes, such as 4096, 4k, 1M");
}

/* Reads the number of an option, which must be low .. high. why is the error. */
static int parse_number(const struct view_command *command, const char *option, int64_t low,
                        int64_t high, const char *why, int64_t *value)
{
    char *end;

    errno = 0;
    *value = strtoll(optarg, &end, 10);
    return *optarg >= '0' && *optarg <= '9' && !*end && !errno && *value >= low && *value <= high
               ? VIEW_DONE
               : fail_value(command, option, optarg, why);
}

static int parse_format(const struct view_command *command, enum view_format *format)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (!strcmp(formats[i], optarg)) {
            *format = (enum view_format)i;
            return VIEW_DONE;
        }
    return fail_value(command, "--format", optarg, "expected text, csv or json");
}

/* Reports an option that getopt_long has rejected. */
static int bad_option(const struct view_command *command, char **argv, int kind)
{
    char what[256];

    if (optopt && optopt < 256 && strncmp(argv[optind - 1], "--", 2) != 0)
        snprintf(what, sizeof(what), "-%c", optopt);
    else
        snprintf(what, sizeof(what), "%s", argv[optind - 1]);
    return fail_usage(command, what, kind == ':' ? "the value is missing" : "no such option");
}

/* Stores the value of an option if it is text. */
static void take_text(int option, struct view_args *args)
{
    const struct {
        int option;
        const char **text;
    } texts[] = {{'f', &args->file},      {'v', &args->view},        {MEMBERS, &args->members},
                 {PIECES, &args->pieces}, {MISSING, &args->missing}, {FIELDS, &args->fields},
                 {TO, &args->to},         {'o', &args->output},      {SPEC, &args->output_spec},
                 {SVG, &args->svg},       {FROM, &args->from},       {TYPE, &args->type},
                 {COLOR, &args->color}};

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        if (texts[i].option == option)
            *texts[i].text = optarg;
}

/* Handles options that have no value, or whose value is not text. Checks the value of --color. */
static int take_option(const struct view_command *command, int option, struct view_args *args)
{
    switch (option) {
    case 'n':
        return parse_number(command, "-n", 1, INT32_MAX,
                            "expected a number of ranks, 1 .. 2147483647", &args->ranks);
    case 'r':
        return parse_number(command, "-r", 0, INT32_MAX, "expected the number of a rank",
                            &args->rank);
    case WIDTH:
        return parse_number(command, "--width", 20, 1000,
                            "expected a number of columns, 20 .. 1000", &args->width);
    case OFFSET:
        args->offset_given = true;
        return parse_size(command, "--offset", optarg, &args->offset);
    case LENGTH:
        return parse_size(command, "--length", optarg, &args->length);
    case WINDOW:
        if (parse_size(command, "--window", optarg, &args->window))
            return VIEW_USAGE;
        return args->window ? VIEW_DONE : fail_usage(command, "--window 0", "nothing to draw");
    case FORMAT:
        return parse_format(command, &args->format);
    case NARROW:
        return mpiio_narrow_parse(optarg, &args->narrow)
                   ? VIEW_DONE
                   : fail_value(command, "--narrow", optarg, "expected refuse or truncate");
    case COLOR:
        return !strcmp(optarg, "always") || !strcmp(optarg, "auto") || !strcmp(optarg, "never")
                   ? VIEW_DONE
                   : fail_usage(command, "--color", "expected always, auto or never");
    case 'D':
        args->defines[args->define_count++] = optarg;
        return VIEW_DONE;
    case VAR:
        args->vars[args->var_count++] = optarg;
        return VIEW_DONE;
    case FORCE:
        args->force = true;
        return VIEW_DONE;
    case ALL:
        args->all = true;
        return VIEW_DONE;
    default:
        return VIEW_DONE;
    }
}

/* Returns NULL if the subcommand takes the option, else the option's name. */
static const char *not_taken(const struct view_command *command, int option)
{
    for (size_t i = 0; i < sizeof(special_options) / sizeof(*special_options); i++)
        if (special_options[i].option == option)
            return command->options & special_options[i].takers ? NULL : special_options[i].name;
    return NULL;
}

/* Returns true if -v has a view in shorthand instead of a name. Names have no blanks. */
static bool is_shorthand(const struct view_args *args)
{
    return strchr(args->view, ' ') != NULL;
}

/* Handles --members in place of SPEC: the members have a view, lie at pieces, or both. */
static int take_members(const struct view_command *command, struct view_args *args)
{
    if (!args->view && !args->pieces)
        return fail_usage(command, "--members",
                          "needs --pieces or --view, which say where they lie");
    if (args->file)
        return fail_usage(command, "--members", "excludes -f");
    args->spec = "--members";
    args->shorthand = args->view ? args->view : "";
    args->view = NULL;
    return VIEW_DONE;
}

/*
 * Handles -v. With SPEC it names one of its views. Without SPEC, or with the shared file in its
 * place, it is the view itself.
 */
static int take_view(const struct view_command *command, const char *operand,
                     struct view_args *args)
{
    bool takes_name = command->options & (VIEW_TAKES_RANK | VIEW_TAKES_PICTURE);

    if (args->members)
        return take_members(command, args);
    if (args->pieces)
        return fail_usage(command, "--pieces", "is for --members, which is missing");
    args->spec = operand ? operand : "--view";
    if (!args->view || (operand && !is_shorthand(args)))
        return !args->view || takes_name
                   ? VIEW_DONE
                   : fail_usage(command, "-v",
                                "not an option of this subcommand where there is a SPEC");
    if (operand && args->file)
        return fail_usage(command, operand, "the file is named twice, by -f, too");
    if (operand)
        args->file = operand;
    args->spec = "--view";
    args->shorthand = args->view;
    args->view = NULL;
    return VIEW_DONE;
}

/* Handles operands with --from: only a decomposition may follow the options. */
static int take_source(const struct view_command *command, int count, char **operands,
                       struct view_args *args)
{
    const char *other = args->file ? "-f" : args->view ? "-v" : args->define_count ? "-D" : NULL;

    if (other)
        return fail_usage(command, other, "not an option with --from");
    if (args->all && args->var_count)
        return fail_usage(command, "--all", "not an option with --var");
    if (count > 1)
        return fail_usage(command, operands[1], "one argument too many");
    if (count == 1 && !args->all && !args->var_count)
        return fail_usage(command, operands[0], "of which variable? (--var NAME, --all)");
    if (args->type && !args->all && !args->var_count)
        return fail_usage(command, "--type", "of which variable? (--var NAME, --all)");
    args->decomposition = count ? operands[0] : NULL;
    return VIEW_DONE;
}

/* Handles operands: SPEC, and DISP if the subcommand takes one. */
static int take_operands(const struct view_command *command, int count, char **operands,
                         struct view_args *args)
{
    int wanted = command->options & VIEW_TAKES_PLACE ? 2 : 1;
    bool has_spec = args->members ? false : !args->view || count >= wanted;

    if (args->from)
        return take_source(command, count, operands, args);
    if (args->all || args->var_count || args->type)
        return fail_usage(command, "--from FILE is missing", "");
    wanted -= !has_spec;
    if (count < 1 && has_spec)
        return fail_usage(command, "SPEC is missing", "");
    if (count < wanted)
        return fail_usage(command, "DISP is missing", "");
    if (count > wanted)
        return fail_usage(command, operands[wanted], "one argument too many");
    if (take_view(command, has_spec ? operands[0] : NULL, args))
        return VIEW_USAGE;
    if (command->options & VIEW_TAKES_RANK && args->rank < 0)
        return fail_usage(command, "-r RANK is missing", "");
    if (command->options & VIEW_TAKES_TARGET && !args->to)
        return fail_usage(command, "--to DATAREP is missing", "");
    if (command->options & VIEW_TAKES_TARGET && !args->output)
        return fail_usage(command, "-o FILE is missing", "");
    return command->options & VIEW_TAKES_PLACE
               ? parse_size(command, "DISP", operands[wanted - 1], &args->place)
               : VIEW_DONE;
}

/* Returns -1 if the subcommand can run, else the exit status. */
static int parse_args(const struct view_command *command, int argc, char **argv,
                      struct view_args *args)
{
    const char *name;
    int option, status;

    opterr = 0;
    while ((option = getopt_long(argc, argv, ":n:f:D:r:v:o:hV", long_options, NULL)) != -1) {
        if (option == 'h') {
            printf("%s%s", command->help, common_help);
            return VIEW_DONE;
        }
        if (option == 'V') {
            view_version();
            return VIEW_DONE;
        }
        if (option == '?' || option == ':')
            return bad_option(command, argv, option);
        if ((name = not_taken(command, option)))
            return fail_usage(command, name, "not an option of this subcommand");
        take_text(option, args);
        status = take_option(command, option, args);
        if (status)
            return status;
    }
    status = take_operands(command, argc - optind, argv + optind, args);
    return status ? status : -1;
}

static void tell_conversion(void *argument, const char *message)
{
    (void)argument;
    view_message("%s", message);
}

struct vs_overrides view_overrides(const struct view_args *args)
{
    static struct mpiio_datarep_log conversions = {.report = tell_conversion};

    return (struct vs_overrides){.file = args->file,
                                 .from_options = true,
                                 .members = args->members,
                                 .pieces = args->pieces,
                                 .missing = args->missing,
                                 .ranks = args->ranks,
                                 .defines = args->defines,
                                 .define_count = args->define_count,
                                 .datarep_argument = &conversions};
}

/* Loads the spec and runs the subcommand. */
static int run_spec(const struct view_command *command, const struct view_args *args)
{
    struct vs_overrides overrides = view_overrides(args);
    struct vs_error error = {0};
    struct vs_spec *spec = NULL;
    int status;

    overrides.file_optional = command->options & VIEW_NEEDS_NO_FILE;
    overrides.by_file = command->options & VIEW_BY_FILE;
    if (args->shorthand ? mpiio_spec_load_shorthand(args->shorthand, &overrides, &spec, &error)
                        : mpiio_spec_load(args->spec, &overrides, &spec, &error))
        status = view_spec_failed(&error);
    else if (!(command->options & VIEW_TAKES_SOURCE))
        status = view_check_header(spec);
    else
        status = VIEW_DONE; /* the subcommand examines the spec, not the file */
    if (!status)
        status = command->run(args, spec);
    vs_spec_free(spec);
    return status;
}

int view_run(const struct view_command *command, int argc, char **argv)
{
    struct view_args args = {.rank = -1, .length = -1, .color = "auto"};
    int status;

    args.defines = calloc((size_t)argc + 1, sizeof(*args.defines));
    args.vars = calloc((size_t)argc + 1, sizeof(*args.vars));
    if (!args.defines || !args.vars) {
        status = view_failed(NULL, -ENOMEM);
    } else {
        status = parse_args(command, argc, argv, &args);
        if (status < 0)
            status = args.from ? command->run_from(&args) : run_spec(command, &args);
    }
    free(args.defines);
    free(args.vars);
    return status;
}
