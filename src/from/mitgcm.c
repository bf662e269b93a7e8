/* SPDX-License-Identifier: MIT */
#include "formats.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spec.h"
#include "text.h"

/* The .meta files of MITgcm. Each describes the .data file beside it, or a piece of an array. */

/*
 * A .meta file is a list of
 *
 *     name = [ value, ... ];        or { value ... };
 *
 * dimList has three numbers for each dimension, the fastest first: the size of the whole array, and
 * the first and the last index (from 1) in the .data file. dataprec (format in older files) gives
 * the type, nrecords the number of such arrays in sequence, and fldList their names. Other values
 * are ignored.
 */

#define FIELDS_MAX 4096
#define FIELD_NAME 64

/* The contents of a .meta file. */
struct meta {
    int dimensions;
    /* for each dimension, the fastest first: the size of the whole array, the first and the last
       index in the file */
    int64_t list[3 * FROM_DIMENSIONS_MAX];
    int64_t size;               /* bytes of a value */
    int64_t records;            /* number of arrays in sequence */
    char (*fields)[FIELD_NAME]; /* their names, owned */
    int64_t field_count;
};

struct reader {
    struct from_words words;
    struct meta *meta;
    int numbers; /* of dimList */
    char precision[16];
};

/* Skips everything up to the semicolon. */
static void skip_value(struct reader *r)
{
    char next;

    while ((next = from_words_peek(&r->words)) && next != ';')
        if (next == '\'' || next == '"')
            from_words_string(&r->words, NULL, 0);
        else
            from_words_accept(&r->words, next);
}

static void read_list(struct reader *r)
{
    while (!r->words.wrong && from_words_peek(&r->words) != ']') {
        if (r->numbers == 3 * FROM_DIMENSIONS_MAX) {
            from_words_fail(&r->words, "too many dimensions");
            return;
        }
        r->meta->list[r->numbers++] = from_words_number(&r->words);
        from_words_accept(&r->words, ',');
    }
}

static void read_records(struct reader *r)
{
    r->meta->records = from_words_number(&r->words);
}

static void read_precision(struct reader *r)
{
    from_words_string(&r->words, r->precision, sizeof(r->precision));
}

static void read_fields(struct reader *r)
{
    while (!r->words.wrong && from_words_peek(&r->words) != '}') {
        char name[FIELD_NAME];
        size_t length;
        if (r->meta->field_count == FIELDS_MAX) {
            from_words_fail(&r->words, "too many fields");
            return;
        }
        if (!from_words_string(&r->words, name, sizeof(name)))
            return;
        for (length = strlen(name); length && name[length - 1] == ' '; length--)
            ;
        name[length] = '\0';
        strcpy(r->meta->fields[r->meta->field_count++], name);
        from_words_accept(&r->words, ',');
    }
}

static void read_entry(struct reader *r)
{
    static const struct {
        const char *name;
        char begin, end; /* brackets around the value */
        void (*read)(struct reader *r);
    } entries[] = {
        {"dimList", '[', ']', read_list},     {"dataprec", '[', ']', read_precision},
        {"format", '[', ']', read_precision}, {"nrecords", '[', ']', read_records},
        {"fldList", '{', '}', read_fields},
    };

    for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++)
        if (from_words_accept_word(&r->words, entries[i].name)) {
            from_words_need(&r->words, '=');
            from_words_need(&r->words, entries[i].begin);
            entries[i].read(r);
            from_words_need(&r->words, entries[i].end);
            from_words_need(&r->words, ';');
            return;
        }
    skip_value(r);
    from_words_need(&r->words, ';');
}

/* Validates the values, and computes the number of dimensions and the size of a value. */
static void check_meta(struct reader *r)
{
    struct meta *meta = r->meta;
    int64_t values = 1;

    meta->dimensions = r->numbers / 3;
    meta->size = strcmp(r->precision, "float32") ? 8 : 4;
    if (!r->numbers || r->numbers % 3)
        from_words_fail(&r->words, "dimList does not have three numbers a dimension");
    if (meta->size == 8 && strcmp(r->precision, "float64") != 0)
        from_words_fail(&r->words, "dataprec (or format) is neither float32 nor float64");
    if (meta->records < 1)
        from_words_fail(&r->words, "nrecords is not 1 or more");
    for (const int64_t *of = meta->list; of < meta->list + r->numbers; of += 3) {
        if (of[1] < 1 || of[2] < of[1] || of[0] < of[2])
            from_words_fail(&r->words, "dimList has indices that are not in the array");
        if (__builtin_mul_overflow(values, of[0], &values))
            from_words_fail(&r->words, "more than 2^63-1 values");
    }
    if (meta->records > INT32_MAX || __builtin_mul_overflow(values, 8 * meta->records, &values))
        from_words_fail(&r->words, "more than 2^63-1 bytes");
}

/*
 * Parses a whole .meta file. Returns 0, -EAGAIN if head does not have all of it, or a negative
 * errno with the file's error filled. The caller frees meta's fields in all cases.
 */
static int read_meta(const struct from_bytes *head, const struct from_file *file, struct meta *meta)
{
    const char *text = (const char *)head->bytes;
    struct reader r = {.words = {.at = text, .end = text + head->length}, .meta = meta};

    *meta = (struct meta){.records = 1};
    if ((int64_t)head->length < head->size)
        return -EAGAIN;
    meta->fields = calloc(FIELDS_MAX, sizeof(*meta->fields));
    if (!meta->fields)
        return from_no_memory(file);
    while (from_words_peek(&r.words))
        read_entry(&r);
    check_meta(&r);
    if (r.words.wrong)
        return from_wrong(file, "damaged .meta file at byte %zu: %s", (size_t)(r.words.at - text),
                          r.words.wrong);
    return 0;
}

/* Returns true if the file has the whole array. */
static bool is_whole(const struct meta *meta)
{
    for (int i = 0; i < 3 * meta->dimensions; i += 3)
        if (meta->list[i + 1] != 1 || meta->list[i + 2] != meta->list[i])
            return false;
    return true;
}

/* Sets the type and the shape of a variable with some records. Several are its first dimension.
   Returns false if it has too many dimensions. */
static bool describe_array(struct from_variable *variable, const struct meta *meta, int64_t records)
{
    variable->size = meta->size;
    variable->etype = from_number('f', meta->size);
    if (records > 1)
        variable->shape[variable->dimensions++] = records;
    for (int d = meta->dimensions - 1; d >= 0; d--) {
        if (variable->dimensions == FROM_DIMENSIONS_MAX)
            return false;
        variable->shape[variable->dimensions++] = meta->list[3 * d];
    }
    return true;
}

/*
 * Pieces: if each process writes its own part of an array, each piece has a .meta and a .data file,
 * NAME.001.002.meta. The pieces are members (viewspec(5)) of the whole array.
 */

#define SUFFIX ".meta"

struct piece {
    const char *path; /* of the .meta file */
    int64_t bytes;    /* size of that file */
    /* The position of the piece in the whole, in C order. */
    int64_t starts[FROM_DIMENSIONS_MAX], sizes[FROM_DIMENSIONS_MAX];
};

struct pieces {
    struct from_file *file;  /* with the path of the piece that was opened, */
    const struct meta *meta; /* and the contents of its .meta file */
    /* all records of the array; values in the representation of the files */
    struct from_variable whole;
    struct from_paths paths; /* of the .meta files */
    struct piece *all;
    size_t count;
};

/* Returns the position of ".NNN", with three digits or more, that ends at end; 0 if there is
   none. */
static size_t number_before(const char *name, size_t end)
{
    size_t at = end;

    while (at && isdigit((unsigned char)name[at - 1]))
        at--;
    return at && end - at >= 3 && name[at - 1] == '.' ? at - 1 : 0;
}

/* Returns the length of NAME in the path of a .meta file with such numbers; 0 if it has none. */
static size_t piece_name(const char *path)
{
    size_t end = from_has_suffix(path, SUFFIX) ? strlen(path) - strlen(SUFFIX) : 0;

    end = number_before(path, end);
    return number_before(path, end);
}

/* Returns true if entry is the .meta file of a piece of name. */
static bool is_piece(const char *entry, const char *name)
{
    size_t length = strlen(name);

    return length && !strncmp(entry, name, length) && piece_name(entry) == length;
}

static bool is_same_array(const struct meta *one, const struct meta *other)
{
    if (one->dimensions != other->dimensions || one->size != other->size ||
        one->records != other->records || one->field_count != other->field_count)
        return false;
    for (int i = 0; i < 3 * one->dimensions; i += 3)
        if (one->list[i] != other->list[i])
            return false;
    for (int64_t i = 0; i < one->field_count; i++)
        if (strcmp(one->fields[i], other->fields[i]) != 0)
            return false;
    return true;
}

/* Describes the array with all records. */
static int make_whole(struct pieces *pieces)
{
    struct from_variable *whole = &pieces->whole;
    const char *path = pieces->file->path;

    if (!describe_array(whole, pieces->meta, pieces->meta->records))
        return from_wrong(pieces->file, "more than %d dimensions", FROM_DIMENSIONS_MAX);
    whole->name = strndup(path, piece_name(path));
    return whole->name && whole->etype ? 0 : from_no_memory(pieces->file);
}

/* Sets the position of the piece from its .meta file. */
static void place_piece(struct piece *piece, const struct meta *meta)
{
    int at = 0;

    if (meta->records > 1)
        piece->sizes[at++] = meta->records;
    for (int d = meta->dimensions - 1; d >= 0; d--, at++) {
        piece->starts[at] = meta->list[3 * d + 1] - 1;
        piece->sizes[at] = meta->list[3 * d + 2] - piece->starts[at];
    }
}

/* Implements from_parser: reads the .meta file of the next piece. */
static int read_piece(struct from_file *file, const struct from_bytes *head, void *argument)
{
    const struct pieces *pieces = argument;
    struct piece *piece = &pieces->all[pieces->count];
    struct meta own = {0};
    int code = read_meta(head, file, &own);

    if (!code) {
        piece->bytes = head->size;
        place_piece(piece, &own);
        if (!is_same_array(&own, pieces->meta))
            code = from_wrong(file, "its array is not that of %s", pieces->file->path);
    }
    free(own.fields);
    return code;
}

/* Reads the .meta files of all pieces. */
static int read_all(struct pieces *pieces)
{
    struct from_file *file = pieces->file;
    struct from_paths *paths = &pieces->paths;

    if (from_paths_find(paths, file, pieces->whole.name, is_piece))
        return file->error->code;
    pieces->all = calloc(paths->count + 1, sizeof(*pieces->all));
    if (!pieces->all)
        return from_no_memory(file);
    for (; !file->error->code && pieces->count < paths->count; pieces->count++) {
        struct from_file own = {
            .error = file->error, .format = file->format, .path = paths->list[pieces->count]};
        pieces->all[pieces->count].path = own.path;
        from_head(&own, read_piece, pieces);
    }
    return file->error->code;
}

/* Compares pieces by their positions in the whole, then by their names. */
static int compare_starts(const void *a, const void *b)
{
    const struct piece *one = a, *other = b;

    for (int d = 0; d < FROM_DIMENSIONS_MAX; d++)
        if (one->starts[d] != other->starts[d])
            return one->starts[d] < other->starts[d] ? -1 : 1;
    return strcmp(one->path, other->path);
}

/* Returns true if that piece is the part of its rank in a grid of blocks of the first piece's
   size. */
static bool is_in_grid(const struct pieces *pieces, const struct from_grid *grid, size_t number)
{
    const struct piece *first = pieces->all, *piece = &pieces->all[number];
    int64_t rest = (int64_t)number;

    for (int d = grid->dimensions - 1; d >= 0; d--) {
        int64_t at = rest % grid->psizes[d] * first->sizes[d], left = pieces->whole.shape[d] - at;
        if (piece->starts[d] != at ||
            piece->sizes[d] != (left < first->sizes[d] ? left : first->sizes[d]))
            return false;
        rest /= grid->psizes[d];
    }
    return true;
}

/* Finds a grid of blocks in which the pieces, in order, are the parts of the ranks. Returns
   false if there is none. */
static bool find_grid(const struct pieces *pieces, struct from_grid *grid)
{
    int64_t count = (int64_t)pieces->count;

    *grid = (struct from_grid){.dimensions = pieces->whole.dimensions, .ranks = 1};
    for (int d = 0; d < grid->dimensions; d++) {
        int64_t size = pieces->all[0].sizes[d], parts = (pieces->whole.shape[d] - 1) / size + 1;
        if (parts > count / grid->ranks)
            return false;
        grid->ranks *= parts;
        grid->psizes[d] = parts;
        grid->distributions[d] = parts > 1 ? FROM_BLOCK : FROM_NONE;
        grid->blocks[d] = parts > 1 ? size : 0;
    }
    if (grid->ranks != count)
        return false;
    for (size_t i = 0; i < pieces->count; i++)
        if (!is_in_grid(pieces, grid, i))
            return false;
    return true;
}

static bool pieces_overlap(const struct piece *one, const struct piece *other, int dimensions)
{
    for (int d = 0; d < dimensions; d++)
        if (one->starts[d] >= other->starts[d] + other->sizes[d] ||
            other->starts[d] >= one->starts[d] + one->sizes[d])
            return false;
    return true;
}

/* Checks that each value of the whole is in exactly one piece. */
static int check_cover(const struct pieces *pieces)
{
    struct vs_error *error = pieces->file->error;
    int64_t found = 0, wanted = from_elements(&pieces->whole);

    for (size_t i = 0; i < pieces->count; i++) {
        const struct piece *piece = &pieces->all[i];
        int64_t values = 1;
        for (size_t j = 0; j < i; j++)
            if (pieces_overlap(piece, &pieces->all[j], pieces->whole.dimensions))
                return from_fail(error, -EINVAL, piece->path, "its values overlap those of %s",
                                 pieces->all[j].path);
        for (int d = 0; d < pieces->whole.dimensions; d++)
            values *= piece->sizes[d];
        found += values;
    }
    if (found == wanted)
        return 0;
    return from_fail(error, -EINVAL, pieces->whole.name,
                     "tiles are missing: the %zu that exist have %" PRId64 " of %" PRId64 " values",
                     pieces->count, found, wanted);
}

/* Makes the view of pieces that do not form a grid: a subarray for each. */
static json_t *make_subarrays(const struct pieces *pieces)
{
    const struct from_variable *whole = &pieces->whole;
    json_t *list = json_array();

    for (size_t i = 0; i < pieces->count; i++) {
        const struct piece *piece = &pieces->all[i];
        json_array_append_new(
            list, json_pack("{s:{s:s, s:o, s:o, s:o, s:s}}", "filetype", "type", "subarray",
                            "sizes", from_sizes(whole->shape, whole->dimensions, 1), "subsizes",
                            from_sizes(piece->sizes, whole->dimensions, 1), "starts",
                            from_sizes(piece->starts, whole->dimensions, 0), "order", "C"));
    }
    return json_pack("{s:O, s:i, s:o}", "etype", whole->etype, "tiles", 1, "per_rank", list);
}

/* Fills in the members, and the .meta files as parts of the header. */
static int fill_file(const struct pieces *pieces, json_t *view)
{
    struct from_file *file = pieces->file;
    json_t *names = json_array();
    int failed = 0;

    for (size_t i = 0; i < pieces->count; i++) {
        const struct piece *piece = &pieces->all[i];
        int length = (int)(strlen(piece->path) - strlen(SUFFIX));
        failed |= json_array_append_new(names, json_sprintf("%.*s.data", length, piece->path));
        from_add_part(file, piece->path, 0, piece->bytes);
    }
    file->members = json_pack("{s:o, s:o}", "files", names, "view", view);
    if (failed || !file->members)
        from_fail_code(file->error, -ENOMEM, pieces->whole.name);
    return file->error->code;
}

/*
 * Finds the pieces beside the file, which has a numbered name, and whose .meta file has the
 * contents meta. Fills members and parts of file. Returns 0, or a negative errno with the file's
 * error filled if one is damaged or of another array, two have the same values, or values are
 * missing.
 */
static int find_pieces(struct from_file *file, const struct meta *meta)
{
    struct pieces pieces = {.file = file, .meta = meta};
    struct from_grid grid;
    json_t *view = NULL;
    int code = make_whole(&pieces);

    if (!code)
        code = read_all(&pieces);
    if (!code && pieces.count == 0) /* they have been removed since meta was read */
        code = from_fail_code(file->error, -ENOENT, file->path);
    if (!code) {
        qsort(pieces.all, pieces.count, sizeof(*pieces.all), compare_starts);
        if (find_grid(&pieces, &grid))
            view = from_view(&pieces.whole, &grid, file->error);
        else if (!check_cover(&pieces))
            view = make_subarrays(&pieces);
        code = file->error->code ? file->error->code : fill_file(&pieces, view);
    }
    from_paths_free(&pieces.paths);
    free(pieces.all);
    free(pieces.whole.name);
    json_decref(pieces.whole.etype);
    return code;
}

/* The format. */

/* Adds a variable with some records, beginning with number first. */
static void add_records(const struct meta *meta, struct from_file *file, const char *name,
                        size_t length, int64_t first, int64_t records)
{
    struct from_variable *variable = from_add(file, name, length);
    int64_t values = 1;

    if (variable == NULL)
        return;
    if (!describe_array(variable, meta, records))
        from_refuse(variable, "more than %d dimensions", FROM_DIMENSIONS_MAX);
    variable->datarep = "big-endian";
    for (int d = 0; d < meta->dimensions; d++)
        values *= meta->list[3 * d];
    variable->at = first * values * variable->size;
    if (!is_whole(meta) && !file->members)
        from_refuse(variable, "the file has a part of the array only, and is not named as a tile "
                              "is (NAME.001.001.meta)");
}

/* Adds a variable for each field if they have names; else one with that name. */
static void add_variables(const struct meta *meta, struct from_file *file, const char *name,
                          size_t length)
{
    if (meta->field_count != meta->records)
        add_records(meta, file, name, length, 0, meta->records);
    else
        for (int64_t i = 0; i < meta->records; i++)
            add_records(meta, file, meta->fields[i], strlen(meta->fields[i]), i, 1);
}

static bool is_mitgcm(const struct from_bytes *head)
{
    return from_has_suffix(head->path, SUFFIX) && memmem(head->bytes, head->length, "dimList", 7);
}

/* Finds NAME.meta, or the first tile of NAME, because programs for such files accept NAME. */
static char *find_meta(const char *name)
{
    struct from_paths paths = {0};
    char *path = NULL;

    if (asprintf(&path, "%s" SUFFIX, name) < 0)
        return NULL;
    if (!access(path, F_OK))
        return path;
    free(path);
    from_paths_find(&paths, NULL, name, is_piece);
    path = paths.count ? strdup(paths.list[0]) : NULL;
    from_paths_free(&paths);
    return path;
}

/* Describes the .data file beside the .meta file, or the pieces that belong together. */
static int describe_data(struct from_file *file, int64_t bytes, const struct meta *meta)
{
    size_t length = strlen(file->path) - strlen(SUFFIX), piece = piece_name(file->path);
    const char *name = basename(file->path);

    if (piece && !is_whole(meta)) {
        if (find_pieces(file, meta))
            return file->error->code;
        length = piece;
    } else {
        from_add_part(file, NULL, 0, bytes);
        if (asprintf(&file->data, "%.*s.data", (int)length, file->path) < 0) {
            file->data = NULL;
            from_no_memory(file);
        }
    }
    add_variables(meta, file, name, (size_t)(file->path + length - name));
    return file->error->code;
}

static int parse_mitgcm(const struct from_bytes *head, struct from_file *file)
{
    struct meta meta;
    int code = read_meta(head, file, &meta);

    if (!code)
        code = describe_data(file, head->size, &meta);
    free(meta.fields);
    return code;
}

const struct from_format from_mitgcm = {
    .name = ".meta",
    .is_it = is_mitgcm,
    .read = parse_mitgcm,
    .find = find_meta,
};
