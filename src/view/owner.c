/* SPDX-License-Identifier: MIT */
#include "view.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/store_layers.h"
#include "viewspec/base/integer.h"
#include "viewspec/base/list.h"
#include "viewspec/members/members.h"
#include "viewspec/types/ranks.h"

/* The number of ranks that a thread takes at a time. */
#define PORTION     4096
#define MAX_THREADS 16

/* The search in one view, shared by the threads. */
struct search {
    struct vs_owner_query query;
    int64_t ranks;
    _Atomic int64_t next; /* first rank that no thread has taken yet */
    atomic_bool stop;
    const char *member; /* the member that has the byte: the end of each line */
    pthread_mutex_t lock;
    struct vs_owner *found; /* guarded by lock; so are the next ones */
    size_t count, room;
    struct vs_error error;
};

/* Returns false if out of memory. */
static bool keep_owner(struct search *search, const struct vs_owner *owner)
{
    bool room;

    pthread_mutex_lock(&search->lock);
    room = VS_LIST_ROOM(search->found, search->count, search->room);
    if (room)
        search->found[search->count++] = *owner;
    pthread_mutex_unlock(&search->lock);
    return room;
}

static void fail_search(struct search *search, const struct vs_error *error)
{
    pthread_mutex_lock(&search->lock);
    if (!search->error.code)
        search->error = *error;
    pthread_mutex_unlock(&search->lock);
    search->stop = true;
}

static void search_portion(struct search *search, int64_t from, int64_t to)
{
    struct vs_error error = {0};
    struct vs_owner owner;

    while (vs_owner_next(&search->query, from, to, &owner, &error) > 0) {
        from = owner.rank + 1;
        if (!keep_owner(search, &owner)) {
            error = (struct vs_error){.code = -ENOMEM, .reason = "Cannot allocate memory"};
            break;
        }
    }
    if (error.code)
        fail_search(search, &error);
}

static bool take_portion(struct search *search)
{
    int64_t from = atomic_fetch_add(&search->next, PORTION);

    if (search->stop || from >= search->ranks)
        return false;
    search_portion(search, from, vs_min(search->ranks, from + PORTION));
    return true;
}

static void *find_owners(void *argument)
{
    while (take_portion(argument))
        ;
    return NULL;
}

/* Searches in this thread, and starts more if there is enough to do. */
static void search_ranks(struct search *search, int processors)
{
    pthread_t threads[MAX_THREADS];
    struct view_progress progress;
    int count = 0;

    view_progress_start(&progress, true, "ranks", search->ranks);
    while (count + 1 < processors && count < MAX_THREADS && search->ranks / PORTION > count + 1 &&
           !pthread_create(&threads[count], NULL, find_owners, search))
        count++;
    while (take_portion(search))
        view_progress_step(&progress, search->next);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    view_progress_end(&progress);
}

static int by_rank(const void *left, const void *right)
{
    const struct vs_owner *a = left, *b = right;

    return vs_compare(a->rank, b->rank);
}

static void print_owner(const struct search *search, int64_t rank, int64_t offset)
{
    printf("%s\t%" PRId64 "\t%" PRId64 "%s\n", view_label(search->query.spec, search->query.index),
           rank, offset, search->member);
}

/* Searches a view that all ranks share once, and prints the result for each of them. */
static int common_view(struct search *search)
{
    struct vs_error error = {0};
    struct vs_owner owner;
    int result = vs_owner_next(&search->query, 0, 1, &owner, &error);

    if (result < 0)
        return view_spec_failed(&error);
    for (int64_t rank = 0; result && rank < search->ranks && !ferror(stdout); rank++)
        print_owner(search, rank, owner.offset);
    return VIEW_DONE;
}

static int search_view(const struct view_args *args, const struct vs_spec *spec, size_t index,
                       int64_t file_size, const char *member)
{
    struct search search = {
        .query = {.spec = spec,
                  .index = index,
                  .displacement = args->place,
                  .file_size = file_size},
        .ranks = vs_spec_ranks(spec),
        .member = member,
        .lock = PTHREAD_MUTEX_INITIALIZER,
    };
    int status = VIEW_DONE;

    if (vs_spec_view_is_common(spec, index))
        return common_view(&search);
    search_ranks(&search, (int)sysconf(_SC_NPROCESSORS_ONLN));
    if (search.error.code)
        status = view_spec_failed(&search.error);
    else if (search.count > 1)
        qsort(search.found, search.count, sizeof(*search.found), by_rank);
    for (size_t i = 0; !status && i < search.count && !ferror(stdout); i++)
        print_owner(&search, search.found[i].rank, search.found[i].offset);
    free(search.found);
    return status;
}

/* Formats "\tMEMBER\tDISPLACEMENT" of the byte at place; "" if there is only one file. */
static int find_member(const struct vs_spec *spec, int64_t place, char *text, size_t size)
{
    struct mpiio_member_place found;
    struct mpiio_store *store;
    int status, error;

    text[0] = '\0';
    if (!vs_spec_members(spec))
        return VIEW_DONE;
    status = view_open_file(spec, O_RDONLY, &store);
    if (status)
        return status;
    error = mpiio_assembled_find(mpiio_store_file(store), place, &found);
    if (error)
        status = view_failed(NULL, error);
    else if (found.member < 0)
        snprintf(text, size, "\t-\t-");
    else
        snprintf(text, size, "\t%" PRId64 "\t%" PRId64, found.member, found.displacement);
    mpiio_store_close(store);
    return status;
}

static int run_owner(const struct view_args *args, const struct vs_spec *spec)
{
    struct vs_error why = {0};
    int64_t file_size = view_file_size(spec, &why);
    int status = VIEW_DONE;
    char member[64] = "";

    if (file_size == -ENOENT && !why.code) {
        file_size = -1;
    } else if (file_size < 0) {
        return view_file_failed(spec, file_size, &why);
    } else if (args->place >= file_size) {
        view_message("%s: displacement %" PRId64 " is behind the end of the file (%" PRId64
                     " bytes)",
                     vs_spec_file(spec), args->place, file_size);
        return VIEW_DONE;
    }
    if (file_size >= 0)
        status = find_member(spec, args->place, member, sizeof(member));
    for (size_t i = 0; i < vs_spec_view_count(spec) && !status; i++)
        status = search_view(args, spec, i, file_size, member);
    return status;
}

const struct view_command view_owner = {
    .name = "owner",
    .options = VIEW_TAKES_PLACE | VIEW_NEEDS_NO_FILE,
    .run = run_owner,
    .summary = "whose slices hold a byte of the file",
    .help =
        "Usage: mpiio-view owner SPEC DISP\n"
        "Prints a line for each slice that holds the file's byte at displacement DISP: view,\n"
        "rank and slice offset, separated by tabs. The view is - where it has no name. Nothing\n"
        "is printed where no slice holds the byte. Where the file is not there, its end sets no\n"
        "limit. Where it is assembled from members, the member's number and the displacement in\n"
        "it follow; - stands for both in a hole.\n"
        "\n"
        "Examples:\n"
        "  mpiio-view owner heat.json 4096\n"
        "  mpiio-view owner heat.json 1G\n",
};
