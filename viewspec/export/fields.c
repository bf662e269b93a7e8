/* SPDX-License-Identifier: MIT */
#include "global_private.h"

#include <errno.h>
#include <stdio.h>

/* The fields of an etype. */

/* The most values that are listed for the fields of an etype together, and the most fields. */
#define VALUES_MAX ((int64_t)1 << 18)
#define FIELDS_MAX 1024
/* Length of a field's name, including nesting. */
#define NAME_SIZE 256

/* Positions in the etype at which instances of a record begin. */
struct bases {
    const int64_t *position;
    int64_t count;
};

/* Returns the positions of the instances of part number index of a record. NULL: out of memory. */
static int64_t *positions_of(const struct vs_fields *fields, const struct bases *bases,
                             const struct vs_record *record, int64_t index)
{
    const struct vs_repeat *part = &record->parts[index];
    int64_t *positions =
        vs_arena_array(fields->arena, bases->count * part->count, sizeof(*positions));

    for (int64_t i = 0; positions && i < bases->count * part->count; i++)
        positions[i] =
            bases->position[i / part->count] + record->file[index] + i % part->count * part->file;
    return positions;
}

/* Returns the etype that has only values of the basic type, at the given positions. */
static json_t *etype_of(const struct vs_fields *fields, const struct vs_basic *basic, int64_t size,
                        const struct bases *values)
{
    const struct vs_type *etype = fields->etype;
    json_t *lengths = json_array(), *displacements = json_array(), *types = json_array();
    int64_t length = 0, next = 0;

    for (int64_t i = 0; i < values->count; i++) {
        int64_t displacement = vs_node_seek(etype->node, values->position[i]);

        if (i > 0 && displacement == next) {
            length++;
        } else {
            if (i > 0)
                json_array_append_new(lengths, json_integer(length));
            json_array_append_new(displacements, json_integer(displacement));
            json_array_append_new(types, json_string(basic->name));
            length = 1;
        }
        next = displacement + size;
    }
    json_array_append_new(lengths, json_integer(length));
    return json_pack("{s:s, s:I, s:I, s:{s:s, s:o, s:o, s:o}}", "type", "resized", "lb",
                     (json_int_t)etype->lb, "extent", (json_int_t)(etype->ub - etype->lb),
                     "oldtype", "type", "struct", "blocklengths", lengths, "displacements",
                     displacements, "types", types);
}

static int add(struct vs_fields *fields, const char *name, const struct vs_repeat *part,
               const struct bases *values)
{
    fields->fields[fields->count] =
        (struct vs_global_field){.name = vs_arena_text(fields->arena, name),
                                 .basic = part->basic,
                                 .values = values->count * fields->etypes};
    fields->etypes_json[fields->count] = etype_of(fields, part->basic, part->file, values);
    return fields->etypes_json[fields->count++] && !fields->arena->failure ? 0 : -ENOMEM;
}

/* Returns the number of fields of a record, or more than FIELDS_MAX. */
static int64_t count_fields(const struct vs_record *record)
{
    int64_t count = 0;

    for (int64_t i = 0; i < record->count && count <= FIELDS_MAX; i++)
        count += record->parts[i].basic ? 1 : count_fields(record->parts[i].record);
    return count;
}

/* Adds the fields of a record, whose instances are at bases. Types nest 64 levels deep at most. */
static int add_record(struct vs_fields *fields, const char *prefix, const struct vs_record *record,
                      const struct bases *bases)
{
    int error = 0;

    for (int64_t i = 0; i < record->count && error == 0; i++) {
        const struct vs_repeat *part = &record->parts[i];
        struct bases inner = {.count = bases->count * part->count};
        char name[NAME_SIZE];

        if (part->count > VALUES_MAX || inner.count > VALUES_MAX - fields->listed ||
            snprintf(name, sizeof(name), "%s%sf%lld", prefix, *prefix ? "_" : "", (long long)i) >=
                NAME_SIZE)
            return -E2BIG;
        inner.position = positions_of(fields, bases, record, i);
        if (inner.position == NULL)
            return -ENOMEM;
        fields->listed += inner.count;
        error = part->basic ? add(fields, name, part, &inner)
                            : add_record(fields, name, part->record, &inner);
    }
    return error;
}

int vs_fields_find(struct vs_fields *fields)
{
    const struct vs_repeat *elements = &fields->etype->elements;
    int64_t room = elements->basic ? 1 : count_fields(elements->record), *position;
    struct bases bases;
    int error;

    if (room > FIELDS_MAX)
        return -E2BIG;
    fields->fields = vs_arena_array(fields->arena, room, sizeof(*fields->fields));
    fields->etypes_json = vs_arena_array(fields->arena, room, sizeof(json_t *));
    if (fields->fields == NULL || fields->etypes_json == NULL)
        return -ENOMEM;
    if (elements->basic) { /* the only field, whose etype is the view's own */
        fields->fields[0] = (struct vs_global_field){
            .name = "", .basic = elements->basic, .values = elements->count * fields->etypes};
        fields->count = 1;
        return 0;
    }
    if (elements->count > VALUES_MAX)
        return -E2BIG;
    position = vs_arena_array(fields->arena, elements->count, sizeof(*position));
    for (int64_t i = 0; position && i < elements->count; i++)
        position[i] = i * elements->file;
    bases = (struct bases){position, elements->count};
    error = position ? add_record(fields, "", elements->record, &bases) : -ENOMEM;
    if (error) {
        for (int64_t i = 0; i < fields->count; i++)
            json_decref(fields->etypes_json[i]);
        fields->count = 0;
    }
    return error;
}
