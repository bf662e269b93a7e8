/* SPDX-License-Identifier: MIT */
/* Tests libraries of user-defined representations: which ones are loaded, and how converters are
   called. */
#include <dlfcn.h>

#include "slice_fixture.h"
#include "threads.h"
#include "core/conversion.h"
#include "core/datarep.h"
#include "core/load.h"

/* A directory with copies of the libraries. The test sets who may write there. */
static char folder[64];
static char library[128], lacking[128];

/* Returns the path of a file in the folder, until the next call. */
static const char *path_of(const char *name)
{
    static char path[128];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void copy(const char *from, const char *to)
{
    char command[600];

    snprintf(command, sizeof(command), "cp '%s' '%s' && chmod 755 '%s'", from, to, to);
    assert_int_equal(system(command), 0);
}

static int make_folder(void **state)
{
    strcpy(folder, "/tmp/mpiio-test-datarep.XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    strcpy(library, path_of("libprobe.so"));
    strcpy(lacking, path_of("liblacking.so"));
    copy(PROBE_LIBRARY, library);
    copy(LACKING_LIBRARY, lacking);
    return 0;
}

static int remove_folder(void **state)
{
    char command[100];

    snprintf(command, sizeof(command), "rm -r '%s'", folder);
    return system(command);
}

/* The reports that were made. */
struct reports {
    int count;
    char last[600];
};

static void note(void *argument, const char *message)
{
    struct reports *reports = argument;

    reports->count++;
    snprintf(reports->last, sizeof(reports->last), "%s", message);
}

static struct vs_user_datarep *load_from(const char *path, const char *name,
                                         struct reports *reports)
{
    struct mpiio_datarep_log log = {.report = note, .argument = reports};
    struct vs_user_datarep *datarep = NULL;
    char why[600] = "";

    if (mpiio_datarep_load(reports != NULL ? &log : NULL, name, path, &datarep, why, sizeof(why)) !=
        0)
        fail_msg("%s: %s", name, why);
    assert_string_equal(datarep->name, name);
    return datarep;
}

static struct vs_user_datarep *load(const char *name, struct reports *reports)
{
    return load_from(library, name, reports);
}

/* Returns the conversion of a type, as a view finds it. */
static struct mpiio_conversion find(const struct vs_user_datarep *datarep, const char *type)
{
    struct vs_view_facts facts = {.datarep = VS_USER, .user = datarep};
    struct mpiio_conversion conversion;

    assert_int_equal(
        mpiio_conversion_find(vs_basic_find(type), &facts, MPIIO_NARROW_REFUSE, &conversion), 0);
    return conversion;
}

TEST(sizes)
{
    struct vs_user_datarep *datarep = load("probe", NULL);
    struct vs_view_facts facts = {.datarep = VS_USER, .user = datarep};
    struct mpiio_conversion conversion;

    for (size_t i = 0; i < VS_BASICS; i++)
        assert_int_equal(datarep->file_size[i], strcmp(vs_basic_at(i)->name, "int") ? 0 : 6);
    assert_int_equal(
        mpiio_conversion_find(vs_basic_find("short"), &facts, MPIIO_NARROW_REFUSE, &conversion),
        -ENOTSUP);
    conversion = find(datarep, "byte"); /* bytes are never converted */
    assert_true(conversion.bytewise);
    assert_int_equal(conversion.unit, 1);
    mpiio_datarep_unload(datarep);
}

/* Many elements at odd addresses. The source of a conversion does not change. */
TEST(converting)
{
    enum { COUNT = 100000 };
    static char native[COUNT * 4 + 1], file[COUNT * 6 + 1], again[COUNT * 4 + 1];
    static const char *const names[] = {"probe", "other"}; /* with extra_state and without */

    for (size_t n = 0; n < 2; n++) {
        struct vs_user_datarep *datarep = load(names[n], NULL);
        struct mpiio_conversion conversion = find(datarep, "int");

        assert_false(conversion.bytewise);
        assert_int_equal(conversion.native, 4);
        assert_int_equal(conversion.file, 6);
        for (int i = 0; i < COUNT; i++)
            memcpy(native + 1 + 4 * i, &(unsigned){(unsigned)i * 77777}, 4);
        assert_int_equal(mpiio_to_file(&conversion, file + 1, native + 1, COUNT), 0);
        for (unsigned i = 0; i < COUNT; i++) {
            unsigned value = i * 77777;
            const unsigned char expected[] = {
                'P', 'R', value >> 24 & 255, value >> 16 & 255, value >> 8 & 255, value & 255};

            assert_memory_equal(file + 1 + 6 * i, expected, 6);
        }
        for (int times = 0; times < 2; times++) {
            memset(again, 0, sizeof(again));
            assert_int_equal(mpiio_to_native(&conversion, again + 1, file + 1, COUNT), 0);
            assert_memory_equal(again + 1, native + 1, COUNT * 4);
        }
        assert_int_equal(mpiio_to_native(&conversion, again, file, 0), 0);
        mpiio_datarep_unload(datarep);
    }
}

/* Returns a symbol of the loaded library. The tests use it to set the library's errors. */
static void *symbol(const char *name)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
    void *found = handle != NULL ? dlsym(handle, name) : NULL;

    assert_non_null(found);
    dlclose(handle);
    return found;
}

TEST(failing)
{
    struct reports reports = {0};
    struct vs_user_datarep *datarep = load("failing", &reports);
    struct mpiio_conversion conversion = find(datarep, "int");
    char bytes[6] = {0}, expected[300];
    int *code = symbol("failing_code");

    *code = 23;
    assert_int_equal(mpiio_to_file(&conversion, bytes, "aaaa", 1), -EIO);
    assert_int_equal(reports.count, 1);
    snprintf(expected, sizeof(expected),
             "representation failing: write converter failed with MPI error 23 for MPI_INT (%s)",
             library);
    assert_string_equal(reports.last, expected);
    assert_int_equal(mpiio_to_file(&conversion, bytes, "aaaa", 1), -EIO);
    assert_int_equal(reports.count, 1); /* an error is reported only once */
    assert_int_equal(mpiio_to_native(&conversion, bytes, "aaaaaa", 1), -EIO);
    assert_int_equal(reports.count, 2);
    assert_non_null(strstr(reports.last, "failing: read converter failed with MPI error 23 for"));
    *code = 24;
    assert_int_equal(mpiio_to_file(&conversion, bytes, "aaaa", 1), -EIO);
    assert_int_equal(reports.count, 3);
    mpiio_datarep_unload(datarep);
}

/* Converting in several threads. */

static void *convert_some(void *conversion)
{
    for (int i = 0; i < 20; i++) {
        char native[8], file[13];
        memcpy(file, "PRabcdPRefgh", sizeof(file));
        if (mpiio_to_native(conversion, native, file, 2) != 0)
            return conversion;
    }
    return NULL;
}

/* Converts in threads with two representations of one library, in turn. */
static void convert_in_threads(const char *name, const char *other)
{
    enum { THREADS = 4 };
    struct vs_user_datarep *datareps[] = {load(name, NULL), load(other, NULL)};
    struct mpiio_conversion conversions[THREADS];

    for (int i = 0; i < THREADS; i++)
        conversions[i] = find(datareps[i % 2], "int");
    run_threads(THREADS, convert_some, conversions, sizeof(*conversions));
    mpiio_datarep_unload(datareps[0]);
    mpiio_datarep_unload(datareps[1]);
}

/* The library fails if two threads call it at once, or, as "parallel", unless two threads do. */
TEST(in_several_threads)
{
    convert_in_threads("probe", "other");
    convert_in_threads("parallel", "parallel");
}

/* Libraries that are refused. */

static void refused(const char *name, const char *path, int error, const char *reason)
{
    struct vs_user_datarep *datarep = NULL;
    char why[600] = "", expected[600];
    int result = mpiio_datarep_load(NULL, name, path, &datarep, why, sizeof(why));

    snprintf(expected, sizeof(expected), "library %s: %s", path, reason);
    assert_string_equal(why, expected);
    assert_int_equal(result, error);
    assert_null(datarep);
}

static void refuse_lacking(void)
{
    refused("probe", lacking, -ELIBBAD,
            "it has neither probe_write_conversion_fn nor write_conversion_fn");
}

TEST(untrusted)
{
    char path[160];
    const struct {
        mode_t mode;
        const char *reason;
    } modes[] = {
        {0775, "is writable by its group"},
        {0757, "is writable by others"},
        {01777, "is writable by others"}, /* with and without the sticky bit */
    };

    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "it %s", modes[i].reason);
        chmod(library, modes[i].mode);
        refused("probe", library, -EPERM, path);
        chmod(library, 0755);
        snprintf(path, sizeof(path), "its folder %s", modes[i].reason);
        chmod(folder, modes[i].mode);
        refused("probe", library, -EPERM, path);
        chmod(folder, 0755);
    }
    if (geteuid() == 0) { /* only root can give a file to another user */
        assert_int_equal(chown(library, 12345, 0), 0);
        refused("probe", library, -EPERM, "it belongs to neither root nor user 0");
        assert_int_equal(chown(library, 0, 0), 0);
        assert_int_equal(chown(folder, 12345, 0), 0);
        refused("probe", library, -EPERM, "its folder belongs to neither root nor user 0");
        assert_int_equal(chown(folder, 0, 0), 0);
    }
    mpiio_datarep_unload(load("probe", NULL));
}

/* The directory of a symbolic link, and that of its target, must both be closed to others. */
TEST(links)
{
    char other[128], link[160];

    snprintf(other, sizeof(other), "%s/other", folder);
    snprintf(link, sizeof(link), "%s/link.so", other);
    assert_int_equal(mkdir(other, 0755), 0);
    assert_int_equal(symlink(library, link), 0);
    mpiio_datarep_unload(load_from(link, "probe", NULL));
    chmod(folder, 0775);
    refused("probe", link, -EPERM, "its folder is writable by its group");
    chmod(folder, 0755);
    chmod(other, 0777);
    refused("probe", link, -EPERM, "its folder is writable by others");
    chmod(other, 0755);
}

TEST(unusable)
{
    refused("probe", path_of("none.so"), -ENOENT, "No such file or directory");
    refused("probe", folder, -EPERM, "its folder is writable by others");
    refused("probe", "/usr/lib", -EINVAL, "it is not a file");
    refused("probe", "/dev/null", -EPERM, "it is writable by others");
    make_named_file(path_of("text.so"), "not a library", 13);
    assert_int_equal(chmod(path_of("text.so"), 0755), 0);
    refused("probe", path_of("text.so"), -ELIBBAD, "file too short");
    refuse_lacking();
    refused("huge", library, -EINVAL,
            "1048576 bytes for a value of type double are more than 1024");
}

static int convert_one(const struct vs_user_datarep *datarep)
{
    struct mpiio_conversion conversion = find(datarep, "int");
    char file[6];

    return mpiio_to_file(&conversion, file, "aaaa", 1);
}

/* Two libraries that are loaded at once stay distinct, whatever descriptors they were opened by. */
TEST(several_libraries)
{
    struct vs_user_datarep *first, *second;

    copy(library, path_of("copy.so"));
    for (int i = 0; i < 3; i++) {
        refuse_lacking();
        first = load("failing", NULL);
        refuse_lacking();
        second = load_from(path_of("copy.so"), "failing", NULL);
        *(int *)symbol("failing_code") = 5;
        assert_int_equal(convert_one(first), -EIO);
        assert_int_equal(convert_one(second), 0);
        mpiio_datarep_unload(first);
        assert_int_equal(convert_one(second), 0);
        mpiio_datarep_unload(second);
    }
}

/* Loads libraries by mpiio_spec_load, relative to the spec's directory. Views outlive the spec. */
TEST(from_a_spec)
{
    struct reports reports = {0};
    struct mpiio_datarep_log log = {.report = note, .argument = &reports};
    struct vs_overrides overrides = {.datarep_argument = &log};
    struct vs_error error = {0};
    struct vs_spec *spec = NULL;
    struct vs_view *view = NULL;
    struct mpiio_conversion conversion;
    char file[6], native[4];
    char text[] = "{'viewspec': 1, 'file': 'f', 'view': {'etype': 'int', 'datarep': {'name': "
                  "'failing', 'library': './libprobe.so'}}}";

    quoted(text);
    make_named_file(path_of("spec.json"), text, strlen(text));
    assert_int_equal(mpiio_spec_load(path_of("spec.json"), &overrides, &spec, &error), 0);
    assert_int_equal(vs_spec_view(spec, 0, 0, &view, &error), 0);
    vs_spec_free(spec);
    const struct vs_view_facts *facts = vs_view_facts(view);
    assert_int_equal(facts->etype_size, 4);
    assert_int_equal(facts->etype_file_size, 6);
    assert_int_equal(mpiio_conversion_find(facts->basic, facts, MPIIO_NARROW_REFUSE, &conversion),
                     0);
    *(int *)symbol("failing_code") = 0;
    assert_int_equal(mpiio_to_file(&conversion, file, &(uint32_t){0x04030201}, 1), 0);
    assert_memory_equal(file, "PR\4\3\2\1", 6);
    assert_int_equal(mpiio_to_native(&conversion, native, file, 1), 0);
    assert_memory_equal(native, &(uint32_t){0x04030201}, 4);
    *(int *)symbol("failing_code") = 5;
    assert_int_equal(mpiio_to_native(&conversion, native, file, 1), -EIO);
    assert_int_equal(reports.count, 1);
    vs_view_unref(view);
}

TEST_GROUP(make_folder, remove_folder)
