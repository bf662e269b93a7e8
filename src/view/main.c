/* SPDX-License-Identifier: MIT */
#include "view.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/datarep.h"
#include "core/load.h"
#include "core/base/sizes.h"

/* mpiio-view: reads the command line of a subcommand and runs it, or lists the subcommands. */

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

/* Options without a short form whose values take_value handles. getopt_long returns FIRST_LONG for
   the first row of the table below, and the next numbers for the others. */
enum { OFFSET = 256, LENGTH, FORMAT, NARROW, WINDOW, WIDTH, COLOR, VAR, FIRST_LONG };

/* Subcommands that take no spec. */
#define WITHOUT_SPEC (VIEW_TAKES_MOUNTS | VIEW_TAKES_COMMAND)

/* A member of struct view_args. */
#define MEMBER(name) offsetof(struct view_args, name)

/*
 * The options of all subcommands. getopt_long always gets all of them. Otherwise it would take
 * --rank for an abbreviation of --ranks in a subcommand that only has --ranks.
 */
static const struct view_option {
    const char *name;
    int letter;      /* of its short form, or its number above; 0: it has neither */
    unsigned takers; /* the subcommands with one of these flags; 0: all that take a spec */
    int has_value;   /* has_arg of struct option */
    size_t member;   /* gets the text, or true; 0: take_value checks or converts the text */
} options[] = {
    {"ranks", 'n', 0, required_argument, 0},
    {"file", 'f', 0, required_argument, MEMBER(file)},
    {"define", 'D', 0, required_argument, 0},
    {"view", 'v', 0, required_argument, MEMBER(view)},
    {"members", 0, 0, required_argument, MEMBER(members)},
    {"pieces", 0, 0, required_argument, MEMBER(pieces)},
    {"missing", 0, 0, required_argument, MEMBER(missing)},
    {"help", 'h', ~0U, no_argument, 0},
    {"version", 'V', ~0U, no_argument, 0},
    {"rank", 'r', VIEW_TAKES_RANK, required_argument, 0},
    {"offset", OFFSET, VIEW_TAKES_RANGE | VIEW_TAKES_OFFSET | VIEW_TAKES_PICTURE, required_argument,
     0},
    {"length", LENGTH, VIEW_TAKES_RANGE, required_argument, 0},
    {"format", FORMAT, VIEW_TAKES_FORMAT, required_argument, 0},
    {"fields", 0, VIEW_TAKES_FORMAT, required_argument, MEMBER(fields)},
    {"to", 0, VIEW_TAKES_TARGET, required_argument, MEMBER(to)},
    {"output", 'o', VIEW_TAKES_TARGET | WITHOUT_SPEC, required_argument, MEMBER(output)},
    {"force", 0, VIEW_TAKES_TARGET, no_argument, MEMBER(force)},
    {"spec", 0, VIEW_TAKES_TARGET, required_argument, MEMBER(output_spec)},
    {"narrow", NARROW, VIEW_TAKES_NARROW, required_argument, 0},
    {"svg", 0, VIEW_TAKES_PICTURE, required_argument, MEMBER(svg)},
    {"window", WINDOW, VIEW_TAKES_PICTURE, required_argument, 0},
    {"width", WIDTH, VIEW_TAKES_PICTURE, required_argument, 0},
    {"color", COLOR, VIEW_TAKES_PICTURE, required_argument, 0},
    {"from", 0, VIEW_TAKES_SOURCE, required_argument, MEMBER(from)},
    {"var", VAR, VIEW_TAKES_SOURCE, required_argument, 0},
    {"all", 0, VIEW_TAKES_SOURCE, no_argument, MEMBER(all)},
    {"type", 0, VIEW_TAKES_SOURCE, required_argument, MEMBER(type)},
    {"interval", 'd', VIEW_TAKES_MOUNTS, required_argument, 0},
    {"count", 'c', VIEW_TAKES_MOUNTS, required_argument, 0},
    {"prometheus", 0, VIEW_TAKES_MOUNTS, no_argument, MEMBER(prometheus)},
};
#define OPTIONS (sizeof(options) / sizeof(*options))

int view_usage(const struct view_command *command, const char *what, const char *why)
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
    return view_usage(command, what, why);
}

/* Reports an option that getopt_long has rejected, by returning kind: ':' or '?'. */
static int fail_option(const struct view_command *command, char **argv, int kind)
{
    char what[256];

    if (optopt && optopt < FIRST_LONG && strncmp(argv[optind - 1], "--", 2) != 0)
        snprintf(what, sizeof(what), "-%c", optopt);
    else
        snprintf(what, sizeof(what), "%s", argv[optind - 1]);
    return view_usage(command, what, kind == ':' ? "the value is missing" : "no such option");
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

static int parse_seconds(const struct view_command *command, double *seconds)
{
    char *end;

    *seconds = strtod(optarg, &end);
    return end != optarg && !*end && *seconds >= 0.1 && *seconds <= 86400
               ? VIEW_DONE
               : fail_value(command, "-d", optarg, "expected seconds, 0.1 .. 86400");
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

static int parse_format(const struct view_command *command, enum view_format *format)
{
    static const char *const names[] = {
        [VIEW_TEXT] = "text", [VIEW_CSV] = "csv", [VIEW_JSON] = "json"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (!strcmp(names[i], optarg)) {
            *format = (enum view_format)i;
            return VIEW_DONE;
        }
    return fail_value(command, "--format", optarg, "expected text, csv or json");
}

/* Handles an option whose value is not plain text. */
static int take_value(const struct view_command *command, int option, struct view_args *args)
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
        return args->window ? VIEW_DONE : view_usage(command, "--window 0", "nothing to draw");
    case FORMAT:
        return parse_format(command, &args->format);
    case NARROW:
        return mpiio_narrow_parse(optarg, &args->narrow)
                   ? VIEW_DONE
                   : fail_value(command, "--narrow", optarg, "expected refuse or truncate");
    case COLOR:
        args->color = optarg;
        return !strcmp(optarg, "always") || !strcmp(optarg, "auto") || !strcmp(optarg, "never")
                   ? VIEW_DONE
                   : fail_value(command, "--color", optarg, "expected always, auto or never");
    case 'D':
        args->defines[args->define_count++] = optarg;
        return VIEW_DONE;
    case VAR:
        args->vars[args->var_count++] = optarg;
        return VIEW_DONE;
    case 'd':
        return parse_seconds(command, &args->interval);
    default:
        assert(option == 'c');
        return parse_number(command, "-c", 1, INT64_MAX, "expected a number of tables",
                            &args->rounds);
    }
}

/* Handles an option. is_long: its long form is used. */
static int take_option(const struct view_command *command, const struct view_option *option,
                       bool is_long, struct view_args *args)
{
    char *member, typed[32];

    if (option->takers ? !(command->options & option->takers) : command->options & WITHOUT_SPEC) {
        if (is_long)
            snprintf(typed, sizeof(typed), "--%s", option->name);
        else
            snprintf(typed, sizeof(typed), "-%c", option->letter);
        return view_usage(command, typed, "not an option of this subcommand");
    }
    if (!option->member)
        return take_value(command, option->letter, args);
    member = (char *)args + option->member;
    if (option->has_value)
        *(const char **)member = optarg;
    else
        *(bool *)member = true;
    return VIEW_DONE;
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
        return view_usage(command, "--members",
                          "needs --pieces or --view, which say where they lie");
    if (args->file)
        return view_usage(command, "--members", "excludes -f");
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
        return view_usage(command, "--pieces", "is for --members, which is missing");
    args->spec = operand ? operand : "--view";
    if (!args->view || (operand && !is_shorthand(args)))
        return !args->view || takes_name
                   ? VIEW_DONE
                   : view_usage(command, "-v",
                                "not an option of this subcommand where there is a SPEC");
    if (operand && args->file)
        return view_usage(command, operand, "the file is named twice, by -f, too");
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
        return view_usage(command, other, "not an option with --from");
    if (args->all && args->var_count)
        return view_usage(command, "--all", "not an option with --var");
    if (count > 1)
        return view_usage(command, operands[1], "one argument too many");
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
        return view_usage(command, "--from FILE is missing", "");
    wanted -= !has_spec;
    if (count < 1 && has_spec)
        return view_usage(command, "SPEC is missing", "");
    if (count < wanted)
        return view_usage(command, "DISP is missing", "");
    if (count > wanted)
        return view_usage(command, operands[wanted], "one argument too many");
    if (take_view(command, has_spec ? operands[0] : NULL, args))
        return VIEW_USAGE;
    if (command->options & VIEW_TAKES_RANK && args->rank < 0)
        return view_usage(command, "-r RANK is missing", "");
    if (command->options & VIEW_TAKES_TARGET && !args->to)
        return view_usage(command, "--to DATAREP is missing", "");
    if (command->options & VIEW_TAKES_TARGET && !args->output)
        return view_usage(command, "-o FILE is missing", "");
    return command->options & VIEW_TAKES_PLACE
               ? parse_size(command, "DISP", operands[wanted - 1], &args->place)
               : VIEW_DONE;
}

/* Makes the arguments of getopt_long. letters has room for all. */
static void list_options(const struct view_command *command, struct option *list, char *letters)
{
    /* With "+", getopt_long stops at the first operand: what follows belongs to COMMAND. */
    letters += sprintf(letters, command->options & VIEW_TAKES_COMMAND ? "+:" : ":");
    for (size_t i = 0; i < OPTIONS; i++) {
        list[i] = (struct option){options[i].name, options[i].has_value, NULL, FIRST_LONG + (int)i};
        if (options[i].letter && options[i].letter < OFFSET)
            letters += sprintf(letters, "%c%s", options[i].letter, options[i].has_value ? ":" : "");
    }
    list[OPTIONS] = (struct option){0};
}

/* Returns -1 if the subcommand can run, else the exit status. */
static int parse_args(const struct view_command *command, int argc, char **argv,
                      struct view_args *args)
{
    struct option list[OPTIONS + 1];
    char letters[2 * OPTIONS + 3];
    int value, status = VIEW_DONE;

    opterr = 0;
    list_options(command, list, letters);
    while (!status && (value = getopt_long(argc, argv, letters, list, NULL)) != -1) {
        bool is_long = value >= FIRST_LONG;
        const struct view_option *option = &options[is_long ? value - FIRST_LONG : 0];

        if (value == '?' || value == ':')
            return fail_option(command, argv, value);
        while (!is_long && option->letter != value)
            option++;
        if (option->letter == 'h') {
            printf("%s%s", command->help, command->options & WITHOUT_SPEC ? "" : common_help);
            return VIEW_DONE;
        }
        if (option->letter == 'V') {
            puts("mpiio-view " MPIIO_VERSION);
            return VIEW_DONE;
        }
        status = take_option(command, option, is_long, args);
    }
    args->operands = argv + optind;
    if (!status && !(command->options & WITHOUT_SPEC))
        status = take_operands(command, argc - optind, args->operands, args);
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
        status = command->use ? view_use_slice(args, spec, command->flags, command->use)
                              : command->run(args, spec);
    vs_spec_free(spec);
    return status;
}

/* Parses a subcommand's arguments (argv[0] is its name), prints help, loads the spec, runs it. */
static int run_command(const struct view_command *command, int argc, char **argv)
{
    struct view_args args = {.rank = -1, .length = -1, .color = "auto", .interval = 2};
    int status;

    args.defines = calloc((size_t)argc + 1, sizeof(*args.defines));
    args.vars = calloc((size_t)argc + 1, sizeof(*args.vars));
    if (!args.defines || !args.vars) {
        status = view_failed(NULL, -ENOMEM);
    } else {
        status = parse_args(command, argc, argv, &args);
        if (status < 0)
            status = command->options & WITHOUT_SPEC || args.from ? command->run(&args, NULL)
                                                                  : run_spec(command, &args);
    }
    free(args.defines);
    free(args.vars);
    return status;
}

static const struct view_command *const commands[] = {
    &view_check,   &view_map,  &view_owner,   &view_cat,  &view_put, &view_dump,
    &view_convert, &view_draw, &view_capture, &view_spec, &view_top,
};

static int print_help(void)
{
    printf("Usage: mpiio-view SUBCOMMAND [OPTION]... SPEC ...\n"
           "Looks at the slices that MPI file views select of a shared file, without a mount.\n"
           "\n"
           "Subcommands:\n");
    for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
        printf("  %-9s%s\n", commands[i]->name, commands[i]->summary);
    printf("\n"
           "  -h, --help     this text; mpiio-view SUBCOMMAND --help says more\n"
           "  -V, --version  the version\n"
           "\n"
           "Examples:\n"
           "  mpiio-view capture -- mpiexec -n 4 ./solver     specs of its views\n"
           "  mpiio-view check heat.json                      does the spec fit the file?\n"
           "  mpiio-view map heat.json -r 2 | head            where rank 2's bytes are\n"
           "  mpiio-view owner heat.json 1M                   whose byte that is\n"
           "  mpiio-view cat heat.json -r 2 | od -A d -t f8   rank 2's bytes\n"
           "  mpiio-view put heat.json -r 2 < piece           new ones\n"
           "Without a spec, with a view in words (viewspec(5), SHORTHAND):\n"
           "  mpiio-view cat --view 'scatter 512 on 4 of double at 64' -f data.bin -r 2\n"
           "  mpiio-view spec --view 'darray 100x100 block,block on 2x2 of double'   as JSON\n"
           "\n"
           "Exit status: 0 done, 1 failed, 2 wrong usage or wrong spec.\n");
    return VIEW_DONE;
}

static int run_subcommand(int argc, char **argv)
{
    if (argc < 2) {
        view_message("a subcommand is missing (see mpiio-view --help)");
        return VIEW_USAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
        return print_help();
    if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
        puts("mpiio-view " MPIIO_VERSION);
        return VIEW_DONE;
    }
    for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
        if (!strcmp(argv[1], commands[i]->name))
            return run_command(commands[i], argc - 1, argv + 1);
    view_message("%s: no such subcommand (see mpiio-view --help)", argv[1]);
    return VIEW_USAGE;
}

int main(int argc, char **argv)
{
    return view_close_output(run_subcommand(argc, argv));
}
