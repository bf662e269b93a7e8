/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/process.h"
#include "viewspec/base/integer.h"
#include "viewspec/members/members.h"

/*
 * HDF5: one file, or one that HDF5's subfiling driver has distributed over several. A module lists
 * the contents.
 */

static const char signature[] = "\x89HDF\r\n\x1a\n";
#define SIGNATURE_LENGTH 8

/* Returns true for an HDF5 file. A user block of 512 bytes, or a power of two more, may precede
   its signature. */
static bool is_hdf5(const struct from_bytes *head)
{
    for (size_t at = 0; at + SIGNATURE_LENGTH <= head->length; at = at ? 2 * at : 512)
        if (!memcmp(head->bytes + at, signature, SIGNATURE_LENGTH))
            return true;
    return false;
}

/* Seconds of processor time for libhdf5 to list a file; intact files need a few seconds at most. */
#define CHILD_SECONDS 600

typedef int (*lister)(const struct from_source *source, struct from_file *file);

/* Lists the file in a child process first, because libhdf5 crashes on some damaged files. Fails if
   the child crashes. */
static int try_out(lister list_file, const struct from_source *source, struct from_file *file)
{
    static const struct rlimit none;
    const struct rlimit time = {CHILD_SECONDS, CHILD_SECONDS};
    /* otherwise the child's status may be discarded */
    void (*ignored)(int) = signal(SIGCHLD, SIG_DFL);
    pid_t child = fork();
    int status = 0, got;

    if (child < 0)
        return from_fail_code(file->error, -errno, file->path);
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        setrlimit(RLIMIT_CORE, &none);
        setrlimit(RLIMIT_CPU, &time);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setenv("LIBC_FATAL_STDERR_", "1", 1); /* keeps glibc from writing to the terminal */
        if (null >= 0 && dup2(null, STDERR_FILENO) >= 0)
            _exit((list_file(source, file), 0));
        _exit(1);
    }
    while ((got = waitpid(child, &status, 0)) < 0 && errno == EINTR)
        ;
    signal(SIGCHLD, ignored);
    if (got == child && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    if (got != child || !WIFSIGNALED(status))
        return from_fail(file->error, -EIO, file->path,
                         "the process that reads HDF5 files first has failed");
    return from_wrong(file, "damaged HDF5 file: libhdf5 crashes on it (%s)",
                      strsignal(WTERMSIG(status)));
}

/* Lists the contents of an HDF5 file whose bytes come from source, or if that is NULL from the file
   at its path. */
static int list_by_module(const struct from_source *source, struct from_file *file)
{
    char path[PATH_MAX];
    bool is_there = !mpiio_find_beside(MPIIO_HDF5_MODULE, "../from/mpiio-hdf5.so", path);
    void *module = is_there ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    lister module_list;

    if (module == NULL)
        return from_fail(file->error, -ENOTSUP, file->path, "an HDF5 file: %s",
                         is_there ? dlerror()
                                  : "this program was built without libhdf5 (install libhdf5-dev "
                                    "and build it again)");
    *(void **)&module_list = dlsym(module, FROM_HDF5_LIST);
    /* The module is never unloaded: libhdf5 has an exit handler. */
    if (module_list == NULL)
        return from_fail(file->error, -ENOTSUP, file->path, "%s", dlerror());
    if (try_out(module_list, source, file))
        return file->error->code;
    return module_list(source, file);
}

static int list_hdf5(const struct from_bytes *head, struct from_file *file)
{
    (void)head;
    return list_by_module(NULL, file);
}

const struct from_format from_hdf5 = {
    .name = "HDF5",
    .is_it = is_hdf5,
    .read = list_hdf5,
};

/* Subfiles. */

/*
 * HDF5's subfiling driver (HDF5 1.14) distributes a file over several, stripe by stripe,
 * cyclically. They are members of the whole file. FILE.h5.subfile_INODE.config describes them; it
 * is found for FILE.h5, too.
 */

#define SUFFIX ".config"

/* The whole file, as its config describes it. */
struct stripes {
    char *config; /* path of the config */
    int64_t bytes;
    char *folder; /* the folder of subfiles in it; NULL: none */
    int64_t stripe, count;
    struct from_paths paths; /* of the subfiles */
    int64_t size;            /* of the whole */
    int fd;                  /* of the subfile that was read last, or -1 */
    int64_t open;            /* index of that subfile */
};

/* Finding the config. */

static bool is_config(const struct from_bytes *head)
{
    return from_has_suffix(head->path, SUFFIX) &&
           memmem(head->bytes, head->length, "stripe_size=", 12);
}

/* Returns true if entry is the name of a config of base. */
static bool is_config_of(const char *entry, const char *base)
{
    static const char middle[] = ".subfile_";
    size_t length = strlen(base), number = length + strlen(middle);

    return !strncmp(entry, base, length) && !strncmp(entry + length, middle, strlen(middle)) &&
           isdigit((unsigned char)entry[number]) && from_has_suffix(entry, SUFFIX);
}

/* Returns the config of FILE.h5, which has its inode number, or is the only one: a new string,
   or NULL. */
static char *find_config(const char *path)
{
    char *own = NULL, *found = NULL;
    struct from_paths paths = {0};
    struct stat st;

    if (stat(path, &st) || asprintf(&own, "%s.subfile_%ju" SUFFIX, path, (uintmax_t)st.st_ino) < 0)
        return NULL;
    if (!access(own, F_OK))
        return own;
    free(own);
    /* A copy of the file has another inode number. */
    from_paths_find(&paths, NULL, path, is_config_of);
    if (paths.count == 1)
        found = strdup(paths.list[0]);
    from_paths_free(&paths);
    return found;
}

static bool is_subfiling(const struct from_bytes *head)
{
    char *config = is_hdf5(head) ? find_config(head->path) : NULL;
    bool has_config = config != NULL;

    free(config);
    return has_config || is_config(head);
}

/* Reading the config. */

/* Returns the path of a subfile: in the folder of the config's text, or beside the config if
   they were moved. */
static char *find_subfile(const struct stripes *stripes, const char *name)
{
    char *path = NULL;

    if (*name != '/' && stripes->folder && asprintf(&path, "%s/%s", stripes->folder, name) < 0)
        return NULL;
    if (path && !access(path, F_OK))
        return path;
    free(path);
    return from_beside(stripes->config, name);
}

static int read_line(struct stripes *stripes, const char *line)
{
    static const char folder[] = "subfile_dir=", file[] = "hdf5_file=";
    const struct {
        const char *key;
        int64_t *number;
    } numbers[] = {{"stripe_size=", &stripes->stripe},
                   {"aggregator_count=", &stripes->count},
                   {"subfile_count=", &stripes->count}};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        size_t length = strlen(numbers[i].key);
        if (!strncmp(line, numbers[i].key, length))
            return from_span_number(from_span_of(line + length), 1, numbers[i].number) ? 0
                                                                                       : -EINVAL;
    }
    if (!strncmp(line, folder, strlen(folder))) {
        free(stripes->folder);
        stripes->folder = strdup(line + strlen(folder));
        return stripes->folder ? 0 : -ENOMEM;
    }
    if (!*line || !strncmp(line, file, strlen(file)))
        return 0;
    if (stripes->paths.count == VS_MEMBERS_MAX)
        return -EINVAL;
    return from_paths_add(&stripes->paths, find_subfile(stripes, line));
}

/* Implements from_parser: reads the config. */
static int read_config(struct from_file *file, const struct from_bytes *head, void *argument)
{
    struct stripes *stripes = argument;
    char *text, *rest, *line;
    int code = 0, number = 0;

    if ((int64_t)head->length < head->size)
        return -EAGAIN;
    if (memchr(head->bytes, '\0', head->length))
        return from_wrong(file, "damaged config of HDF5 subfiles: it contains a NUL byte");
    text = rest = strndup((const char *)head->bytes, head->length);
    if (text == NULL)
        return from_no_memory(file);
    for (; !code && (line = strsep(&rest, "\n")); number++) {
        line[strcspn(line, "\r")] = '\0';
        code = read_line(stripes, line);
    }
    free(text);
    stripes->bytes = head->size;
    if (code == -EINVAL)
        return from_wrong(file, "damaged config of HDF5 subfiles at line %d", number);
    if (code)
        return from_fail_code(file->error, code, file->path);
    if (stripes->stripe < 0 || stripes->count != (int64_t)stripes->paths.count ||
        vs_mul_capped(stripes->count, stripes->stripe) == INT64_MAX)
        return from_wrong(file,
                          "damaged config of HDF5 subfiles: it says %" PRId64 " and names %zu",
                          vs_max(stripes->count, 0), stripes->paths.count);
    return 0;
}

/* The whole. */

/* Finds a byte of the whole: returns its subfile, its position there, and how many bytes follow
   in that stripe. */
static int64_t find_byte(const struct stripes *stripes, int64_t at, int64_t *local, int64_t *length)
{
    int64_t number = at / stripes->stripe;

    *local = number / stripes->count * stripes->stripe + at % stripes->stripe;
    *length = stripes->stripe - at % stripes->stripe;
    return number % stripes->count;
}

/* Opens a subfile, unless it was read last. Returns its descriptor or a negative errno. */
static int open_subfile(struct stripes *stripes, int64_t number)
{
    int64_t size;

    if (stripes->fd >= 0 && stripes->open == number)
        return stripes->fd;
    if (stripes->fd >= 0)
        close(stripes->fd);
    stripes->open = number;
    return stripes->fd = from_open_regular(stripes->paths.list[number], &size);
}

/* Implements read of struct from_source. */
static int64_t read_stripes(void *self, void *buffer, size_t length, int64_t at)
{
    struct stripes *stripes = self;
    int64_t done = 0, got = 1, local, room;

    while (done < (int64_t)length && at + done < stripes->size && got > 0) {
        int64_t number = find_byte(stripes, at + done, &local, &room);

        room = vs_min(room, (int64_t)length - done);
        got = open_subfile(stripes, number);
        if (got >= 0)
            got = from_read(&stripes->fd, (char *)buffer + done, (size_t)room, local);
        done += vs_max(got, 0);
    }
    return got < 0 ? got : done;
}

/* Computes the size of the whole: the end of the last byte in any subfile. */
static int measure_subfile(struct stripes *stripes, struct vs_error *error)
{
    for (int64_t i = 0; i < stripes->count; i++) {
        struct stat st;
        int64_t end;

        if (stat(stripes->paths.list[i], &st))
            return from_fail_code(error, -errno, stripes->paths.list[i]);
        if (!st.st_size)
            continue;
        end = vs_mul_capped((st.st_size - 1) / stripes->stripe, stripes->count * stripes->stripe);
        end = vs_add_capped(end, i * stripes->stripe + (st.st_size - 1) % stripes->stripe + 1);
        if (end == INT64_MAX)
            return from_fail(error, -EFBIG, stripes->paths.list[i], "larger than 2^63-1 bytes");
        stripes->size = vs_max(stripes->size, end);
    }
    return 0;
}

static void make_members(const struct stripes *stripes, struct from_file *file)
{
    file->members =
        json_pack("{s:o, s:{s:o, s:o}}", "files", from_paths_json(&stripes->paths), "view", "disp",
                  json_sprintf("rank * %" PRId64, stripes->stripe), "filetype",
                  from_spaced(from_contiguous(stripes->stripe), stripes->count * stripes->stripe));
    if (!file->members)
        from_no_memory(file);
}

/* Parts of the header. */

/* Moves a part of the whole to its subfile. Bytes in other subfiles become new parts. */
static void place_part(const struct stripes *stripes, struct from_file *file,
                       struct from_part *part)
{
    int64_t bytes = part->bytes, at = part->at, local, room;
    int64_t number = find_byte(stripes, at, &local, &room);

    if (!bytes)
        return;
    part->path = strdup(stripes->paths.list[number]);
    part->at = local;
    part->bytes = vs_min(bytes, room);
    if (part->path == NULL)
        from_no_memory(file);
    while (bytes > room) {
        bytes -= room;
        at += room;
        number = find_byte(stripes, at, &local, &room);
        from_add_part(file, stripes->paths.list[number], local, vs_min(bytes, room));
    }
}

static void place_parts(const struct stripes *stripes, struct from_file *file)
{
    struct from_part super = file->part_count ? file->parts[0] : (struct from_part){0};

    /* The superblock is the only part of the file itself. */
    file->part_count = 0;
    from_add_part(file, stripes->config, 0, stripes->bytes);
    place_part(stripes, file, &super);
    if (super.path)
        from_add_part(file, super.path, super.at, super.bytes);
    free(super.path);
    for (size_t i = 0; i < file->count; i++)
        place_part(stripes, file, &file->variables[i].part);
}

static void list_stripes(struct stripes *stripes, struct from_file *file)
{
    struct from_file config = {
        .error = file->error, .format = file->format, .path = stripes->config};
    struct from_source source = {.read = read_stripes, .self = stripes};

    if (from_head(&config, read_config, stripes) || measure_subfile(stripes, file->error))
        return;
    source.size = stripes->size;
    if (list_by_module(&source, file))
        return;
    make_members(stripes, file);
    place_parts(stripes, file);
}

static int list_subfiling(const struct from_bytes *head, struct from_file *file)
{
    struct stripes stripes = {.stripe = -1, .count = -1, .fd = -1};

    (void)head;
    stripes.config =
        from_has_suffix(file->path, SUFFIX) ? strdup(file->path) : find_config(file->path);
    if (stripes.config)
        list_stripes(&stripes, file);
    else
        from_no_memory(file);
    if (stripes.fd >= 0)
        close(stripes.fd);
    from_paths_free(&stripes.paths);
    free(stripes.folder);
    free(stripes.config);
    return file->error->code;
}

const struct from_format from_subfiling = {
    .name = "HDF5 subfiles",
    .is_it = is_subfiling,
    .read = list_subfiling,
};
