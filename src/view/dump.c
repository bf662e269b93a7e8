/* SPDX-License-Identifier: MIT */
#include "view.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "viewspec/element.h"

#define CHUNK ((size_t)1 << 20)

/* Fields are named for an etype with at most this many runs of a type: naming walks all of them. */
#define MAX_RUNS 65536

/*
 * A field: consecutive values of an etype. The text around its values is prepared in advance, so
 * that a value costs little more than its digits.
 */
struct field {
    const char *name; /* NULL: without --fields, one field is the whole etype */
    int name_length;
    bool list;     /* NAME[N] */
    bool string;   /* its values are bytes or characters, written as one string */
    bool chars;    /* they are characters */
    int64_t count; /* number of values, > 0 */
    char *open;    /* text before its first value; owned */
    const char *between, *close;
};

struct dump {
    enum view_format format;
    const struct vs_view *view;
    struct mpiio_slice *slice;
    struct field *fields;
    int64_t field_count;
    int64_t values; /* in an etype; without --fields INT64_MAX means several */

    /* The next value to write. */
    const struct field *field;
    int64_t value; /* its index in the field */
    bool begun;    /* an etype or a column was written */

    char *in;             /* CHUNK bytes of the slice */
    int64_t offset, have; /* their packed offset and number */
    char *out, *end;      /* CHUNK bytes of text, and the end of the text */
    struct view_progress progress;
    int64_t begin; /* packed offset of the first etype */
};

/* Returns the number of values in an etype; INT64_MAX if there are more than MAX_RUNS runs of a
   type. */
static int64_t count_values(const struct vs_view *view)
{
    struct vs_element_cursor cursor;
    struct vs_elements run;
    int64_t count = 0, runs = 0;

    vs_elements_start(&cursor, view, 0, vs_view_facts(view)->etype_size);
    while (vs_elements_next(&cursor, &run)) {
        count += run.count;
        if (++runs > MAX_RUNS)
            return INT64_MAX;
    }
    return count;
}

/* Returns true if all values [from, from + count) of an etype have that kind. */
static bool are_of_kind(const struct vs_view *view, int64_t from, int64_t count,
                        enum vs_basic_kind kind)
{
    struct vs_element_cursor cursor;
    struct vs_elements run;
    int64_t number = 0;

    vs_elements_start(&cursor, view, 0, vs_view_facts(view)->etype_size);
    while (number < from + count && vs_elements_next(&cursor, &run)) {
        number += run.count;
        if (number > from && run.basic->kind != kind)
            return false;
    }
    return true;
}

/* Reports a wrong field: what is the list from that field on. */
static int wrong_field(const char *what, const char *why)
{
    view_message("--fields %.*s: %s (see mpiio-view dump --help)", (int)strcspn(what, ","), what,
                 why);
    return VIEW_USAGE;
}

/* Parses NAME or NAME[N], and moves *text behind it. */
static int read_field(const char **text, struct field *field)
{
    const char *name = *text, *end = name;

    while (isalnum((unsigned char)*end) || (*end && strchr("_-.", *end)))
        end++;
    field->name = name;
    field->name_length = (int)(end - name);
    field->count = 1;
    if (*end == '[' && isdigit((unsigned char)end[1])) {
        char *behind;
        errno = 0;
        field->list = true;
        field->count = strtoll(end + 1, &behind, 10);
        if (errno || field->count < 1 || *behind != ']')
            return wrong_field(name, "a field is NAME or NAME[N], N from 1 on");
        end = behind + 1;
    }
    if (!field->name_length || (*end && *end != ','))
        return wrong_field(name, "a name is letters, digits, _, - and .");
    *text = *end ? end + 1 : end;
    return VIEW_DONE;
}

static int check_field(struct dump *dump, int64_t index, int64_t from)
{
    struct field *field = &dump->fields[index];

    if (field->count > dump->values - from)
        return VIEW_DONE; /* read_fields reports it after counting all */
    field->chars = field->list && are_of_kind(dump->view, from, field->count, VS_CHAR);
    field->string =
        field->chars || (field->list && are_of_kind(dump->view, from, field->count, VS_BYTES));
    for (int64_t i = 0; i < index; i++)
        if (dump->fields[i].name_length == field->name_length &&
            !memcmp(dump->fields[i].name, field->name, (size_t)field->name_length))
            return wrong_field(field->name, "the name is there twice");
    return VIEW_DONE;
}

static int read_fields(struct dump *dump, const char *text)
{
    int64_t named = 0;

    dump->field_count = 1;
    for (const char *c = text ? text : ""; *c; c++)
        dump->field_count += *c == ',';
    dump->fields = calloc((size_t)dump->field_count, sizeof(*dump->fields));
    if (!dump->fields)
        return view_failed(NULL, -ENOMEM);
    if (text == NULL) {
        dump->fields[0].count = dump->values;
        return VIEW_DONE;
    }
    if (dump->values == INT64_MAX) {
        view_message("--fields: an etype has more than %d values of types in turn", MAX_RUNS);
        return VIEW_USAGE;
    }
    for (int64_t i = 0; i < dump->field_count; i++) {
        int status = read_field(&text, &dump->fields[i]);
        status = status ? status : check_field(dump, i, named);
        if (status)
            return status;
        if (__builtin_add_overflow(named, dump->fields[i].count, &named))
            named = INT64_MAX;
    }
    if (named == dump->values)
        return VIEW_DONE;
    view_message("--fields: %" PRId64 " value%s named, an etype has %" PRId64
                 " (see mpiio-view dump --help)",
                 named, view_plural(named), dump->values);
    return VIEW_USAGE;
}

/* Prepares the text around the values of a field. */
static int settle_field(struct dump *dump, int64_t index)
{
    struct field *field = &dump->fields[index];
    bool json = dump->format == VIEW_JSON;
    bool object = json && field->name, last = index == dump->field_count - 1;
    bool array = json && !field->string && (field->name ? field->list : field->count > 1);
    bool quotes = json ? field->string : dump->format == VIEW_CSV && field->chars;
    const char *before = index ? dump->format == VIEW_TEXT ? " " : "," : object ? "{" : "";
    static const char *const closes[] = {"", "]", "\"", "}", "]}", "\"}"};

    if (asprintf(&field->open, "%s%s%.*s%s%s", before, object ? "\"" : "",
                 object ? field->name_length : 0, object ? field->name : "", object ? "\":" : "",
                 array    ? "["
                 : quotes ? "\""
                          : "") < 0) {
        field->open = NULL;
        return view_failed(NULL, -ENOMEM);
    }
    field->between = field->string ? "" : dump->format == VIEW_TEXT ? " " : ",";
    field->close = closes[(array ? 1 : quotes ? 2 : 0) + (object && last ? 3 : 0)];
    return VIEW_DONE;
}

static void put_text(struct dump *dump, const char *text)
{
    size_t length = strlen(text);

    memcpy(dump->end, text, length);
    dump->end += length;
}

static int flush_text(struct dump *dump)
{
    int status = view_write_out(dump->out, dump->end - dump->out);

    dump->end = dump->out;
    return status;
}

/* Flushes the output buffer unless it has room for a text of that length, and a value. */
static int reserve_text(struct dump *dump, size_t length)
{
    return (size_t)(dump->out + CHUNK - dump->end) < length + VIEW_VALUE_TEXT ? flush_text(dump)
                                                                              : VIEW_DONE;
}

/* Writes a column name in the header of CSV. */
static int put_column(struct dump *dump, int64_t number, const char *part)
{
    const struct field *field = dump->field;
    int status = reserve_text(dump, (size_t)field->name_length);

    if (status)
        return status;
    if (dump->begun)
        *dump->end++ = ',';
    dump->begun = true;
    if (field->name)
        dump->end += sprintf(dump->end, "%.*s", field->name_length, field->name);
    else
        dump->end += sprintf(dump->end, "f%" PRId64, number);
    if (field->list && !field->string)
        dump->end += sprintf(dump->end, "[%" PRId64 "]", dump->value);
    put_text(dump, part);
    return VIEW_DONE;
}

/* Counts a value of the current field. Returns true at its end. The last value of an etype
   always ends it. */
static bool end_field(struct dump *dump, bool last)
{
    dump->value = last || dump->value + 1 == dump->field->count ? 0 : dump->value + 1;
    return !dump->value;
}

static int put_head(struct dump *dump)
{
    struct vs_element_cursor cursor;
    struct vs_elements run;
    int64_t number = 0;
    int status = VIEW_DONE;

    vs_elements_start(&cursor, dump->view, 0, vs_view_facts(dump->view)->etype_size);
    while (!status && vs_elements_next(&cursor, &run))
        for (int64_t i = 0; i < run.count && !status; i++, number++) {
            bool pair = run.basic->parts == 2;
            if (!dump->field->string || !dump->value)
                status = put_column(dump, number, pair ? ".re" : "");
            if (!status && pair)
                status = put_column(dump, number, ".im");
            if (end_field(dump, false))
                dump->field++;
        }
    put_text(dump, "\n");
    dump->field = dump->fields;
    dump->value = 0;
    dump->begun = false;
    return status;
}

/* Writes a value and the text around it. last: it is the last one of its etype. */
static int put_value(struct dump *dump, const struct vs_basic *basic, const char *value, bool last)
{
    const struct field *field = dump->field;
    bool json = dump->format == VIEW_JSON;
    int status = reserve_text(dump, (size_t)field->name_length + 16);

    if (status)
        return status;
    if (dump->value) {
        put_text(dump, field->between);
    } else {
        if (json && field == dump->fields)
            put_text(dump, dump->begun ? ",\n" : "\n");
        put_text(dump, field->open);
    }
    dump->begun = true;
    dump->end = view_write_value(dump->end, dump->format, field->string, basic, value);
    if (end_field(dump, last)) {
        put_text(dump, field->close);
        dump->field++;
    }
    if (last) {
        dump->field = dump->fields;
        if (!json)
            *dump->end++ = '\n';
    }
    return VIEW_DONE;
}

/* Reads the slice from a packed offset on, at least `least` bytes. */
static int fill_chunk(struct dump *dump, const char *file, int64_t offset, int64_t least)
{
    ssize_t got = mpiio_slice_read_packed(dump->slice, dump->in, CHUNK, offset);

    view_progress_step(&dump->progress, offset - dump->begin);
    if (got >= least) {
        dump->offset = offset;
        dump->have = got;
        return VIEW_DONE;
    }
    view_progress_end(&dump->progress);
    flush_text(dump);
    view_message("%s: %s", file,
                 got < 0 ? strerror((int)-got) : "the file was made shorter meanwhile");
    return VIEW_FAILED;
}

static int put_values(struct dump *dump, const char *file, int64_t end)
{
    int64_t etype_size = vs_view_facts(dump->view)->etype_size;
    int64_t etype_end = dump->begin + etype_size;
    struct vs_element_cursor cursor;
    struct vs_elements run;
    int status = VIEW_DONE;

    vs_elements_start(&cursor, dump->view, dump->begin, end - dump->begin);
    while (!status && vs_elements_next(&cursor, &run))
        for (int64_t i = 0; i < run.count && !status; i++, run.offset += run.native) {
            bool last = run.offset + run.native == etype_end;
            if (run.offset + run.native > dump->offset + dump->have)
                status = fill_chunk(dump, file, run.offset, run.native);
            if (!status)
                status = put_value(dump, run.basic, dump->in + (run.offset - dump->offset), last);
            etype_end += last ? etype_size : 0;
        }
    return status;
}

static int put_all(struct dump *dump, const char *file, int64_t end)
{
    bool json = dump->format == VIEW_JSON;
    int status = dump->format == VIEW_CSV ? put_head(dump) : VIEW_DONE;

    if (json)
        put_text(dump, "[");
    view_progress_start(&dump->progress, !isatty(STDOUT_FILENO), NULL, end - dump->begin);
    if (!status)
        status = put_values(dump, file, end);
    view_progress_end(&dump->progress);
    if (!status)
        status = reserve_text(dump, 0);
    if (!status && json)
        put_text(dump, dump->begun ? "\n]\n" : "]\n");
    return status ? status : flush_text(dump);
}

/* Chooses the whole etypes in the range of args, up to the end of the slice. *end and
   dump->begin are packed offsets. */
static int choose_range(const struct view_args *args, struct dump *dump, const char *file,
                        int64_t *end)
{
    int64_t etype = vs_view_facts(dump->view)->etype_size, size = mpiio_slice_size(dump->slice);
    int64_t offset = vs_view_packed(dump->view, args->offset);

    if (size < 0)
        return view_failed(file, size);
    *end = size;
    if (args->length >= 0 && args->offset < size && args->length < size - args->offset)
        *end = args->offset + args->length;
    if (args->length == 0 || args->offset >= size)
        *end = args->offset;
    *end = vs_view_packed(dump->view, *end);
    dump->begin = offset / etype * etype;
    if (*end > offset)
        *end = dump->begin + ((*end - dump->begin - 1) / etype + 1) * etype;
    else
        *end = dump->begin;
    return VIEW_DONE;
}

/* Prepares the fields, with names or without. */
static int settle_names(const struct view_args *args, struct dump *dump)
{
    struct vs_element_cursor cursor;
    struct vs_elements run;
    int64_t etype_size = vs_view_facts(dump->view)->etype_size;
    int status;

    vs_elements_start(&cursor, dump->view, 0, etype_size);
    vs_elements_next(&cursor, &run);
    /* Without names, only one value or several matters: an etype can be large. */
    dump->values = args->fields               ? count_values(dump->view)
                   : run.native == etype_size ? 1
                                              : INT64_MAX;
    status = read_fields(dump, args->fields);
    for (int64_t i = 0; i < dump->field_count && !status; i++)
        status = settle_field(dump, i);
    dump->field = dump->fields;
    return status;
}

static int dump_slice(const struct view_args *args, const char *file, struct mpiio_store *store,
                      struct mpiio_slice *slice)
{
    struct dump dump = {.format = args->format, .slice = slice, .view = mpiio_slice_view(slice)};
    int64_t end = 0;
    int status;

    (void)store;
    dump.in = malloc(CHUNK);
    dump.out = dump.end = malloc(CHUNK);
    if (!dump.in || !dump.out)
        status = view_failed(NULL, -ENOMEM);
    else
        status = settle_names(args, &dump);
    if (!status)
        status = choose_range(args, &dump, file, &end);
    if (!status)
        status = put_all(&dump, file, end);
    for (int64_t i = 0; dump.fields && i < dump.field_count; i++)
        free(dump.fields[i].open);
    free(dump.fields);
    free(dump.in);
    free(dump.out);
    return status;
}

const struct view_command view_dump = {
    .name = "dump",
    .options = VIEW_TAKES_RANK | VIEW_TAKES_RANGE | VIEW_TAKES_FORMAT,
    .use = dump_slice,
    .flags = O_RDONLY,
    .summary = "the values of a slice, as text, CSV or JSON",
    .help =
        "Usage: mpiio-view dump SPEC -r RANK [-v VIEW] [--offset O] [--length L]\n"
        "                       [--format text|csv|json] [--fields NAME[,NAME]...]\n"
        "Prints the values of a slice by the basic types of its etype, an etype a line. Real\n"
        "numbers are the shortest decimals that read back as the same numbers.\n"
        "\n"
        "  -r, --rank=RANK  whose slice\n"
        "  -v, --view=VIEW  which view, where the spec has several\n"
        "  --offset=O       begin with the etype at slice offset O (default 0)\n"
        "  --length=L       print the etypes that hold L bytes (default: to the slice's end)\n"
        "  --format=FORMAT  text: values parted by blanks (default); csv: with a line of names\n"
        "                   before; json: an array of etypes\n"
        "  --fields=NAMES   names of an etype's values, for CSV and JSON; NAME[N] names N values,\n"
        "                   and makes one string of characters and bytes\n"
        "\n"
        "Examples:\n"
        "  mpiio-view dump heat.json -r 2 | head\n"
        "  mpiio-view dump atoms.json -r 0 --format csv --fields 'id,name[8],position[3]'\n"
        "  mpiio-view dump heat.json -r 0 --format json | jq length\n",
};
