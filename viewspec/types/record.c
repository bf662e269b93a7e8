/* SPDX-License-Identifier: MIT */
#include <stdbool.h>

#include "record.h"

struct vs_repeat vs_repeat_times(struct vs_arena *arena, int64_t count, const struct vs_repeat *old)
{
    if (count < 1 || !old->count)
        return (struct vs_repeat){0};
    struct vs_repeat repeat = *old;
    repeat.count = vs_mul(arena, count, old->count);
    vs_mul(arena, repeat.count, repeat.native);
    vs_mul(arena, repeat.count, repeat.file);
    return repeat;
}

static bool same_thing(const struct vs_repeat *a, const struct vs_repeat *b)
{
    return a->basic == b->basic && a->record == b->record;
}

/* Removes entries of list without data, and merges neighbours. Returns how many are left. */
static int64_t merge(struct vs_arena *arena, int64_t count, struct vs_repeat *list)
{
    int64_t n = 0;
    for (int64_t i = 0; i < count; i++)
        if (n && list[i].count && same_thing(&list[n - 1], &list[i]))
            list[n - 1].count = vs_add(arena, list[n - 1].count, list[i].count);
        else if (list[i].count)
            list[n++] = list[i];
    return n;
}

struct vs_repeat vs_repeat_list(struct vs_arena *arena, int64_t count, struct vs_repeat *list)
{
    struct vs_repeat none = {0};
    int64_t n = merge(arena, count, list);
    if (n < 2)
        return n ? vs_repeat_times(arena, 1, &list[0]) : none;
    struct vs_record *record = vs_arena_alloc(arena, sizeof(*record));
    int64_t *native = vs_arena_array(arena, n + 1, sizeof(*native));
    int64_t *file = vs_arena_array(arena, n + 1, sizeof(*file));
    if (record == NULL || native == NULL || file == NULL)
        return none;
    for (int64_t i = 0; i < n; i++) {
        native[i + 1] = vs_add(arena, native[i], vs_mul(arena, list[i].count, list[i].native));
        file[i + 1] = vs_add(arena, file[i], vs_mul(arena, list[i].count, list[i].file));
    }
    *record = (struct vs_record){n, list, native, file};
    return (struct vs_repeat){.count = 1, .native = native[n], .file = file[n], .record = record};
}
