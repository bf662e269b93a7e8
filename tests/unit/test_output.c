/* SPDX-License-Identifier: MIT */
/* Tests files that appear only when they are complete, with and without support for O_TMPFILE. */

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "unit.h"
#include "view/view.h"

/* Features that the simulated filesystem lacks. */
static bool no_tmpfile, no_links;
static char said[256];

WRAP(int, open64, const char *path, int flags, ...)
{
    va_list args;
    mode_t mode;

    va_start(args, flags);
    mode = flags & (O_CREAT | O_TMPFILE) ? (mode_t)va_arg(args, unsigned) : 0;
    va_end(args);
    if (no_tmpfile && (flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return __real_open64(path, flags, mode);
}

WRAP(int, link, const char *from, const char *to)
{
    if (!no_links)
        return __real_link(from, to);
    errno = EPERM;
    return -1;
}

void view_message(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(said, sizeof(said), format, args);
    va_end(args);
}

int view_failed(const char *subject, int64_t error)
{
    view_message("%s: %s", subject, strerror((int)-error));
    return VIEW_FAILED;
}

static char folder[] = "/var/tmp/mpiio-output.XXXXXX";

static int enter(void **state)
{
    return mkdtemp(folder) && !chdir(folder) ? 0 : -1;
}

static int leave(void **state)
{
    return chdir("/") || rmdir(folder);
}

/* Returns the number of files, including hidden ones. */
static int count_files(void)
{
    DIR *dir = opendir(".");
    int count = -2;

    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static void expect_content(const char *path, const char *content, mode_t mode)
{
    char text[64] = "";
    struct stat st;
    FILE *file = fopen(path, "r");

    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &st), 0);
    assert_int_equal(st.st_mode & 07777, mode);
    assert_int_equal(fread(text, 1, sizeof(text) - 1, file), strlen(content));
    assert_string_equal(text, content);
    fclose(file);
}

static void put(const char *path, const char *content, bool force)
{
    struct view_output output;

    assert_int_equal(view_output_open(&output, path, force), VIEW_DONE);
    assert_int_equal(write(output.fd, content, strlen(content)), strlen(content));
    assert_int_equal(view_output_commit(&output, 0604, force), VIEW_DONE);
    view_output_close(&output);
    expect_content(path, content, 0604);
}

static void appears(void)
{
    struct view_output output;

    put("a", "one", false);
    put("./b", "two", true);
    put("a", "three", true);
    assert_int_equal(count_files(), 2);
    assert_int_equal(view_output_open(&output, "a", false), VIEW_FAILED);
    assert_string_equal(said, "a: the file is there already (--force overwrites it)");
    view_output_close(&output);
    /* Closing a file without a commit leaves the old one. */
    assert_int_equal(view_output_open(&output, "a", true), VIEW_DONE);
    view_output_close(&output);
    expect_content("a", "three", 0604);
    /* Another process has created the file meanwhile. */
    assert_int_equal(view_output_open(&output, "c", false), VIEW_DONE);
    put("c", "four", false);
    assert_int_equal(view_output_commit(&output, 0600, false), VIEW_FAILED);
    assert_string_equal(said, "c: File exists");
    view_output_close(&output);
    expect_content("c", "four", 0604);
    assert_int_equal(count_files(), 3);
    unlink("a");
    unlink("b");
    unlink("c");
}

TEST(with_and_without_tmpfile_and_links)
{
    for (int lacks = 0; lacks < 3; lacks++) {
        no_tmpfile = lacks > 0;
        no_links = lacks > 1;
        appears();
    }
    no_tmpfile = no_links = false;
}

/* A signal removes both hidden files, and ends the process as it would have without them. */
TEST(signals)
{
    static const int numbers[] = {SIGHUP, SIGINT, SIGTERM};

    for (size_t i = 0; i < 3; i++) {
        int status;
        pid_t pid = fork();
        if (pid == 0) {
            struct view_output data, spec;
            no_tmpfile = true;
            signal(numbers[i], SIG_DFL);
            if (view_output_open(&data, "data", false) || view_output_open(&spec, "spec", false) ||
                count_files() != 2)
                _exit(1);
            raise(numbers[i]);
            _exit(2);
        }
        assert_true(pid > 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), numbers[i]);
        assert_int_equal(count_files(), 0);
    }
}

/* A signal that the shell has set to be ignored stays ignored. */
TEST(ignored)
{
    struct view_output output;

    no_tmpfile = true;
    signal(SIGHUP, SIG_IGN);
    assert_int_equal(view_output_open(&output, "data", false), VIEW_DONE);
    raise(SIGHUP);
    assert_int_equal(count_files(), 1);
    view_output_close(&output);
    assert_int_equal(count_files(), 0);
    signal(SIGHUP, SIG_DFL);
    no_tmpfile = false;
}

TEST_GROUP(enter, leave)
