/* A clock that stands still, for a program with many threads; preloaded into it (LD_PRELOAD).
 *
 * One of slurmctld's threads runs at a time, until it waits: for a lock, a condition, another thread, a message or an instant. Then
 * the thread that has been ready for longest continues. When all wait, only the clock or a message can wake one: the clock moves to
 * the next instant for which a thread waits, unless the conductor (bridge/replay/clock.py) has an earlier event, or a message was
 * sent: then it is the conductor's turn. No time passes while a thread computes, so a run depends on its input alone.
 *
 * The timer and the date are two numbers: the conductor may move the date without effect on timers (`skipped`).
 * With `rate` > 0 the clock runs this many times as fast as real time instead, also while threads compute.
 *
 * No port is opened. Sockets that would listen on one, or connect to one, are in the folder TWOLEVEL_REPLAY_SOCKETS: a program with
 * the clock listens on `slurmctld` and connects to `nodes`, and first sends the intended address; another program, without
 * TWOLEVEL_REPLAY_CLOCK, connects to `requests`. Data arrive as soon as they are sent, which no network guarantees.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define NS 1000000000LL
#define NEVER INT64_MAX
#define CONDUCTOR 0
#define PROGRAM 1
#define SMALL_BYTES 1032 /* of the largest piece that glibc keeps for its thread */

/* Shared by the conductor and the program (bridge/replay/clock.py). All but `turn` is written only by the one whose turn it is. */
struct shared {
    _Atomic uint32_t turn;
    uint32_t threads;    /* number */
    int64_t timer;       /* the instant, ns */
    int64_t skipped;     /* date - timer */
    int64_t until;       /* waits for earlier instants end without the conductor */
    int64_t since;       /* with a rate: CLOCK_MONOTONIC at which the clock showed `timer` */
    double rate;
    int64_t wake;        /* the next instant that a thread waits for, or NEVER */
    int64_t wakes, turns; /* number of moves to such instants, and of turns of the conductor */
    int64_t no_room;     /* errno if the program could not write a file; else 0 */
};

enum kind { NONE, MUTEX, RWLOCK, CONDITION, THREAD, MESSAGE };
struct thread {
    struct thread *before, *after;   /* all threads, by age */
    struct thread *queued;           /* the next one that is ready */
    struct thread *next, **at;       /* others that wait for something in the same bucket */
    _Atomic uint32_t go;
    int waits, ready, timed_out;
    int saves;                       /* it saves the state for a restart, which never comes */
    enum kind kind;
    const void *what;
    int64_t wake;
    struct pollfd *fds;
    nfds_t n_fds;
    const void *writes;              /* the lock that it wants to write under, until it may */
    pthread_t self;
    void *(*function)(void *);
    void *argument;
};

static struct shared *shared;
static const char *sockets;
static struct thread *oldest, *newest, *first_ready, **last_ready = &first_ready;
static __thread struct thread *me __attribute__((tls_model("initial-exec"))); /* none: functions are as they are without us */
static int sent, n_writers;

/* ---- the functions that are replaced ---- */
#define REAL(name) real_##name
#define ALL(f) \
    f(int, poll, (struct pollfd *, nfds_t, int)) \
    f(int, pthread_mutex_lock, (pthread_mutex_t *)) f(int, pthread_mutex_trylock, (pthread_mutex_t *)) \
    f(int, pthread_mutex_unlock, (pthread_mutex_t *)) \
    f(int, pthread_rwlock_rdlock, (pthread_rwlock_t *)) f(int, pthread_rwlock_tryrdlock, (pthread_rwlock_t *)) \
    f(int, pthread_rwlock_wrlock, (pthread_rwlock_t *)) f(int, pthread_rwlock_trywrlock, (pthread_rwlock_t *)) \
    f(int, pthread_rwlock_unlock, (pthread_rwlock_t *)) \
    f(int, pthread_cond_wait, (pthread_cond_t *, pthread_mutex_t *)) \
    f(int, pthread_cond_timedwait, (pthread_cond_t *, pthread_mutex_t *, const struct timespec *)) \
    f(int, pthread_cond_signal, (pthread_cond_t *)) f(int, pthread_cond_broadcast, (pthread_cond_t *)) \
    f(int, pthread_create, (pthread_t *, const pthread_attr_t *, void *(*)(void *), void *)) \
    f(int, pthread_join, (pthread_t, void **)) f(int, sched_yield, (void)) f(int, sigwait, (const sigset_t *, int *)) \
    f(int, nanosleep, (const struct timespec *, struct timespec *)) \
    f(int, clock_nanosleep, (clockid_t, int, const struct timespec *, struct timespec *)) \
    f(int, sigaction, (int, const struct sigaction *, struct sigaction *)) \
    f(ssize_t, write, (int, const void *, size_t)) f(int, fflush, (FILE *)) \
    f(int, fsync, (int)) f(int, fdatasync, (int)) \
    f(int, bind, (int, const struct sockaddr *, socklen_t)) f(int, connect, (int, const struct sockaddr *, socklen_t)) \
    f(int, accept, (int, struct sockaddr *, socklen_t *)) f(int, accept4, (int, struct sockaddr *, socklen_t *, int)) \
    f(int, getsockname, (int, struct sockaddr *, socklen_t *)) f(int, getpeername, (int, struct sockaddr *, socklen_t *)) \
    f(int, setsockopt, (int, int, int, const void *, socklen_t)) \
    f(int, prctl, (int, unsigned long, unsigned long, unsigned long, unsigned long)) \
    f(ssize_t, send, (int, const void *, size_t, int)) \
    f(int, close, (int))
#define DECLARE(type, name, arguments) static type(*real_##name) arguments;
ALL(DECLARE)
static void *found(const char *name) {
    /* Conditions have an older version that is found first. */
    void *f = strncmp(name, "pthread_cond", 12) == 0 ? dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2") : 0;
    return f ? f : dlsym(RTLD_NEXT, name);
}
static void find(void) {
#define FIND(type, name, arguments) real_##name = (type(*) arguments)found(#name);
    ALL(FIND)
}

/* ---- time ---- */
static int64_t monotonic(void) {
    struct timespec t;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
    return t.tv_sec * NS + t.tv_nsec;
}
static int64_t timer(void) {
    return shared->rate > 0 ? shared->timer + (int64_t)((monotonic() - shared->since) * shared->rate) : shared->timer;
}
static int64_t date(void) {
    struct timespec t;
    if (shared) return timer() + shared->skipped;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &t);
    return t.tv_sec * NS + t.tv_nsec;
}
static int64_t of_spec(const struct timespec *t) {
    return t->tv_sec > NEVER / NS / 2 ? NEVER / 2 : t->tv_sec * NS + t->tv_nsec;
}

/* ---- whose turn it is ---- */
static void futex_wait(_Atomic uint32_t *word, uint32_t while_it_is, int between_processes) {
    while (atomic_load(word) == while_it_is)
        syscall(SYS_futex, word, between_processes ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE, while_it_is, 0, 0, 0);
}
static void now_ready(struct thread *t) {
    if (t->at) { /* it waits in a bucket no more */
        *t->at = t->next;
        if (t->next) t->next->at = t->at;
        t->at = 0;
    }
    t->waits = 0;
    t->ready = 1;
    t->queued = 0;
    *last_ready = t;
    last_ready = &t->queued;
}
static struct thread *earliest(void) {
    struct thread *best = 0;
    for (struct thread *t = oldest; t; t = t->after)
        if (t->waits && t->wake != NEVER && (!best || t->wake < best->wake)) best = t;
    return best;
}
/* Whoever has the turn, and sleeps for less long than all others and until nothing else happens, simply goes on. */
static int only_i_wake(int64_t wake) {
    if (first_ready || sent || shared->rate > 0 || wake >= shared->until) return 0;
    for (struct thread *t = oldest; t; t = t->after)
        if (t->waits && t->wake <= wake) return 0;
    if (wake > shared->timer) shared->timer = wake;
    shared->wakes++;
    return 1;
}
static void ask_conductor(void) {
    sent = 0;
    shared->turns++;
    atomic_store(&shared->turn, CONDUCTOR);
    syscall(SYS_futex, &shared->turn, FUTEX_WAKE, 1, 0, 0, 0);
    futex_wait(&shared->turn, CONDUCTOR, 1);
}
static void look_for_messages(void) {
    for (struct thread *t = oldest; t; t = t->after)
        if (t->waits && t->kind == MESSAGE && real_poll(t->fds, t->n_fds, 0) != 0) now_ready(t);
}
static void wake_up(struct thread *t) {
    t->timed_out = 1;
    shared->wakes++;
    now_ready(t);
}
static struct thread *next_thread(void) {
    while (!first_ready) {
        struct thread *t = earliest();
        if (!sent && shared->rate == 0 && t && t->wake < shared->until) {
            if (t->wake > shared->timer) shared->timer = t->wake;
            wake_up(t);
            continue;
        }
        shared->wake = t ? t->wake : NEVER;
        ask_conductor();
        look_for_messages();
        if (!first_ready && t && t->wake <= timer()) wake_up(t);
    }
    struct thread *t = first_ready;
    first_ready = t->queued;
    if (!first_ready) last_ready = &first_ready;
    t->ready = 0;
    return t;
}
static void give_turn(void) { /* I wait, or am ready, or am gone; returns when it is my turn */
    struct thread *mine = me, *t = next_thread();
    if (t == mine) return;
    int stays = mine->waits || mine->ready;
    atomic_store(&t->go, 1);
    syscall(SYS_futex, &t->go, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
    if (!stays) return;
    futex_wait(&mine->go, 0, 0);
    atomic_store(&mine->go, 0);
}

#define BUCKETS 4096
static struct thread *waiting[BUCKETS];
static struct thread **bucket(const void *what) { return &waiting[((uintptr_t)what >> 3) * 2654435761U % BUCKETS]; }

static int wait_for(enum kind kind, const void *what, int64_t wake) { /* ETIMEDOUT, or 0 */
    me->kind = kind;
    me->what = what;
    me->wake = wake;
    me->timed_out = 0;
    me->waits = 1;
    if (what) {
        struct thread **p = bucket(what);
        while (*p) p = &(*p)->next;
        me->next = 0;
        me->at = p;
        *p = me;
    }
    give_turn();
    return me->timed_out ? ETIMEDOUT : 0;
}
static void go_on(enum kind kind, const void *what, int all) { /* those that wait for it are ready, in the order in which they came */
    for (struct thread *t = *bucket(what), *next; t; t = next) {
        next = t->next;
        if (t->kind != kind || t->what != what) continue;
        now_ready(t);
        if (!all) return;
    }
}
static int64_t after(int64_t ns) {
    int64_t now = timer();
    return ns > NEVER - now ? NEVER : now + ns;
}

/* ---- locks ---- */
int pthread_mutex_lock(pthread_mutex_t *m) {
    if (!real_pthread_mutex_lock) find();
    if (!me) return real_pthread_mutex_lock(m);
    for (;;) {
        int rc = real_pthread_mutex_trylock(m);
        if (rc != EBUSY) return rc;
        wait_for(MUTEX, m, NEVER);
    }
}
int pthread_mutex_unlock(pthread_mutex_t *m) {
    if (!real_pthread_mutex_unlock) find();
    int rc = real_pthread_mutex_unlock(m);
    if (me) go_on(MUTEX, m, 0);
    return rc;
}
#define WRITERS_PHASE 1U /* glibc's, in nptl/pthread_rwlock_common.c */
#define WRITTEN 2U
#define ONE_READER 8U
static int others_write(const pthread_rwlock_t *l) { /* whether one waits to write, and readers have to let it */
    if (!n_writers || l->__data.__flags != PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP) return 0;
    for (struct thread *t = oldest; t; t = t->after)
        if (t->writes == l) return 1;
    return 0;
}
/* Slurm locks a list for each step through it. As no other thread runs, what glibc would do to a lock with instructions that
 * processors agree on is done here with plain ones, in its own fields, which a child of fork goes on with. */
static int try_write(pthread_rwlock_t *l) {
    if (l->__data.__readers & WRITTEN || l->__data.__readers / ONE_READER) return EBUSY;
    l->__data.__readers = WRITTEN | WRITERS_PHASE;
    l->__data.__wrphase_futex = 1;
    return 0;
}
static int try_read(pthread_rwlock_t *l) {
    if (l->__data.__readers & WRITTEN || others_write(l)) return EBUSY;
    l->__data.__readers = (l->__data.__readers & ~WRITERS_PHASE) + ONE_READER;
    l->__data.__wrphase_futex = 0;
    return 0;
}
int pthread_rwlock_rdlock(pthread_rwlock_t *l) {
    if (!me) return real_pthread_rwlock_rdlock(l);
    while (try_read(l)) wait_for(RWLOCK, l, NEVER);
    return 0;
}
int pthread_rwlock_tryrdlock(pthread_rwlock_t *l) { return me ? try_read(l) : real_pthread_rwlock_tryrdlock(l); }
int pthread_rwlock_wrlock(pthread_rwlock_t *l) {
    if (!me) return real_pthread_rwlock_wrlock(l);
    while (try_write(l)) {
        if (!me->writes) n_writers++;
        me->writes = l;
        wait_for(RWLOCK, l, NEVER);
    }
    if (me->writes) n_writers--;
    me->writes = 0;
    return 0;
}
int pthread_rwlock_trywrlock(pthread_rwlock_t *l) { return me ? try_write(l) : real_pthread_rwlock_trywrlock(l); }
int pthread_rwlock_unlock(pthread_rwlock_t *l) {
    if (!me) return real_pthread_rwlock_unlock(l);
    if (l->__data.__readers & WRITTEN) {
        l->__data.__readers = 0;
        l->__data.__wrphase_futex = 0;
    } else l->__data.__readers -= ONE_READER;
    go_on(RWLOCK, l, 1);
    return 0;
}

/* ---- conditions ---- */
static int wait_condition(pthread_cond_t *c, pthread_mutex_t *m, int64_t wake) {
    pthread_mutex_unlock(m);
    while (me->saves) wait_for(NONE, 0, NEVER);
    int rc = wait_for(CONDITION, c, wake);
    pthread_mutex_lock(m);
    return rc;
}
int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m) {
    return me ? wait_condition(c, m, NEVER) : real_pthread_cond_wait(c, m);
}
int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until) {
    if (!me) return real_pthread_cond_timedwait(c, m, until);
    return wait_condition(c, m, of_spec(until) - shared->skipped);
}
int pthread_cond_signal(pthread_cond_t *c) {
    if (!me) return real_pthread_cond_signal(c);
    go_on(CONDITION, c, 0);
    return 0;
}
int pthread_cond_broadcast(pthread_cond_t *c) {
    if (!me) return real_pthread_cond_broadcast(c);
    go_on(CONDITION, c, 1);
    return 0;
}

/* ---- threads ---- */
static struct thread *new_thread(void) {
    struct thread *t = calloc(1, sizeof *t);
    if (!t) abort();
    t->wake = NEVER;
    t->before = newest;
    if (newest) newest->after = t;
    else oldest = t;
    newest = t;
    shared->threads++;
    return t;
}
static void end_thread(void *ended) {
    struct thread *t = ended;
    go_on(THREAD, t, 1);
    *(t->before ? &t->before->after : &oldest) = t->after;
    *(t->after ? &t->after->before : &newest) = t->before;
    shared->threads--;
    give_turn();
    me = 0;
    free(t);
}
static void *run_thread(void *started) {
    struct thread *t = started;
    void *result;
    me = t;
    futex_wait(&t->go, 0, 0);
    atomic_store(&t->go, 0);
    pthread_cleanup_push(end_thread, t);
    result = t->function(t->argument);
    pthread_cleanup_pop(1);
    return result;
}
int pthread_create(pthread_t *id, const pthread_attr_t *how, void *(*function)(void *), void *argument) {
    if (!me) {
        if (!real_pthread_create) find();
        return real_pthread_create(id, how, function, argument);
    }
    struct thread *t = new_thread();
    t->function = function;
    t->argument = argument;
    int rc = real_pthread_create(&t->self, how, run_thread, t);
    if (rc) { /* it has never been */
        newest = t->before;
        *(newest ? &newest->after : &oldest) = 0;
        shared->threads--;
        free(t);
        return rc;
    }
    *id = t->self;
    now_ready(t);
    return 0;
}
int pthread_join(pthread_t id, void **result) {
    if (me)
        for (struct thread *t = oldest; t; t = t->after)
            if (pthread_equal(t->self, id)) {
                wait_for(THREAD, t, NEVER);
                break;
            }
    return real_pthread_join(id, result);
}
int sched_yield(void) {
    if (!me) return real_sched_yield();
    now_ready(me);
    give_turn();
    return 0;
}
int sigwait(const sigset_t *set, int *signal) {
    if (!me) return real_sigwait(set, signal);
    for (;;) wait_for(NONE, 0, NEVER); /* none is sent: the program is killed at the end of its work */
}

/* slurmctld saves all jobs and nodes every few seconds for a restart, which a replay does not need: the thread that does this is
 * recognised by its name and never continues once it waits. */
int prctl(int option, ...) {
    unsigned long a[4];
    va_list more;
    va_start(more, option);
    for (int i = 0; i < 4; i++) a[i] = va_arg(more, unsigned long);
    va_end(more);
    if (!real_prctl) find();
    if (me && option == PR_SET_NAME && !strcmp((const char *)a[0], "sstate")) me->saves = 1;
    return real_prctl(option, a[0], a[1], a[2], a[3]);
}

/* ---- reading the time, and waiting for an instant ---- */
time_t time(time_t *to) {
    time_t t = date() / NS;
    if (to) *to = t;
    return t;
}
int gettimeofday(struct timeval *restrict to, void *restrict zone) {
    int64_t now = date();
    (void)zone;
    to->tv_sec = now / NS;
    to->tv_usec = now % NS / 1000;
    return 0;
}
int clock_gettime(clockid_t id, struct timespec *to) {
    int real = id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE;
    if (!shared || !(real || id == CLOCK_MONOTONIC || id == CLOCK_MONOTONIC_COARSE || id == CLOCK_MONOTONIC_RAW || id == CLOCK_BOOTTIME))
        return syscall(SYS_clock_gettime, id, to) < 0 ? -1 : 0;
    int64_t now = real ? date() : timer();
    to->tv_sec = now / NS;
    to->tv_nsec = now % NS;
    return 0;
}
int nanosleep(const struct timespec *d, struct timespec *left) {
    if (!me) {
        if (!real_nanosleep) find();
        return real_nanosleep(d, left);
    }
    int64_t wake = after(of_spec(d));
    if (!only_i_wake(wake)) wait_for(NONE, 0, wake);
    return 0;
}
int clock_nanosleep(clockid_t id, int flags, const struct timespec *d, struct timespec *left) {
    if (!me) return real_clock_nanosleep(id, flags, d, left);
    if (!(flags & TIMER_ABSTIME)) return nanosleep(d, left);
    wait_for(NONE, 0, of_spec(d) - (id == CLOCK_REALTIME ? shared->skipped : 0));
    return 0;
}
int usleep(useconds_t us) {
    struct timespec d = {us / 1000000, us % 1000000 * 1000};
    return nanosleep(&d, 0);
}
unsigned sleep(unsigned s) {
    struct timespec d = {s, 0};
    nanosleep(&d, 0);
    return 0;
}
int poll(struct pollfd *fds, nfds_t n, int timeout) {
    if (!real_poll) find();
    if (!me) return real_poll(fds, n, timeout);
    int rc = real_poll(fds, n, 0);
    if (rc || !timeout) return rc;
    me->fds = fds;
    me->n_fds = n;
    wait_for(MESSAGE, 0, timeout < 0 ? NEVER : after(timeout * 1000000LL));
    return real_poll(fds, n, 0);
}

/* ---- memory and signals: the same, only sooner ---- */
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t);
void *calloc(size_t n, size_t size) { /* glibc's does not look among the small pieces that its thread has freed */
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes) || bytes > SMALL_BYTES) return __libc_calloc(n, size);
    void *p = __libc_malloc(bytes);
    return p ? memset(p, 0, bytes) : 0;
}
/* Slurm ignores SIGPIPE during each send, which makes the kernel visit all threads, perhaps one per node: the signal is ignored from
 * the beginning on, and the callers' settings are only stored. */
static struct sigaction of_pipes;
int sigaction(int number, const struct sigaction *new, struct sigaction *old) {
    if (!real_sigaction) find();
    if (!me || number != SIGPIPE) return real_sigaction(number, new, old);
    struct sigaction was = of_pipes;
    if (new) of_pipes = *new;
    if (old) *old = was;
    return 0;
}

/* ---- files: that one cannot be written is for the conductor to know, as Slurm goes on without its log ---- */
static void note_no_room(void) {
    if (me && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) shared->no_room = errno;
}
ssize_t write(int fd, const void *data, size_t n) {
    if (!real_write) find();
    ssize_t rc = real_write(fd, data, n);
    if (rc < 0) note_no_room();
    return rc;
}
int fflush(FILE *file) {
    if (!real_fflush) find();
    int rc = real_fflush(file);
    if (rc) note_no_room();
    return rc;
}
/* What is kept for a restart is of no use. */
int fsync(int fd) { return me ? 0 : real_fsync(fd); }
int fdatasync(int fd) { return me ? 0 : real_fdatasync(fd); }

/* ---- sockets ---- */
static int of_network(const struct sockaddr *a) { return sockets && a && (a->sa_family == AF_INET || a->sa_family == AF_INET6); }
static int reach(const char *name, int listening, int *fd) { /* a socket of the folder, by a short path, however long the folder's is */
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int folder = open(sockets, O_PATH | O_DIRECTORY | O_CLOEXEC), rc = -1;
    if (folder < 0) return -1;
    snprintf(to.sun_path, sizeof to.sun_path, "/proc/self/fd/%d/%s", folder, name);
    if (*fd < 0) *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | (listening ? 0 : SOCK_NONBLOCK), 0);
    if (*fd >= 0) rc = (listening ? real_bind : real_connect)(*fd, (struct sockaddr *)&to, sizeof to);
    int why = errno;
    real_close(folder);
    errno = why;
    return rc;
}
static int put_in_place(int own, int fd) { /* the socket under the number of another, which is closed */
    int flags = fcntl(fd, F_GETFL), close_on_exec = fcntl(fd, F_GETFD) & FD_CLOEXEC;
    int rc = fcntl(own, F_SETFL, flags) < 0 || dup3(own, fd, close_on_exec ? O_CLOEXEC : 0) < 0 ? -1 : 0;
    real_close(own);
    return rc;
}
int bind(int fd, const struct sockaddr *a, socklen_t n) {
    if (!real_bind) find();
    if (!me || !of_network(a)) return real_bind(fd, a, n);
    int own = -1;
    if (reach("slurmctld", 1, &own) < 0) {
        if (own >= 0) real_close(own);
        return -1;
    }
    return put_in_place(own, fd);
}
int connect(int fd, const struct sockaddr *a, socklen_t n) {
    if (!real_connect) find();
    if (!of_network(a)) return real_connect(fd, a, n);
    int own = -1, rc;
    while ((rc = reach(me ? "nodes" : "requests", 0, &own)) < 0 && errno == EAGAIN && me) ask_conductor(); /* many knock */
    if (rc < 0) {
        if (own >= 0) real_close(own);
        return -1;
    }
    if (me) { /* the intended address */
        unsigned char meant[6] = {0};
        if (a->sa_family == AF_INET) {
            memcpy(meant, &((const struct sockaddr_in *)a)->sin_addr, 4);
            memcpy(meant + 4, &((const struct sockaddr_in *)a)->sin_port, 2);
        }
        if (real_send(own, meant, sizeof meant, MSG_NOSIGNAL) != sizeof meant) {
            real_close(own);
            errno = ECONNREFUSED;
            return -1;
        }
        sent = 1;
    }
    return put_in_place(own, fd);
}
static void as_of_network(struct sockaddr *a, socklen_t *n, socklen_t room) { /* a caller expects an address of a network */
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (!sockets || !a || !n || a->sa_family != AF_UNIX) return;
    memcpy(a, &in, room < sizeof in ? room : sizeof in);
    *n = sizeof in;
}
int accept(int fd, struct sockaddr *a, socklen_t *n) {
    socklen_t room = n ? *n : 0;
    int rc = real_accept(fd, a, n);
    if (rc >= 0) as_of_network(a, n, room);
    return rc;
}
int accept4(int fd, struct sockaddr *a, socklen_t *n, int flags) {
    socklen_t room = n ? *n : 0;
    int rc = real_accept4(fd, a, n, flags);
    if (rc >= 0) as_of_network(a, n, room);
    return rc;
}
int getsockname(int fd, struct sockaddr *restrict a, socklen_t *restrict n) {
    socklen_t room = *n;
    int rc = real_getsockname(fd, a, n);
    if (!rc) as_of_network(a, n, room);
    return rc;
}
int getpeername(int fd, struct sockaddr *restrict a, socklen_t *restrict n) {
    socklen_t room = *n;
    int rc = real_getpeername(fd, a, n);
    if (!rc) as_of_network(a, n, room);
    return rc;
}
int setsockopt(int fd, int level, int name, const void *value, socklen_t n) {
    int rc = real_setsockopt(fd, level, name, value, n);
    return rc && sockets && level == IPPROTO_TCP ? 0 : rc;
}
/* What is sent is for the conductor to see; files are written, too, and that is no message. */
ssize_t send(int fd, const void *data, size_t n, int flags) {
    if (!real_send) find();
    if (me) sent = 1;
    return real_send(fd, data, n, flags);
}

/* ---- the beginning ---- */
static pid_t parent;
static void before_fork(void) { parent = getpid(); }
static void die_with(pid_t other) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != other) _exit(1); /* it has gone already */
}
static void in_child(void) { /* it helps with scripts, and is no part of this: all is as without us, but for the time */
    me = 0;
    real_sigaction(SIGPIPE, &of_pipes, 0);
    die_with(parent);
}
__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("TWOLEVEL_REPLAY_CLOCK"), *starter = getenv("TWOLEVEL_REPLAY_PARENT");
    find();
    if (!starter) return;
    sockets = getenv("TWOLEVEL_REPLAY_SOCKETS");
    die_with(atoi(starter));
    if (!path) return;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *p = fd < 0 ? MAP_FAILED : mmap(0, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) _exit(1);
    real_close(fd);
    shared = p;
    shared->threads = 0;
    me = new_thread();
    me->self = pthread_self();
    struct sigaction ignored = {.sa_handler = SIG_IGN};
    real_sigaction(SIGPIPE, &ignored, &of_pipes);
    real_sigaction(SIGXFSZ, &ignored, 0); /* errors are returned instead */
    pthread_atfork(before_fork, 0, in_child);
}

/* ---- for the conductor, which loads this library, too, but does not run under it ---- */
int twolevel_clock_pass(struct shared *s, int64_t timeout_ns) { /* give the turn, and wait for it: 0, or 1 if that takes too long */
    struct timespec t = {timeout_ns / NS, timeout_ns % NS};
    if (atomic_load(&s->turn) == PROGRAM) return 1;
    atomic_store(&s->turn, PROGRAM);
    syscall(SYS_futex, &s->turn, FUTEX_WAKE, 1, 0, 0, 0);
    syscall(SYS_futex, &s->turn, FUTEX_WAIT, PROGRAM, &t, 0, 0);
    return atomic_load(&s->turn) == PROGRAM;
}
int twolevel_clock_await(struct shared *s, int64_t timeout_ns) {
    struct timespec t = {timeout_ns / NS, timeout_ns % NS};
    syscall(SYS_futex, &s->turn, FUTEX_WAIT, PROGRAM, &t, 0, 0);
    return atomic_load(&s->turn) == PROGRAM;
}
size_t twolevel_clock_size(void) { return sizeof(struct shared); }
