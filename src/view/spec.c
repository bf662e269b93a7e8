/* SPDX-License-Identifier: MIT */
#include "view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "from/formats.h"
#include "from/spec.h"
#include "viewspec/base/line.h"

/* The contents of files that describe themselves, and specs of them (--from). */

#define NAME_SIZE 512

/* Prints a type's name, or the constructor of a derived type. */
static void print_type(const json_t *etype)
{
    const char *name = json_string_value(etype);
    const char *kind = json_string_value(json_object_get(etype, "type"));

    if (name)
        printf("%s", name);
    else if (kind && !strcmp(kind, "contiguous")) {
        printf("%" JSON_INTEGER_FORMAT " ", json_integer_value(json_object_get(etype, "count")));
        print_type(json_object_get(etype, "oldtype"));
    } else if (kind && !strcmp(kind, "resized"))
        print_type(json_object_get(etype, "oldtype"));
    else
        printf("%s", kind ? kind : "-");
}

/* Prints a line "name  type  2x3x4" with tabs. If the variable cannot be a view, the reason
   follows. */
static void print_variable(const struct from_variable *variable)
{
    char text[NAME_SIZE];

    vs_line_copy(text, sizeof(text), variable->name, strlen(variable->name));
    printf("%s\t", text);
    print_type(variable->reason ? NULL : variable->etype);
    printf("\t");
    for (int d = 0; d < variable->dimensions; d++)
        printf("%s%" PRId64, d ? "x" : "", variable->shape[d]);
    printf("%s", variable->dimensions ? "" : "-");
    if (variable->reason) {
        vs_line_copy(text, sizeof(text), variable->reason, strlen(variable->reason));
        printf("\tnot a view: %s", text);
    }
    printf("\n");
}

/* Returns the index of the variable with that name. If there is none, or it cannot be a view,
   prints a message and returns -1. */
static long find_variable(struct from_file *file, const char *name)
{
    long found = from_find(file, name);

    if (found < 0)
        found = from_fortran_rows(file, name);
    if (file->error->code)
        view_spec_failed(file->error);
    else if (found < 0)
        view_message("%s: no variable %s (mpiio-view spec --from lists them)", file->path, name);
    else if (file->variables[found].reason)
        view_message("%s: %s: not a view: %s", file->path, name, file->variables[found].reason);
    return found < 0 || file->variables[found].reason ? -1 : found;
}

/* Chooses all variables that can be views, and reports why the others cannot. */
static int choose_all(const struct from_file *file, size_t *chosen, size_t *count)
{
    for (size_t i = 0; i < file->count; i++) {
        const struct from_variable *variable = &file->variables[i];
        if (variable->reason)
            view_message("%s: %s: not a view: %s", file->path, variable->name, variable->reason);
        else
            chosen[(*count)++] = i;
    }
    if (*count)
        return VIEW_DONE;
    view_message("%s: no variable that can be a view", file->path);
    return VIEW_USAGE;
}

static int choose_variables(const struct view_args *args, struct from_file *file, size_t *chosen,
                            size_t *count)
{
    size_t names = args->var_count ? args->var_count : 1;

    if (args->all)
        return choose_all(file, chosen, count);
    for (size_t i = 0; i < names; i++) {
        long found = find_variable(file, args->var_count ? args->vars[i] : file->variables[0].name);
        if (found < 0)
            return VIEW_USAGE;
        chosen[(*count)++] = (size_t)found;
    }
    return VIEW_DONE;
}

/* Sets the type of the chosen variables to the one of --type. */
static int retype_variables(const struct view_args *args, struct from_file *file,
                            const size_t *chosen, size_t count)
{
    struct vs_error error = {0};

    for (size_t i = 0; i < count && args->type && !error.code; i++)
        from_retype(file, &file->variables[chosen[i]], args->type, &error);
    return error.code ? view_spec_failed(&error) : VIEW_DONE;
}

/* Checks that a decomposition fits at least one of the variables. */
static int check_grid(const struct from_grid *grid, const struct from_file *file,
                      const size_t *chosen, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!grid->dimensions || file->variables[chosen[i]].dimensions == grid->dimensions)
            return VIEW_DONE;
    view_message("DECOMPOSITION: %s has %d dimension%s, and the decomposition %d",
                 count == 1 ? file->variables[chosen[0]].name : "no variable",
                 count == 1 ? file->variables[chosen[0]].dimensions : grid->dimensions,
                 count == 1 && file->variables[chosen[0]].dimensions == 1 ? "" : "s",
                 grid->dimensions);
    return VIEW_USAGE;
}

/* Returns a spec of one variable without its file, or NULL with error filled. */
static struct vs_spec *spec_of(const struct from_file *file, size_t variable,
                               const struct from_grid *grid, struct vs_error *error)
{
    json_t *view = from_view(&file->variables[variable], grid, error);
    json_t *root = json_pack("{s:i, s:s, s:I, s:o}", "viewspec", 1, "file", "f", "ranks",
                             (json_int_t)grid->ranks, "view", view);
    char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;
    struct vs_spec *spec = NULL;

    json_decref(root);
    if (!text && !error->code)
        error->code = -ENOMEM;
    if (text)
        vs_spec_parse(text, strlen(text), file->path, ".", NULL, &spec, error);
    free(text);
    return spec;
}

/*
 * Checks the decomposition against each of the chosen variables. Reports those that it does not
 * fit. They are an error unless --all was given, which omits them.
 */
static int leave_out(const struct view_args *args, const struct from_file *file,
                     const struct from_grid *grid, size_t *chosen, size_t *count)
{
    size_t fitting = 0;

    for (size_t i = 0; i < *count; i++) {
        struct vs_error error = {0};
        struct vs_spec *spec = spec_of(file, chosen[i], grid, &error);

        if (spec != NULL)
            chosen[fitting++] = chosen[i];
        /* A line number refers to the generated spec, which the user has not seen. */
        else if (error.line > 0 || error.code == -EINVAL)
            view_message("%s: %s: the decomposition does not fit: %s", file->path,
                         file->variables[chosen[i]].name, error.reason);
        else
            return view_spec_failed(&error);
        vs_spec_free(spec);
    }
    if (fitting < *count && (!args->all || fitting == 0))
        return VIEW_USAGE;
    *count = fitting;
    return VIEW_DONE;
}

/* Parses the text like any other spec, and prints it in the layout of specs. */
static int print_spec(const char *text, const struct from_file *file)
{
    struct vs_error error = {0};
    struct vs_spec *spec = NULL;
    char *folder = realpath(".", NULL), *pretty = NULL;
    int status;

    if (folder == NULL)
        status = view_failed(file->path, -errno);
    else if (vs_spec_parse(text, strlen(text), file->path, folder, NULL, &spec, &error))
        status = view_spec_failed(&error);
    else if (!(pretty = vs_spec_resolved(spec, true)))
        status = view_failed(NULL, -ENOMEM);
    else
        status = puts(pretty) < 0 ? VIEW_FAILED : VIEW_DONE;
    free(pretty);
    free(folder);
    vs_spec_free(spec);
    return status;
}

static int make_spec(const struct view_args *args, struct from_file *file)
{
    size_t *chosen = calloc(file->count + args->var_count + 1, sizeof(*chosen)), count = 0;
    struct from_grid grid;
    struct vs_error error = {0};
    int status = chosen ? choose_variables(args, file, chosen, &count) : VIEW_FAILED;

    if (!status)
        status = retype_variables(args, file, chosen, count);
    if (!status && from_grid(args->decomposition, args->ranks, &grid, &error))
        status = view_spec_failed(&error);
    if (!status)
        status = check_grid(&grid, file, chosen, count);
    if (!status && args->decomposition)
        status = leave_out(args, file, &grid, chosen, &count);
    if (!status) {
        char *text = from_spec(file, chosen, count, args->all, &grid, &error);
        status = text ? print_spec(text, file) : view_spec_failed(&error);
        free(text);
    }
    free(chosen);
    return status;
}

/* Returns true if the contents of the file are listed, not a spec of variables. */
static bool is_listing(const struct view_args *args)
{
    return !args->all && !args->var_count && !args->decomposition && !args->type;
}

/*
 * Sets names to the file's own names of the variables that were chosen. An argument of --var may be
 * a link. Without --var, the choice is the file's only variable. Returns true if the file must be
 * opened again with these names.
 */
static bool resolve_names(const struct view_args *args, const struct from_file *file,
                          const char **names)
{
    bool again = false;

    if (!args->all && !args->var_count && file->count == 1) {
        names[0] = file->variables[0].name;
        return true;
    }
    for (size_t i = 0; i < args->var_count; i++) {
        long found = from_find(file, args->vars[i]);
        names[i] = found < 0 ? args->vars[i] : file->variables[found].name;
        again = again || strcmp(names[i], args->vars[i]) != 0;
    }
    return again;
}

/*
 * Opens the file for the variables that a spec is made of. Their names in the file are known only
 * after that. If the file has other names for them, opens it again for these.
 */
static int open_file(const struct view_args *args, struct from_file **file, struct vs_error *error)
{
    struct from_wanted wanted = {args->vars, args->var_count, args->all};
    const char **names = calloc(args->var_count + 1, sizeof(*names));
    struct from_file *first;
    int code = names ? from_open(args->from, wanted, &first, error)
                     : from_fail_code(error, -ENOMEM, args->from);

    if (code) {
        free((void *)names);
        return code;
    }
    *file = first;
    if (!is_listing(args) && resolve_names(args, first, names)) {
        wanted.names = names;
        wanted.count = args->var_count ? args->var_count : 1;
        code = from_open(args->from, wanted, file, error);
        from_free(first);
    }
    if (!code) /* the names are valid only in this function */
        (*file)->wanted = (struct from_wanted){0};
    free((void *)names);
    return code;
}

/*
 * Lists the contents of the file args->from, or prints a spec of the chosen variables. Returns an
 * exit status.
 */
static int view_from(const struct view_args *args)
{
    struct from_file *file = NULL;
    struct vs_error error = {0};
    int status = VIEW_DONE;

    if (open_file(args, &file, &error))
        return view_spec_failed(&error);
    if (file->note)
        view_message("%s: %s", file->path, file->note);
    for (size_t i = 0; is_listing(args) && i < file->count; i++)
        print_variable(&file->variables[i]);
    if (!is_listing(args) && !args->all && !args->var_count && file->count != 1) {
        view_message(file->count ? "%s: several variables (choose with --var NAME, or take --all)"
                                 : "%s: no variable that can be a view",
                     file->path);
        status = VIEW_USAGE;
    } else if (!is_listing(args)) {
        status = make_spec(args, file);
    }
    from_free(file);
    return status;
}

/* mpiio-view spec: prints the resolved spec, or shorthand as JSON. */

static int run_spec(const struct view_args *args, const struct vs_spec *spec)
{
    char *text;

    if (args->from)
        return view_from(args);
    text = vs_spec_resolved(spec, true);
    if (text == NULL)
        return view_failed(NULL, -ENOMEM);
    puts(text);
    free(text);
    return VIEW_DONE;
}

const struct view_command view_spec = {
    .name = "spec",
    .options = VIEW_NEEDS_NO_FILE | VIEW_TAKES_SOURCE,
    .run = run_spec,
    .summary = "the JSON of a view in shorthand, a spec as it is resolved, or one of a file that "
               "describes itself",
    .help =
        "Usage: mpiio-view spec SPEC\n"
        "       mpiio-view spec --view SHORTHAND\n"
        "       mpiio-view spec --from FILE [--var NAME]... [--all] [--type TYPE] [DECOMPOSITION]\n"
        "Prints a spec as JSON that can be read again: options applied, names of \"let\" that\n"
        "do not depend on the rank as numbers, the file with its whole path. Of a view in\n"
        "shorthand it prints what that is in JSON; without -f it names no file.\n"
        "\n"
        "With --from it lists the variables of a file that describes itself (netCDF, HDF5,\n"
        ".npy, MITgcm's .meta, a tile standing for all, FITS, VTK, NRRD, MetaImage, ENVI, BOV,\n"
        "Fortran records): name, type and shape, and why a variable cannot be a view. With --var\n"
        "or --all it prints a spec of variables. A DECOMPOSITION distributes those of as many\n"
        "dimensions over the ranks, as in a darray's shorthand; without one there is one rank.\n"
        "With only a DECOMPOSITION or --type, it prints a spec of the file's only variable.\n"
        "\n"
        "  --from=FILE  the file\n"
        "  --var=NAME   a variable; may be repeated\n"
        "  --all        all that can be views\n"
        "  --type=TYPE  the type of variables that are bytes, and their shape: double, 'float "
        "*x3'\n"
        "\n"
        "Examples:\n"
        "  mpiio-view spec --view 'darray 1000x1000 block,cyclic(8) on 2x2 of double at 4k'\n"
        "  mpiio-view spec --view 'scatter n of int' -D n=64 -n 4 -f data.bin > data.json\n"
        "  mpiio-view spec heat.json -n 16\n"
        "  mpiio-view spec --from ocean.nc\n"
        "  mpiio-view spec --from ocean.nc --var temp 'none,block,block on 2x2' > temp.json\n"
        "  mpiio-view spec --from snap --var record2 --type 'float *x3' 'block,none on 3'\n",
};
