/* SPDX-License-Identifier: MIT */
/* Tests the daemon's command line: the fields that its mount options set, and the messages for
   wrong ones. */
#include <getopt.h>

#include "unit.h"
#include "fusefs/base/options.h"

#define WORDS 16

static struct fs_options options;
static char said[256]; /* the messages on stderr */

/* Parses the words of a command line, which NULL ends. */
static int parse(const char *const *words)
{
    static char copies[WORDS][64]; /* options keep pointers into them */
    char *argv[WORDS + 1] = {0};
    FILE *log = tmpfile();
    int count = 0, before = dup(STDERR_FILENO), rc;

    assert_non_null(log);
    for (; words[count] != NULL; count++) {
        assert_true(count < WORDS);
        snprintf(copies[count], sizeof(copies[count]), "%s", words[count]);
        argv[count] = copies[count];
    }
    assert_true(dup2(fileno(log), STDERR_FILENO) >= 0);
    optind = 0; /* restarts getopt */
    rc = fs_options_parse(&options, count, argv);
    assert_true(dup2(before, STDERR_FILENO) >= 0);
    close(before);
    rewind(log);
    said[fread(said, 1, sizeof(said) - 1, log)] = '\0';
    fclose(log);
    return rc;
}

static int parse_mount(const char *list)
{
    return parse((const char *const[]){"x", "-o", list, "s.json", "mnt", NULL});
}

/* Checks that the words that gave result were refused with a message. */
static void expect_refusal(int result, const char *message)
{
    char expected[256];

    assert_int_equal(result, -EINVAL);
    snprintf(expected, sizeof(expected), "mpiio-fused: %s (see --help)\n", message);
    assert_string_equal(said, expected);
    fs_options_free(&options);
}

TEST(defaults)
{
    assert_int_equal(parse_mount("defaults,nofail,x-systemd.automount,comment=a,,"), 0);
    assert_string_equal(said, "");
    assert_int_equal(options.access, FS_ACCESS_BEST);
    assert_int_equal(options.cache, FS_CACHE_AUTO);
    assert_int_equal(options.passthrough, FS_WISH_AUTO);
    assert_int_equal(options.narrow, MPIIO_NARROW_REFUSE);
    assert_int_equal(options.threads, 8);
    assert_int_equal(options.max_read, 1 << 20);
    assert_int_equal(options.dirty_max, 256 << 20);
    assert_int_equal(options.pool, FS_POOL_AUTO);
    assert_int_equal(options.flush_interval, 5000);
    assert_int_equal(options.peer_timeout, 10000);
    assert_false(options.create || options.delete_on_close || options.sequential ||
                 options.unique || options.npy || options.atomic || options.local ||
                 options.direct || options.allow_other);
    assert_null(options.log);
    assert_int_equal(options.log_level, MPIIO_LOG_INFO);
    assert_null(options.fuse);
    assert_string_equal(options.spec, "s.json");
    assert_string_equal(options.mountpoint, "mnt");
    fs_options_free(&options);
}

TEST(every_option)
{
    const char *const words[] = {"x",
                                 "-o",
                                 "rw,create,unique,npy,atomic,local,narrow=truncate,threads=3",
                                 "-omax_read=64k,log=a,log=b,cache=back,dirty_max=1G,view=byte",
                                 "-oflush_interval=0,store=mpiio,peer_timeout=7,noexec,fsname=n",
                                 "-opassthrough=off,io_uring=off,direct",
                                 "-opool=off,pool=3G,delete_on_close,sequential",
                                 "-ointerface=ib0,interface=10.0.0.0/8,log_level=debug",
                                 "-oport=7,port=7000-65535",
                                 "f.dat",
                                 "mnt",
                                 NULL};

    assert_int_equal(parse(words), 0);
    assert_int_equal(options.access, FS_ACCESS_RW);
    assert_true(options.create && options.delete_on_close && options.sequential && options.unique &&
                options.npy && options.atomic && options.local && options.direct);
    assert_int_equal(options.narrow, MPIIO_NARROW_TRUNCATE);
    assert_int_equal(options.threads, 3);
    assert_int_equal(options.max_read, 65536);
    assert_string_equal(options.log, "b");
    assert_int_equal(options.log_level, MPIIO_LOG_DEBUG);
    assert_string_equal(options.interface, "10.0.0.0/8");
    assert_int_equal(options.ports.first, 7000);
    assert_int_equal(options.ports.last, 65535);
    assert_int_equal(options.cache, FS_CACHE_BACK);
    assert_int_equal(options.passthrough, FS_WISH_OFF);
    assert_int_equal(options.dirty_max, 1 << 30);
    assert_int_equal(options.pool, INT64_C(3) << 30);
    assert_int_equal(options.flush_interval, 0);
    assert_int_equal(options.store, MPIIO_STORE_MPIIO);
    assert_int_equal(options.peer_timeout, 7000);
    assert_string_equal(options.shorthand, "byte");
    assert_string_equal(options.overrides.file, "f.dat");
    assert_string_equal(options.fuse, "noexec,fsname=n");
    assert_true(options.has_fsname);
    fs_options_free(&options);
}

/* Each option is refused with its message. Some values lie just outside the limits. */
TEST(wrong_options)
{
    static const char *const cases[][2] = {
        {"what", "unknown mount option: what"},
        {"ro=1", "unknown mount option: ro=1"},
        {"threads", "unknown mount option: threads"},
        {"cach=auto", "unknown mount option: cach=auto"},
        {"threads=0", "threads= needs a number from 1 to 1024: 0"},
        {"threads=1025", "threads= needs a number from 1 to 1024: 1025"},
        {"threads=+1", "threads= needs a number from 1 to 1024: +1"},
        {"threads=1k", "threads= needs a number from 1 to 1024: 1k"},
        {"max_read=4095", "max_read= needs a size from 4k to 1M: 4095"},
        {"max_read=2M", "max_read= needs a size from 4k to 1M: 2M"},
        {"dirty_max=1023k", "dirty_max= needs a size of 1M or more: 1023k"},
        {"dirty_max=9999999T", "dirty_max= needs a size of 1M or more: 9999999T"},
        {"pool=15M", "pool= needs a size of 16M or more, or off: 15M"},
        {"pool=on", "pool= needs a size of 16M or more, or off: on"},
        {"slice_cache=1G",
         "the mount option slice_cache was removed: copy the slice to /dev/shm instead"},
        {"slice_cache",
         "the mount option slice_cache was removed: copy the slice to /dev/shm instead"},
        {"slice_cache2=1G", "unknown mount option: slice_cache2=1G"},
        {"flush_interval=86401", "flush_interval= needs seconds, from 0 to 86400: 86401"},
        {"flush_interval=-1", "flush_interval= needs seconds, from 0 to 86400: -1"},
        {"port=", "port= needs a TCP port, or two as in 7000-7009: "},
        {"port=0", "port= needs a TCP port, or two as in 7000-7009: 0"},
        {"port=65536", "port= needs a TCP port, or two as in 7000-7009: 65536"},
        {"port=7001-7000", "port= needs a TCP port, or two as in 7000-7009: 7001-7000"},
        {"port=7000-", "port= needs a TCP port, or two as in 7000-7009: 7000-"},
        {"port=7000-7001x", "port= needs a TCP port, or two as in 7000-7009: 7000-7001x"},
        {"port=-1", "port= needs a TCP port, or two as in 7000-7009: -1"},
        {"interface=", "interface= needs an interface, an address or a network: "},
        {"peer_timeout=0", "peer_timeout= needs seconds, from 1 to 86400: 0"},
        {"cache=bac", "cache= needs auto, through or back: bac"},
        {"cache=backs", "cache= needs auto, through or back: backs"},
        {"cache=", "cache= needs auto, through or back: "},
        {"store=auto|posix", "store= needs auto, posix or mpiio: auto|posix"},
        {"passthrough=on", "passthrough= needs auto or off: on"},
        {"narrow=cut", "narrow= needs refuse or truncate: cut"},
        {"log=", "log= needs the name of a file: "},
        {"log_level=", "log_level= needs debug, info, warning or error: "},
        {"log_level=notice", "log_level= needs debug, info, warning or error: notice"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect_refusal(parse_mount(cases[i][0]), cases[i][1]);
}

TEST(exclusions)
{
    static const struct {
        const char *words[WORDS];
        const char *message;
    } cases[] = {
        {{"x", "-oro,create", "s", "m"}, "mount options ro and create exclude each other"},
        {{"x", "s"}, "MOUNTPOINT is missing"},
        {{"x"}, "SPEC and MOUNTPOINT are missing"},
        {{"x", "--view=byte"}, "FILE and MOUNTPOINT are missing"},
        {{"x", "a", "b", "c"}, "too many arguments: c"},
        {{"x", "--view=byte", "-ff", "g", "m"}, "the file is named twice, by -f and as g"},
        {{"x", "-n0", "s", "m"}, "-n needs a number from 1 to 2147483647: 0"},
        {{"x", "-q", "s", "m"}, "unknown option: -q"},
        {{"x", "--quick", "s", "m"}, "unknown option: --quick"},
        {{"x", "-o"}, "an argument is missing after -o"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect_refusal(parse(cases[i].words), cases[i].message);
}
