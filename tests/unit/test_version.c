/* SPDX-License-Identifier: MIT */
/* Tests when the shared file counts as unchanged: never if its times may hide a change. */

#include "unit.h"
#include "fusefs/names/version.h"

#define MS 1000000L

/* Returns the version of a file that was changed at second.ns and sampled ms milliseconds later. */
static struct fs_version sample(time_t second, long ns, int64_t ms)
{
    struct stat st = {.st_size = 100,
                      .st_mtim = {.tv_sec = second, .tv_nsec = ns},
                      .st_ctim = {.tv_sec = second, .tv_nsec = ns}};
    int64_t now = ns + ms % 1000 * MS;
    struct timespec before = {.tv_sec = second + (time_t)(ms / 1000 + now / (1000 * MS)),
                              .tv_nsec = (long)(now % (1000 * MS))};

    return fs_version_of(&st, before);
}

TEST(settles)
{
    /* A change within the same few ticks of the clock would leave the same times. */
    assert_false(sample(1000, 5 * MS, 0).settled);
    assert_false(sample(1000, 5 * MS, 19).settled);
    assert_true(sample(1000, 5 * MS, 21).settled);
    assert_true(sample(1000, 995 * MS, 21).settled);
    /* The filesystem may only record whole seconds, with a tick of up to 2 seconds. */
    assert_false(sample(1000, 0, 21).settled);
    assert_false(sample(1000, 0, 3900).settled);
    assert_true(sample(1000, 0, 4100).settled);
    /* A file that was changed long ago, and one that was changed in the future. */
    assert_true(sample(0, 1, (int64_t)4000000000 * 1000).settled);
    assert_false(sample(4000000000, 1, (int64_t)-4000000000 * 1000).settled);
}

TEST(differs)
{
    const struct fs_version version = sample(1000, 5 * MS, 1000);
    struct fs_version others[] = {version, version, version, version, version};

    assert_true(fs_version_same(&version, &version));
    others[0].size++;
    others[1].mtime.tv_nsec++;
    others[2].ctime.tv_sec++;
    others[3].changes++;
    others[4].settled = false;
    for (int i = 0; i < 5; i++)
        assert_false(fs_version_same(&version, &others[i]));
    assert_false(fs_version_same(&others[4], &version));
    assert_false(fs_version_same(&others[4], &others[4]));
}

/* A change of the attributes alone (ctime) unsettles a file, even if its contents are old. */
TEST(both_times_count)
{
    struct stat st = {.st_mtim = {.tv_sec = 1000, .tv_nsec = 1},
                      .st_ctim = {.tv_sec = 2000, .tv_nsec = 1}};

    assert_false(fs_version_of(&st, (struct timespec){.tv_sec = 2000, .tv_nsec = 2}).settled);
    assert_true(fs_version_of(&st, (struct timespec){.tv_sec = 2001}).settled);
}
