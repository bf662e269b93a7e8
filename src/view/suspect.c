/* SPDX-License-Identifier: MIT */
#include "survey.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "core/store_layers.h"
#include "from/formats.h"
#include "viewspec/types/byte_order.h"
#include "viewspec/element.h"
#include "viewspec/base/integer.h"

/* Signs that a view is not meant for its file. */

/*
 * Limits of the samples, so that any file on a slow disk takes a moment only. Each read fills a
 * window.
 */
#define WINDOW   4096
#define READS    256 /* for one question */
#define RANKS    8
#define PLACES   8   /* for each of these ranks */
#define LENGTH   512 /* bytes of the slice at each place */
#define SPOTS    32  /* of an array */
#define IN_A_ROW 8   /* consecutive values at each spot */

struct look {
    const struct view_survey *survey;
    const char *view;
    struct mpiio_store *store;
    int reads;          /* remaining reads */
    int64_t begin, end; /* the part of the file in the window */
    unsigned char window[WINDOW];
};

/* Returns size bytes of the file, at most 8; NULL if they cannot be read or the limit of reads
   is reached. */
static const unsigned char *bytes_at(struct look *look, int64_t displacement, int64_t size)
{
    if (displacement < look->begin || displacement + size > look->end) {
        if (look->reads-- <= 0 || displacement < 0 || displacement > look->survey->file_size - size)
            return NULL;
        int64_t got = mpiio_store_read_file(look->store, look->window, WINDOW, displacement);
        look->begin = displacement;
        look->end = displacement + (got > 0 ? got : 0);
        if (got < size)
            return NULL;
    }
    return look->window + (displacement - look->begin);
}

/* Finds the byte order of a representation. Returns false if it is the user's own. */
static bool byte_order(const struct vs_view_facts *facts, bool *big)
{
    enum vs_datarep order = facts->datarep == VS_NATIVE ? VS_NATIVE_ORDER : facts->datarep;

    *big = order == VS_EXTERNAL32 || order == VS_BIG_ENDIAN;
    return facts->datarep != VS_USER;
}

/* Returns the usual name of the other byte order: "native" if it is the machine's. */
static const char *other_order(bool big)
{
    if (big != (VS_NATIVE_ORDER == VS_BIG_ENDIAN))
        return "native";
    return big ? "little-endian" : "big-endian";
}

/* Returns true for numbers of 4 or 8 bytes, whose magnitude can be judged. */
static bool is_number(const struct vs_basic *basic, int64_t size)
{
    return (size == 4 || size == 8) && !basic->extended &&
           (basic->kind == VS_FLOAT || basic->kind == VS_INTEGER || basic->kind == VS_UNSIGNED);
}

/* Returns true if a value has a usual magnitude. Numbers made of wrong bytes have all magnitudes
   equally often. */
static bool is_usual(const struct vs_basic *basic, int64_t size, uint64_t bits)
{
    int exponent = size == 4 ? (int)(bits >> 23 & 0xff) - 127 : (int)(bits >> 52 & 0x7ff) - 1023;
    int64_t integer = size == 4 ? (int32_t)(uint32_t)bits : (int64_t)bits;

    if (basic->kind == VS_FLOAT)
        return size == 4 ? exponent > -40 && exponent < 40 : exponent > -130 && exponent < 130;
    if (basic->kind == VS_UNSIGNED && integer < 0)
        return false;
    return integer >> (6 * size) == 0 || integer >> (6 * size) == -1;
}

struct tally {
    /* numbers of non-zero values, and of those with usual magnitude */
    int64_t count, as_is, swapped;
};

static void add_elements(struct look *look, const struct vs_map *map, const struct vs_elements *run,
                         bool big, struct tally *tally)
{
    int64_t size = run->file / run->basic->parts;
    const unsigned char *bytes;

    if (!is_number(run->basic, size))
        return;
    for (int64_t i = 0; i < run->count && i < LENGTH; i++) {
        bytes = bytes_at(look, vs_map_displacement(map, run->position + i * run->file), size);
        uint64_t value = bytes ? from_load(bytes, size, big) : 0;
        if (!value)
            continue;
        tally->count++;
        tally->as_is += is_usual(run->basic, size, value);
        tally->swapped += is_usual(run->basic, size, from_load(bytes, size, !big));
    }
}

/* Adds samples of the whole slice. */
static void add_slice(struct look *look, const struct vs_view *view, bool big, struct tally *tally)
{
    const struct vs_view_facts *facts = vs_view_facts(view);
    int64_t size = vs_view_packed_size(view, look->survey->file_size);
    struct vs_element_cursor cursor;
    struct vs_elements run;

    for (int64_t place = 0; place < PLACES; place++) {
        int64_t offset = size / facts->etype_size / PLACES * place * facts->etype_size;
        if (offset >= size)
            return;
        vs_elements_start(&cursor, view, offset, LENGTH < size - offset ? LENGTH : size - offset);
        while (vs_elements_next(&cursor, &run))
            add_elements(look, vs_view_map(view), &run, big, tally);
    }
}

/* Returns true, after a warning, if values look as if their bytes were in the other order. */
static bool looks_swapped(struct look *look, const struct vs_spec *spec, size_t index)
{
    int64_t ranks = look->survey->ranks;
    struct tally tally = {0};
    bool big;

    if (!byte_order(vs_view_facts(look->survey->first), &big))
        return false;
    look->reads = READS;
    for (int64_t i = 0; i < RANKS && i < ranks; i++) {
        struct vs_view *view;
        struct vs_error error = {0};
        int64_t rank = ranks <= RANKS ? i : ranks / RANKS * i;
        if (vs_spec_view(spec, index, rank, &view, &error))
            return false;
        add_slice(look, view, big, &tally);
        vs_view_unref(view);
    }
    if (tally.count < 32 || tally.as_is * 10 > tally.count * 7 ||
        tally.swapped * 100 < tally.count * 97)
        return false;
    view_message("warning: %s: the byte order looks wrong: of %" PRId64
                 " values %d %% are of usual size, with their bytes reversed %d %% "
                 "(is \"datarep\" \"%s\"?)",
                 look->view, tally.count, (int)(tally.as_is * 100 / tally.count),
                 (int)(tally.swapped * 100 / tally.count), other_order(big));
    return true;
}

/* Returns the value of element number index of the array, or NaN if it cannot be read. */
static double value_at(struct look *look, const struct vs_basic *basic, int64_t index, bool big)
{
    const struct vs_view_facts *facts = vs_view_facts(look->survey->first);
    int64_t size = facts->array->element;
    int64_t begin = vs_map_facts(vs_view_map(look->survey->first))->displacement;
    const unsigned char *bytes = bytes_at(look, begin + index * size, size);
    uint64_t bits = bytes ? from_load(bytes, size, big) : 0;
    float single;
    double value;

    if (bytes == NULL)
        return NAN;
    if (basic->kind == VS_FLOAT && size == 4) {
        memcpy(&single, &(uint32_t){(uint32_t)bits}, sizeof(single));
        return (double)single;
    }
    if (basic->kind == VS_FLOAT) {
        memcpy(&value, &bits, sizeof(value));
        return value;
    }
    return size == 4 ? (double)(int32_t)(uint32_t)bits : (double)(int64_t)bits;
}

/* Returns the mean difference of values that are `distance` elements apart. */
static double difference_of(struct look *look, const struct vs_basic *basic, int64_t room,
                            int64_t distance, bool big)
{
    double sum = 0;

    look->reads = READS;
    for (int64_t spot = 0; spot < SPOTS; spot++) {
        int64_t start = (int64_t)((double)room / SPOTS * (double)spot);
        double here[IN_A_ROW];
        for (int i = 0; i < IN_A_ROW; i++)
            here[i] = value_at(look, basic, start + i, big);
        for (int i = 0; i < IN_A_ROW; i++)
            sum += fabs(value_at(look, basic, start + distance + i, big) - here[i]);
    }
    return sum / (SPOTS * IN_A_ROW);
}

/*
 * Neighbors in a smooth field have similar values. The array's order is wrong if neighbors in the
 * other order are similar, but those in this order are not, and neither are elements half as far
 * apart.
 */
static void look_at_order(struct look *look)
{
    const struct vs_view_facts *facts = vs_view_facts(look->survey->first);
    const struct vs_array *array = facts->array;
    int64_t row, column, room = 1;
    double other, own, half;
    bool big;

    if (array == NULL || array->dimensions < 2 || !facts->basic || facts->basic->parts != 1 ||
        facts->etype_file_size != array->element || !is_number(facts->basic, array->element) ||
        !byte_order(facts, &big))
        return;
    row = array->sizes[array->fortran ? 0 : array->dimensions - 1];
    column = array->sizes[array->fortran ? array->dimensions - 1 : 0];
    for (int64_t i = 0; i < array->dimensions; i++)
        if (__builtin_mul_overflow(room, array->sizes[i], &room))
            return;
    room -= vs_max(row, column) + IN_A_ROW;
    if (row == column || column < 4 || room <= 0)
        return;
    other = difference_of(look, facts->basic, room, column, big);
    own = difference_of(look, facts->basic, room, row, big);
    half = difference_of(look, facts->basic, room, column / 2, big);
    if (isfinite(other) && own > 2 * other && half > 2 * other)
        view_message("warning: %s: the array's order looks wrong: values that are %" PRId64
                     " elements apart differ less than those %" PRId64
                     " apart (is \"order\" \"%s\"?)",
                     look->view, column, row, array->fortran ? "C" : "Fortran");
}

/* Implements read of struct from_source for from_find_markers. */
static int64_t read_marker(void *self, void *buffer, size_t length, int64_t at)
{
    const unsigned char *bytes = bytes_at(self, at, (int64_t)length);

    if (bytes == NULL)
        return -EIO;
    memcpy(buffer, bytes, length);
    return (int64_t)length;
}

static bool look_for_records(struct look *look)
{
    int64_t begin = vs_map_facts(vs_view_map(look->survey->first))->displacement;
    struct from_source source = {read_marker, look, look->survey->file_size};
    struct from_markers markers;
    struct from_record record;
    char parts[64] = "", hint[96];

    look->reads = READS;
    int records = from_find_markers(&source, begin, true, &markers, &record);
    if (!records)
        return false;
    if (record.subrecords > 1)
        snprintf(parts, sizeof(parts), ", in %" PRId64 " subrecords with markers of their own",
                 record.subrecords);
    if (record.subrecords > 1)
        snprintf(hint, sizeof(hint), "mpiio-view spec --from FILE joins them");
    else
        snprintf(hint, sizeof(hint),
                 "is \"disp\" %" PRId64 "? mpiio-view spec --from FILE lists the records",
                 begin + markers.width);
    view_message("warning: %s: a Fortran record seems to begin at displacement %" PRId64
                 ": %" PRId64 " bytes between two markers of %d%s%s%s (%s)",
                 look->view, begin, record.bytes, markers.width,
                 markers.big ? ", which are big-endian" : "", parts,
                 records > 1 ? ", and more records follow" : "", hint);
    return true;
}

/* Warns if the file does not consist of whole arrays. records is true if Fortran records explain
   that. */
static void look_at_array(const struct look *look, bool records)
{
    const struct view_survey *survey = look->survey;
    const struct vs_map_facts *map = vs_map_facts(vs_view_map(survey->first));
    int64_t room = survey->file_size - map->displacement, rest;

    /* Bytes after the last tile belong to something else. */
    room = vs_min(room, vs_mul_capped(map->tiles, map->tile_extent));
    if (!vs_view_facts(survey->first)->array || survey->extent_min != survey->extent_max ||
        map->tile_extent < 1 || room <= 0)
        return;
    rest = room % map->tile_extent;
    if (room < map->tile_extent)
        view_message("warning: %s: the file ends inside the array: it has %" PRId64
                     " of its %" PRId64 " bytes (are its sizes right?)",
                     look->view, room, map->tile_extent);
    else if (rest && map->displacement == 0 && !records && rest < map->tile_extent / 2)
        view_message("warning: %s: the file has %" PRId64 " bytes more than %s of %" PRId64
                     " bytes (a header? then \"disp\" is %" PRId64 ")",
                     look->view, rest, room / map->tile_extent == 1 ? "the array" : "whole arrays",
                     map->tile_extent, rest);
    else if (rest)
        view_message("warning: %s: the file has %" PRId64 " bytes more than %s of %" PRId64
                     " bytes behind displacement %" PRId64,
                     look->view, rest, room / map->tile_extent == 1 ? "the array" : "whole arrays",
                     map->tile_extent, map->displacement);
}

static void look_at_end(const struct look *look)
{
    const struct view_survey *survey = look->survey;

    if (survey->tails)
        view_message("warning: %s: the file ends inside an etype: its last %" PRId64
                     " bytes are in no slice of it",
                     look->view, view_survey_tail(survey));
    else if (survey->file == 0 && survey->tile_max > 0 && survey->file_size > 0)
        view_message("warning: %s: all slices are empty: the file has %" PRId64
                     " bytes, and the first etype begins at displacement %" PRId64,
                     look->view, survey->file_size, survey->begin);
}

void view_suspect(const struct view_survey *survey, const struct vs_spec *spec, size_t index,
                  const char *view, struct mpiio_store *store)
{
    struct look look = {.survey = survey, .view = view, .store = store};
    bool records = false;

    look_at_end(&look);
    if (survey->tile_max > 0 && survey->file_size > 0) {
        records = look_for_records(&look);
        if (!looks_swapped(&look, spec, index))
            look_at_order(&look);
    }
    look_at_array(&look, records);
}
