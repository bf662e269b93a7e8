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
    int64_t *position;
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

/* Cuts the values of one part at the given positions, which are overwritten, out of the etype. */
static bool cut_values(const struct vs_fields *fields, const struct vs_repeat *part,
                       const struct bases *values, struct vs_cut *cut)
{
    int64_t *lengths = vs_arena_array(fields->arena, values->count, sizeof(*lengths)), next = 0;

    *cut = (struct vs_cut){
        .basic = part->basic, .lengths = lengths, .displacements = values->position};
    for (int64_t i = 0; lengths && i < values->count; i++) {
        int64_t displacement = vs_node_seek(fields->etype->node, values->position[i]);

        if (i == 0 || displacement != next)
            values->position[cut->blocks++] = displacement;
        lengths[cut->blocks - 1]++;
        next = displacement + part->file;
    }
    return lengths != NULL;
}

static int add(struct vs_fields *fields, const char *name, const struct vs_repeat *part,
               const struct bases *values)
{
    fields->fields[fields->count] =
        (struct vs_global_field){.name = vs_arena_text(fields->arena, name),
                                 .basic = part->basic,
                                 .values = values->count * fields->etypes};
    return cut_values(fields, part, values, &fields->cuts[fields->count++]) &&
                   !fields->arena->failure
               ? 0
               : -ENOMEM;
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

    if (room > FIELDS_MAX)
        return -E2BIG;
    fields->fields = vs_arena_array(fields->arena, room, sizeof(*fields->fields));
    fields->cuts = vs_arena_array(fields->arena, room, sizeof(*fields->cuts));
    if (fields->fields == NULL || fields->cuts == NULL)
        return -ENOMEM;
    if (elements->basic) { /* the only field, which is the view's own etype */
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
    return position ? add_record(fields, "", elements->record, &bases) : -ENOMEM;
}
