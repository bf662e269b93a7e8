/* SPDX-License-Identifier: MIT */
/*
 * Uses slices as unusual programs do. Each way is a function. It ends the program if the result
 * differs from that without mpiio-run.
 *
 *     run-ways WAY SLICE FILE
 *
 * FILE is the shared file. Exits with 0, or with 1 and a line that names the failed condition.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <locale.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

static const char *slice, *shared;

#define MUST(right)                                                                                \
    do {                                                                                           \
        if (!(right)) {                                                                            \
            fprintf(stderr, "run-ways: line %d: %s (%s)\n", __LINE__, #right, strerror(errno));    \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* Threads are cancelled while they read, open and close. */

static void *work_until_cancelled(void *argument)
{
    static char buffer[4 << 20];

    while (true) {
        int fd = open(slice, O_RDONLY);

        for (int i = 0; i < 3 && fd >= 0; i++)
            if (pread(fd, buffer, sizeof(buffer), 0) < 0)
                return argument;
        close(fd);
    }
}

static void cancel(void)
{
    pthread_t thread;
    char byte;
    int fd;

    for (int i = 0; i < 300; i++) {
        void *result;

        MUST(pthread_create(&thread, NULL, work_until_cancelled, NULL) == 0);
        usleep((useconds_t)(i * 7 % 1000));
        pthread_cancel(thread);
        MUST(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
        for (int number = 3; number < 10; number++)
            close(number);
    }
    fd = open(slice, O_RDONLY);
    MUST(fd == 3 && pread(fd, &byte, 1, 0) == 1);
}

/* A signal handler jumps out of reads and writes. */

static sigjmp_buf back;
static atomic_bool jumps;

#ifndef __SANITIZE_ADDRESS__
/* The library must not allocate memory where the handler could interrupt it. */

void *__libc_malloc(size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static void check_blocked(void)
{
    sigset_t signals;

    if (!atomic_load(&jumps))
        return;
    MUST(pthread_sigmask(SIG_SETMASK, NULL, &signals) == 0);
    MUST(sigismember(&signals, SIGALRM));
}

void *malloc(size_t size)
{
    check_blocked();
    return __libc_malloc(size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    check_blocked();
    return __libc_memalign(alignment, size);
}
#endif

static void jump(int number)
{
    if (atomic_load(&jumps))
        siglongjmp(back, number);
}

static void interrupt_in(int microseconds)
{
    struct itimerval timer = {.it_value = {.tv_usec = microseconds}};

    setitimer(ITIMER_REAL, &timer, NULL);
}

/* Writes and reads until the handler jumps out. */
static void work_until_jump(int fd, char *bytes, int length)
{
    if (sigsetjmp(back, 1) != 0)
        return;
    atomic_store(&jumps, true);
    interrupt_in(1 + (unsigned char)bytes[0] % 100 * 20);
    while (true) {
        MUST(lseek(fd, 0, SEEK_SET) == 0 && write(fd, bytes, (size_t)length) == length);
        MUST(pread(fd, bytes, (size_t)length, 0) == length);
    }
}

static void jump_out(void)
{
    static char bytes[1 << 20], got[1 << 20];
    const int length = sizeof(bytes);
    int fd = -1;

    signal(SIGALRM, jump);
    MUST(pwrite(open(slice, O_WRONLY), bytes, sizeof(bytes), 0) == length);
    for (int i = 0; i < 300; i++) {
        close(fd);
        fd = open(slice, O_RDWR);
        MUST(fd >= 0 && fd < 20);
        memset(bytes, i, sizeof(bytes));
        work_until_jump(fd, bytes, length);
        atomic_store(&jumps, false);
        /* A write that has begun also finishes. */
        MUST(pread(fd, got, sizeof(got), 0) == length);
        MUST(memcmp(got, got + 1, sizeof(got) - 1) == 0);
    }
    MUST(pwrite(fd, bytes, sizeof(bytes), 0) == length);
    MUST(open("/dev/null", O_RDONLY) < 20);
}

/* A signal handler leaves writes of records at the shared file pointer. Each record has its number
   in all words. Records whose write has returned are there, whole and in order. */
#define RECORD_WORDS 8192

static long written; /* the last record whose write has returned */

static void put_until_jump(int fd, int microseconds)
{
    static long record[RECORD_WORDS];

    if (sigsetjmp(back, 1) != 0)
        return;
    atomic_store(&jumps, true);
    interrupt_in(microseconds);
    while (true) {
        for (int i = 0; i < RECORD_WORDS; i++)
            record[i] = written + 1;
        MUST(write(fd, record, sizeof(record)) == sizeof(record));
        written++;
    }
}

static void jump_out_of_takes(void)
{
    static long record[RECORD_WORDS];
    long next = 1;
    int fd = -1;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    sigset(SIGALRM, jump); /* obsolete, but programs have it */
#pragma GCC diagnostic pop
    for (int i = 0; i < 100; i++) {
        close(fd);
        fd = open(slice, O_WRONLY);
        put_until_jump(fd, 1 + i * 50);
        atomic_store(&jumps, false);
    }
    fd = open(shared, O_RDONLY);
    while (read(fd, record, sizeof(record)) == sizeof(record))
        next += record[0] == next && memcmp(record, record + 1, sizeof(record) - 8) == 0;
    MUST(next > written);
}

/* A process with several threads forks, and its children use a stream. */

static atomic_bool over;

static void *open_streams(void *argument)
{
    while (!atomic_load(&over))
        fclose(fopen(slice, "r"));
    return argument;
}

static void *ask_number(void *argument)
{
    while (!atomic_load(&over))
        MUST(fileno(argument) >= 0);
    return argument;
}

static void fork_threads(void)
{
    FILE *file = fopen(slice, "r");
    pthread_t threads[2];

    MUST(pthread_create(&threads[0], NULL, open_streams, NULL) == 0);
    MUST(pthread_create(&threads[1], NULL, ask_number, file) == 0);
    for (int i = 0; i < 300; i++) {
        pid_t child = fork();
        int status;

        if (child == 0) {
            alarm(30);
            _exit(fileno(file) >= 0 && fgetc(file) != EOF ? 0 : 1);
        }
        MUST(waitpid(child, &status, 0) == child && status == 0);
    }
    atomic_store(&over, true);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
}

/* Returns true if another process sees the program's own POSIX locks. */

static bool is_locked(const char *path)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        struct flock lock = {.l_type = F_WRLCK, .l_len = 10};
        int fd = open(path, O_RDWR);

        _exit(fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK ? 7 : 0);
    }
    MUST(waitpid(child, &status, 0) == child);
    return WEXITSTATUS(status) == 7;
}

static void use_slice(void)
{
    char byte;
    int fd = open(slice, O_RDWR);

    MUST(pread(fd, &byte, 1, 0) == 1 && pwrite(fd, &byte, 1, 0) == 1 && close(fd) == 0);
}

static void use_streams(void)
{
    FILE *file = fopen(slice, "r+");
    int fd = fileno(file);

    MUST(fgetc(file) != EOF);
    MUST((file = fdopen(dup(fd), "r")) != NULL && fgetc(file) != EOF);
}

static void lock_files(void)
{
    const char *paths[] = {shared, slice};
    struct flock lock = {.l_type = F_WRLCK, .l_len = 10};

    for (int i = 0; i < 2; i++) {
        int before = open(slice, O_RDWR), fd = open(paths[i], O_RDWR), count = 0;

        MUST(fcntl(fd, F_SETLK, &lock) == 0 && is_locked(paths[i]));
        if (i == 0) {
            close(before);
            use_slice();
        }
        use_streams();
        MUST(is_locked(paths[i]));
        /* Also locks by lockf(3), and of more files than the library distinguishes. */
        lock.l_type = F_UNLCK;
        MUST(fcntl(fd, F_SETLK, &lock) == 0 && lockf(fd, F_TLOCK, 10) == 0);
        lock.l_type = F_WRLCK;
        while (i == 0 && count++ < 20)
            use_slice();
        MUST(is_locked(paths[i]));
        MUST(lockf(fd, F_ULOCK, 10) == 0);
    }
}

/* Wide characters, read and written, and streams that are reopened. */

static void wide(void)
{
    wchar_t text[100];
    char bytes[100];
    FILE *file = fopen(slice, "r+");

    setlocale(LC_ALL, "C.UTF-8");
    MUST(fwide(file, 0) == 0);
    MUST(fputws(L"gr\u00fc\u00dfe 17\n", file) >= 0 && fputwc(L'\u2713', file) == L'\u2713');
    MUST(fwprintf(file, L" %d\n", 42) == 4 && fwide(file, 0) > 0);
    MUST(ftell(file) == 18);
    rewind(file);
    MUST(fgetwc(file) == L'g' && ungetwc(L'x', file) == L'x');
    MUST(fgetws(text, 100, file) != NULL && wcscmp(text, L"xr\u00fc\u00dfe 17\n") == 0);
    MUST(fseek(file, 0, SEEK_SET) == 0);
    MUST(fwscanf(file, L"%ls", text) == 1 && wcscmp(text, L"gr\u00fc\u00dfe") == 0);
    MUST(fseek(file, 0, SEEK_END) == 0 && !feof(file));
    MUST(fgetwc(file) == WEOF && feof(file) && feof_unlocked(file) && !ferror(file));
    clearerr(file);
    MUST(!feof(file) && fclose(file) == 0);
    /* A byte-oriented stream refuses wide characters. */
    file = fopen(slice, "r");
    MUST(fgets(bytes, 100, file) != NULL && strcmp(bytes, "gr\u00fc\u00dfe 17\n") == 0);
    MUST(fgetwc(file) == WEOF && fwide(file, 1) < 0 && fclose(file) == 0);
}

static void reopen(void)
{
    FILE *file = fopen(slice, "r"), *same;
    char bytes[100];
    int fd = fileno(file);

    MUST(fgetc(file) != EOF);
    same = freopen("plain", "w+", file);
    MUST(same == file && fileno(file) == fd);
    MUST(fputs("text", file) >= 0 && ftell(file) == 4 && fseek(file, 1, SEEK_SET) == 0);
    MUST(fgets(bytes, 100, file) != NULL && strcmp(bytes, "ext") == 0);
    MUST(freopen(slice, "r", file) == file);
    errno = 0;
    MUST(fputc('x', file) == EOF && errno == EBADF && ferror(file));
    clearerr(file);
    MUST(fgetc(file) != EOF && ftell(file) == 1);
    MUST(freopen("plain", "a", file) == file && fputs("more", file) >= 0);
    MUST(fgetc(file) == EOF && fclose(file) == 0);
    file = fopen(slice, "r");
    MUST(freopen("nowhere/file", "r", file) == NULL && errno == ENOENT);
    file = fopen("plain", "r");
    MUST(fgets(bytes, 100, file) != NULL && strcmp(bytes, "textmore") == 0);
}

/* The program's own SIGBUS handler. */

static volatile int seen;
static sigset_t blocked;
static volatile bool on_other_stack;
static char other_stack[1 << 16];

static void on_bus(int number)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);

    (void)number;
    seen++;
    on_other_stack = here - (uintptr_t)other_stack < sizeof(other_stack);
    sigprocmask(SIG_BLOCK, NULL, &blocked);
}

static void bus_flags(void)
{
    stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof(other_stack)};
    struct sigaction action = {.sa_handler = on_bus}, old;

    MUST(sigaltstack(&stack, NULL) == 0);
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGUSR1);
    MUST(sigaction(SIGBUS, &action, &old) == 0 && old.sa_handler == SIG_DFL);
    raise(SIGBUS);
    MUST(seen == 1 && !on_other_stack);
    MUST(sigismember(&blocked, SIGUSR1) && sigismember(&blocked, SIGBUS));
    action.sa_flags = SA_ONSTACK | SA_NODEFER | SA_RESETHAND;
    MUST(sigaction(SIGBUS, &action, NULL) == 0);
    raise(SIGBUS);
    MUST(seen == 2);
    MUST(on_other_stack);
    MUST(!sigismember(&blocked, SIGBUS));
    MUST(sigaction(SIGBUS, NULL, &old) == 0 && old.sa_handler == SIG_DFL);
}

/* An ignored signal does not interrupt anything, and an executed program ignores it, too. */
static void bus_ignored(void)
{
    int pipes[2], status;
    char byte;
    pid_t child;

    signal(SIGBUS, SIG_IGN);
    raise(SIGBUS);
    MUST(pipe(pipes) == 0);
    child = fork();
    if (child == 0) {
        kill(getppid(), SIGBUS);
        usleep(100000);
        _exit(write(pipes[1], "x", 1) == 1 ? 0 : 1);
    }
    MUST(read(pipes[0], &byte, 1) == 1 && waitpid(child, &status, 0) == child && status == 0);
    child = vfork();
    if (child == 0) {
        execlp("sh", "sh", "-c", "kill -BUS $$", (char *)NULL);
        _exit(127);
    }
    MUST(waitpid(child, &status, 0) == child && status == 0);
}

static void bus(void)
{
    char bytes[200000];
    int fd = open(slice, O_RDONLY);

    /* the library installs its handler */
    MUST(pread(fd, bytes, sizeof(bytes), 0) == sizeof(bytes));
    bus_flags();
    bus_ignored();
    /* The library's handler is still installed, so the end of the file raises no signal. */
    MUST(truncate(shared, 1000) == 0 && pread(fd, bytes, sizeof(bytes), 0) >= 504);
}

/* Ranges of descriptors. */

static void ranges(void)
{
    int first = open(slice, O_RDWR), second = open(slice, O_RDONLY);
    char byte;

    MUST(close_range((unsigned)first, ~0U, CLOSE_RANGE_CLOEXEC) == 0);
    MUST(pread(first, &byte, 1, 0) == 1 && fcntl(first, F_GETFD) == FD_CLOEXEC);
    for (int i = 0; i < 300; i++) {
        MUST(dup2(second, second + 1) == second + 1);
        MUST(close_range((unsigned)second + 1, ~0U, 0) == 0);
        MUST(fcntl(second + 1, F_GETFD) == -1);
        MUST(pread(first, &byte, 1, 0) == 1 && pwrite(first, &byte, 1, 0) == 1);
    }
    MUST(close_range(5, 4, 0) == -1 && errno == EINVAL);
    MUST(close_range((unsigned)second, (unsigned)second, 0) == 0);
    MUST(pread(second, &byte, 1, 0) == -1 && pread(first, &byte, 1, 0) == 1);
    closefrom(first);
    MUST(pread(first, &byte, 1, 0) == -1 && open(slice, O_RDWR) == first);
    MUST(pread(first, &byte, 1, 0) == 1);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*go)(void);
    } ways[] = {{"cancel", cancel},   {"jump", jump_out}, {"fork", fork_threads},
                {"lock", lock_files}, {"wide", wide},     {"reopen", reopen},
                {"bus", bus},         {"ranges", ranges}, {"take", jump_out_of_takes}};

    MUST(argc == 4);
    slice = argv[2];
    shared = argv[3];
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
        if (strcmp(argv[1], ways[i].name) == 0) {
            ways[i].go();
            return 0;
        }
    MUST(!"such a way");
}
