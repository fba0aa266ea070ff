/* What the clock does by itself instead of the C library, and must do as that does. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_rwlock_t plain = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t writers = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

static void *write_under(void *lock) {
    pthread_rwlock_wrlock(lock);
    puts("a writer");
    pthread_rwlock_unlock(lock);
    return 0;
}

static void try_all(const char *when, pthread_rwlock_t *lock) {
    int read = pthread_rwlock_tryrdlock(lock);
    if (!read) pthread_rwlock_unlock(lock);
    int write = pthread_rwlock_trywrlock(lock);
    if (!write) pthread_rwlock_unlock(lock);
    printf("%s: read %s, write %s\n", when, read ? strerror(read) : "yes", write ? strerror(write) : "yes");
}

static void locks(const char *name, pthread_rwlock_t *lock) {
    pthread_t writer;
    puts(name);
    try_all("free", lock);
    pthread_rwlock_rdlock(lock);
    pthread_rwlock_rdlock(lock);
    try_all("read twice", lock);
    pthread_rwlock_unlock(lock);
    try_all("read", lock);
    pthread_create(&writer, 0, write_under, lock);
    usleep(200000);
    try_all("read, and awaited", lock);
    pthread_rwlock_unlock(lock);
    pthread_join(writer, 0);
    pthread_rwlock_wrlock(lock);
    try_all("written", lock);
    pthread_rwlock_unlock(lock);
    fflush(stdout);
    pid_t child = fork(); /* it goes on with the C library's own */
    if (!child) {
        try_all("free, in a child", lock);
        pthread_rwlock_wrlock(lock);
        try_all("written, in a child", lock);
        fflush(stdout);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    try_all("free again", lock);
}

static void memory(void) {
    size_t sizes[] = {1, 24, 100, 1032, 1033, 5000, 1 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char *volatile used = malloc(sizes[i]), *volatile clean;
        size_t dirty = 0;
        memset(used, 255, sizes[i]);
        free(used);
        clean = calloc(1, sizes[i]);
        for (size_t k = 0; k < sizes[i]; k++) dirty += clean[k] != 0;
        printf("%zu bytes: %zu not 0\n", sizes[i], dirty);
        free(clean);
    }
    volatile size_t many = SIZE_MAX / 2;
    printf("too many: %s\n", calloc(many, 3) ? "given" : "refused");
}

static void signals(void) {
    struct sigaction ignored = {.sa_handler = SIG_IGN}, was, is;
    int ends[2];
    sigaction(SIGPIPE, &ignored, &was);
    sigaction(SIGPIPE, 0, &is);
    printf("ignored %d, before %d\n", is.sa_handler == SIG_IGN, was.sa_handler == SIG_DFL);
    if (pipe(ends)) abort();
    close(ends[0]);
    printf("nobody reads: %s\n", write(ends[1], "x", 1) < 0 ? strerror(errno) : "written");
    sigaction(SIGPIPE, &was, &is);
    sigaction(SIGPIPE, 0, &was);
    printf("ignored %d, before %d\n", was.sa_handler == SIG_IGN, is.sa_handler == SIG_IGN);
    fflush(stdout);
    pid_t child = fork(); /* where it is as it was asked for */
    if (!child) {
        if (write(ends[1], "x", 1)) {
        }
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    printf("a child: signal %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

int main(void) {
    locks("plain", &plain);
    locks("for writers first", &writers);
    memory();
    signals();
    return 0;
}
