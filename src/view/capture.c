/* SPDX-License-Identifier: MIT */
/* Runs a command with libmpiio-capture preloaded, and reports the specs that it wrote. */
#include "view.h"
#include "core/base/process.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#define EXIT_NOT_EXECUTABLE 126 /* like env, nohup and timeout */
#define EXIT_NOT_FOUND      127

/* Signals that are passed on to the command: requests to terminate, or to act. */
static const int passed_on[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

/* Sets the environment of the command. output may be NULL. */
static int prepare_log(const char *output, const char *log)
{
    const char *wrong = mpiio_preload(MPIIO_CAPTURE_LIBRARY, "../capture/libmpiio-capture.so");
    char folder[PATH_MAX], dir[PATH_MAX];

    if (wrong != NULL) {
        view_message("capture: %s (it is built if MPICH or Open MPI is installed)", wrong);
        return VIEW_FAILED;
    }
    /* With "/." appended, realpath(3) fails with ENOTDIR unless the path is a folder. */
    snprintf(folder, sizeof(folder), "%s%s", output ? output : "", output && *output ? "/." : "");
    if (output && (!realpath(folder, dir) || access(dir, W_OK | X_OK))) {
        view_message("capture: -o %s: %s", output, strerror(errno));
        return VIEW_FAILED;
    }
    if (setenv("MPIIO_CAPTURE_DIR", output ? dir : "", 1) || setenv("MPIIO_CAPTURE_LOG", log, 1))
        return view_failed("capture", -errno);
    return VIEW_DONE;
}

/* Returns true if a command is Open MPI's launcher, under any of its names. */
static bool is_open_mpi(const char *command)
{
    const char *folders = strchr(command, '/') ? "" : getenv("PATH"), *name = NULL;
    char path[PATH_MAX], real[PATH_MAX];

    while (folders && !name) {
        size_t length = strcspn(folders, ":");
        snprintf(path, sizeof(path), "%.*s%s%s", (int)length, folders, length ? "/" : "", command);
        if (access(path, X_OK) == 0 && realpath(path, real))
            name = strrchr(real, '/') + 1;
        folders = folders[length] ? folders + length + 1 : NULL;
    }
    return name && (strcmp(name, "orterun") == 0 || strcmp(name, "prterun") == 0);
}

/*
 * Open MPI's launcher passes the environment on to the processes of its own host only. Returns the
 * command with options that name the variables of the capture; or the command itself, if it needs
 * none, or has the parameter that excludes these options.
 */
static char **pass_variables(char **command)
{
    static const char *const options[] = {"-x", "LD_PRELOAD",       "-x", "MPIIO_CAPTURE_DIR",
                                          "-x", "MPIIO_CAPTURE_LOG"};
    size_t added = sizeof(options) / sizeof(*options), count = 0;
    char **longer;

    for (; command[count]; count++)
        if (strcmp(command[count], "mca_base_env_list") == 0)
            return command;
    if (getenv("OMPI_MCA_mca_base_env_list") || !is_open_mpi(command[0]))
        return command;
    longer = calloc(count + added + 1, sizeof(*longer));
    if (longer == NULL)
        return command;
    longer[0] = command[0];
    memcpy(longer + 1, options, sizeof(options));
    memcpy(longer + 1 + added, command + 1, (count - 1) * sizeof(*longer));
    return longer;
}

static void run_command(char **command, const sigset_t *mask)
{
    char **longer = pass_variables(command);

    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(longer[0], longer);
    view_message("capture: %s: %s", command[0], strerror(errno));
    _exit(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
}

/*
 * Waits for the command and passes signals on. Signals from the terminal reach the command
 * directly, because it is in the same process group.
 */
static int wait_for(pid_t pid, const sigset_t *caught)
{
    siginfo_t info;
    int status;

    for (;;) {
        int signal = sigwaitinfo(caught, &info);
        if (signal == SIGCHLD && waitpid(pid, &status, WNOHANG) == pid)
            break;
        if (signal > 0 && signal != SIGCHLD && info.si_code != SI_KERNEL)
            kill(pid, signal);
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int execute_program(char **command)
{
    sigset_t caught, before;
    pid_t pid;

    signal(SIGCHLD, SIG_DFL);
    sigemptyset(&caught);
    sigaddset(&caught, SIGCHLD);
    for (size_t i = 0; i < sizeof(passed_on) / sizeof(*passed_on); i++)
        sigaddset(&caught, passed_on[i]);
    sigprocmask(SIG_BLOCK, &caught, &before);
    pid = fork();
    if (pid == 0)
        run_command(command, &before);
    if (pid < 0) {
        view_message("capture: %s", mpiio_rlimit_text(-errno));
        return VIEW_FAILED;
    }
    return wait_for(pid, &caught);
}

/* A summary of the log, which the library writes (src/capture/log.h). */
struct summary {
    bool any;     /* the log has a message or a spec */
    bool deleted; /* a file that is deleted on close was opened */
    /* {PROCESS: {PATH: true if there is a spec}}: processes that have not exited */
    json_t *running;
    json_t *said; /* {MESSAGE: true}: all processes of a program may report the same */
};

static void add_opened(struct summary *sum, const char *process, const char *path)
{
    json_t *files = json_object_get(sum->running, process);

    if (files == NULL) {
        files = json_object();
        json_object_set_new(sum->running, process, files);
    }
    if (!json_object_get(files, path))
        json_object_set_new(files, path, json_false());
}

static void add_spec(struct summary *sum, const char *path)
{
    const char *process;
    json_t *files;

    json_object_foreach(sum->running, process, files)
    {
        if (json_object_get(files, path))
            json_object_set_new(files, path, json_true());
    }
}

/* Reports a line "SPEC\tOWNER\tRANKS\tVIEWS" of the log, in which OWNER is HOST:PID:KIND:PATH.
   later is the rest of the log. */
static void report_spec(struct summary *sum, char *line, const char *later)
{
    char again[PATH_MAX + 16];
    const char *spec = strsep(&line, "\t"), *ranks;
    char *owner = strsep(&line, "\t");

    ranks = strsep(&line, "\t");
    for (int part = 0; part < 3; part++)
        strsep(&owner, ":");
    if (line == NULL || owner == NULL)
        return;
    add_spec(sum, owner);
    sum->any = true;
    snprintf(again, sizeof(again), "spec\t%s\t", spec);
    if (!strstr(later, again)) /* else it is written again later, with more views */
        view_message("wrote %s: %s rank%s, %s view%s", spec, ranks, strcmp(ranks, "1") ? "s" : "",
                     line, strcmp(line, "1") ? "s" : "");
}

static void read_line(struct summary *sum, char *line, const char *later)
{
    const char *kind = strsep(&line, "\t"), *process;

    if (line && strcmp(kind, "say") == 0) {
        if (!json_object_get(sum->said, line))
            view_message("%s", line);
        json_object_set_new_nocheck(sum->said, line, json_true());
        sum->any = true;
    } else if (line && strcmp(kind, "spec") == 0) {
        report_spec(sum, line, later);
    } else if (line) {
        process = strsep(&line, "\t");
        if (line && strcmp(kind, "opened") == 0)
            add_opened(sum, process, line);
        else if (line && strcmp(kind, "temporary") == 0)
            unlink(line);
        else if (strcmp(kind, "ended") == 0)
            json_object_del(sum->running, process);
        sum->deleted = sum->deleted || strcmp(kind, "deleted") == 0;
    }
}

/* Reports the files of processes that have not reached MPI_Finalize, each once. */
static void report_running(struct summary *sum)
{
    json_t *all = json_object(), *files, *captured;
    const char *process, *path;

    json_object_foreach(sum->running, process, files)
    {
        json_object_foreach(files, path, captured)
        {
            if (!json_is_true(json_object_get(all, path)))
                json_object_set(all, path, captured);
        }
    }
    json_object_foreach(all, path, captured)
    {
        view_message(json_is_true(captured)
                         ? "%s: the program ended without MPI_Finalize: the spec has what was "
                           "known when the file was last closed"
                         : "%s: not captured: the program ended without MPI_Finalize",
                     path);
        sum->any = true;
    }
    json_decref(all);
}

/* Prints the library's messages and specs. If there are none and the command succeeded, prints
   why nothing was captured. */
static void report_specs(int log, int status)
{
    struct summary sum = {.running = json_object(), .said = json_object()};
    FILE *file = fdopen(log, "r");
    char *text = NULL, *line, *rest;
    size_t size = 0;

    if (file == NULL || getdelim(&text, &size, '\0', file) < 0)
        size = 0;
    for (rest = size ? text : NULL; rest && *rest;) {
        line = strsep(&rest, "\n");
        read_line(&sum, line, rest ? rest : "");
    }
    report_running(&sum);
    if (!sum.any && status == 0)
        view_message("capture: nothing was captured: %s",
                     sum.deleted ? "the program opened only files that it deletes when it closes "
                                   "them (MPI_MODE_DELETE_ON_CLOSE)"
                                 : "no file was opened by MPI_File_open, or the program does not "
                                   "use a shared library of MPICH or Open MPI");
    json_decref(sum.running);
    json_decref(sum.said);
    free(text);
    if (file)
        fclose(file);
}

static int run_capture(const struct view_args *args, const struct vs_spec *spec)
{
    const char *dir = getenv("TMPDIR");
    char path[PATH_MAX];
    int log, status;

    (void)spec;
    if (*args->operands == NULL)
        return view_usage(&view_capture, "COMMAND is missing", "");
    snprintf(path, sizeof(path), "%s/mpiio-capture.XXXXXX", dir && *dir ? dir : "/tmp");
    log = mkstemp(path);
    if (log < 0) {
        view_message("capture: %s: %s", path, strerror(errno));
        return VIEW_FAILED;
    }
    status = prepare_log(args->output, path);
    if (!status) {
        status = execute_program(args->operands);
        report_specs(log, status);
    } else {
        close(log);
    }
    unlink(path);
    return status;
}

const struct view_command view_capture = {
    .name = "capture",
    .options = VIEW_TAKES_COMMAND,
    .run = run_capture,
    .summary = "run an MPI program and write specs of the views that it sets",
    .help =
        "Usage: mpiio-view capture [-o DIR] [--] COMMAND [ARGUMENT]...\n"
        "Runs an MPI program and writes a spec of the views that it sets on each file,\n"
        "FILE.view.json, beside the file. mpiio-mount and the other subcommands take it as it is.\n"
        "The program is not changed. It must use a shared library of MPICH (or one with its ABI)\n"
        "or of Open MPI.\n"
        "\n"
        "  -o, --output=DIR  write the specs into DIR\n"
        "  -h, --help        this text\n"
        "  -V, --version     the version\n"
        "\n"
        "Examples:\n"
        "  mpiio-view capture -- mpiexec -n 4 ./solver input.txt\n"
        "  mpiio-mount field.dat.view.json /mnt\n"
        "\n"
        "Exit status: the command's; 126, 127 if it cannot be run; 1 failed, 2 wrong usage.\n",
};
