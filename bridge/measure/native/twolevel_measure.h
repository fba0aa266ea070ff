/* Times of the chunks of a loop that no OpenMP runtime executes, for twolevel measure. Two macros, no library:

       #include "twolevel_measure.h"                         // gnu11 or C++11, Linux

       TWOLEVEL_LOOP("forces", 1000) {                       // in the thread that starts the loop
           …                                                 // in each thread, for each of its chunks:
           TWOLEVEL_CHUNK(first, n) { … iterations first to first + n - 1 … }
       }

   Do not leave the blocks with break, return or goto; continue ends a block. Outside twolevel measure, which sets the
   environment variable TWOLEVEL_MEASURE, a macro costs one comparison. twolevel's OpenMP tool writes the same files.

   A file per thread, PID-NUMBER.records: a header and records of the same size, mapped into memory, so that they survive
   the end of the process, however it ends. */

#ifndef TWOLEVEL_MEASURE_H
#define TWOLEVEL_MEASURE_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifndef TWOLEVEL_SHARED
#define TWOLEVEL_SHARED __attribute__((weak)) /* one object for all files of the program */
#endif

enum twolevel_kind {
    TWOLEVEL_CHUNK_RECORD = 1, /* a: first iteration, b: iterations, count: chunks in this record */
    TWOLEVEL_LOOP_RECORD = 2,  /* one thread in a loop. a: address, b: iterations, count: kind of loop */
    TWOLEVEL_WAIT_RECORD = 3,  /* one thread at the barrier after a loop */
    TWOLEVEL_TEAM_RECORD = 4,  /* a parallel region. a: address, ordinal: depth, count: threads */
    TWOLEVEL_TASK_RECORD = 5,  /* a task, begin: its creation. a: task, b: its creator or 0 */
    TWOLEVEL_RUN_RECORD = 6,   /* execution of the task before. b: ns without suspensions, count: 0 or how it was left */
    TWOLEVEL_DATA_RECORD = 7,  /* dependence of a task on data. a: task, b: address, count: type */
    TWOLEVEL_CORES_RECORD = 8, /* a thread's affinity. a: 64 processors, count: number of the first one */
};

struct twolevel_record {
    int64_t begin, end; /* CLOCK_MONOTONIC, ns; end is 0 until it is known */
    uint64_t a, b;
    uint32_t team, ordinal; /* parallel region, and loop within it: the instance of a loop */
    uint16_t kind;          /* of enum twolevel_kind; 0: not complete */
    uint16_t thread;        /* number in the team */
    uint32_t count;
};

struct twolevel_header {
    uint64_t magic;
    uint64_t records;  /* number of records after the header */
    uint64_t lost;     /* number of records for which there was no room */
    uint64_t backward; /* number of times at which the clock was before the last one */
    uint64_t forks;    /* number of OpenMP events in forked processes, which are not measured */
    uint32_t pid, number;
};

#define TWOLEVEL_MAGIC 0x31534d4c32575431u
#define TWOLEVEL_BLOCK 16384u            /* records that a file grows by: a multiple of pages */
#define TWOLEVEL_MOST (TWOLEVEL_BLOCK << 10) /* records of one file: 800 MB */
#ifndef TWOLEVEL_WHOLE
#define TWOLEVEL_WHOLE (1u << 20)        /* chunks of one thread in one loop that are recorded one by one … */
#define TWOLEVEL_STEP_BITS 17            /* … and number of records, in bits, after which twice as many are merged */
#endif

struct twolevel_thread {
    struct twolevel_header *head;
    struct twolevel_record *next, *stop; /* free records of the last block */
    int64_t last;                        /* last time, ns */
    int file;
};

struct twolevel_chunks { /* chunks of one thread in one loop */
    struct twolevel_record *open;
    uint32_t records, most; /* number of records; number of chunks in one record */
};

TWOLEVEL_SHARED uint32_t twolevel_files;

static inline int64_t twolevel_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static inline int64_t twolevel_now(struct twolevel_thread *thread) {
    int64_t now = twolevel_clock();
    if (__builtin_expect(now < thread->last, 0)) {
        thread->head->backward++;
        return thread->last;
    }
    return thread->last = now;
}

/* Map one more block; space is reserved first, since a write to a full disk would end the process. */
static inline int twolevel_grow(struct twolevel_thread *thread, uint64_t from) {
    const uint64_t size = (uint64_t)TWOLEVEL_BLOCK * sizeof(struct twolevel_record);
    if (from >= TWOLEVEL_MOST || posix_fallocate(thread->file, (off_t)(from * sizeof(struct twolevel_record)), (off_t)size))
        return 0;
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, thread->file,
                    (off_t)(from * sizeof(struct twolevel_record)));
    if (at == MAP_FAILED)
        return 0;
    thread->next = (struct twolevel_record *)at;
    thread->stop = thread->next + TWOLEVEL_BLOCK;
    return 1;
}

static inline int twolevel_open(struct twolevel_thread *thread, const char *folder) {
    char name[4096];
    uint32_t number;
    int known = errno;
    do {
        number = __atomic_fetch_add(&twolevel_files, 1, __ATOMIC_RELAXED);
        int length = snprintf(name, sizeof name, "%s/%ld-%u.records", folder, (long)getpid(), number);
        thread->file = length < (int)sizeof name ? open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    } while (thread->file < 0 && errno == EEXIST); /* a program that this process executed before */
    int done = thread->file >= 0 && twolevel_grow(thread, 0);
    if (thread->file >= 0 && !done)
        close(thread->file);
    if (done) {
        thread->head = (struct twolevel_header *)(void *)thread->next++;
        thread->head->pid = (uint32_t)getpid();
        thread->head->number = number;
        thread->head->magic = TWOLEVEL_MAGIC;
    }
    errno = known;
    return done;
}

/* A new record without a kind, or NULL: there is no room. */
static inline struct twolevel_record *twolevel_add(struct twolevel_thread *thread) {
    if (__builtin_expect(thread->next == thread->stop, 0)) {
        int known = errno;
        int grown = twolevel_grow(thread, thread->head->records + 1);
        errno = known;
        if (!grown) {
            thread->head->lost++;
            return NULL;
        }
    }
    thread->head->records++;
    return thread->next++;
}

static inline void twolevel_end_chunk(struct twolevel_chunks *chunks, int64_t now) {
    if (chunks->open)
        chunks->open->end = now;
}

/* Begin a chunk; the open one has ended. */
static inline void twolevel_begin_chunk(struct twolevel_thread *thread, struct twolevel_chunks *chunks, int64_t now,
                                        uint64_t first, uint64_t n, uint32_t team, uint32_t ordinal, uint16_t number) {
    struct twolevel_record *open = chunks->open;
    if (open && open->count < chunks->most) {
        open->b += n;
        open->count++;
        return;
    }
    int grows = thread->next == thread->stop;
    chunks->open = open = twolevel_add(thread);
    if (!open)
        return;
    if (++chunks->records > TWOLEVEL_WHOLE)
        chunks->most = 2u << ((chunks->records - TWOLEVEL_WHOLE - 1) >> TWOLEVEL_STEP_BITS);
    open->begin = __builtin_expect(grows, 0) ? twolevel_now(thread) : now; /* not the time in which the file grew */
    open->a = first;
    open->b = n;
    open->team = team;
    open->ordinal = ordinal;
    open->thread = number;
    open->count = 1;
    open->kind = TWOLEVEL_CHUNK_RECORD;
}

#ifndef TWOLEVEL_TOOL

#define TWOLEVEL_OWN 0x40000000u /* ordinal of loops of these macros, which number loops instead of regions */

struct twolevel_program {
    const char *folder;  /* NULL: nothing is measured */
    uint32_t known;      /* whether the folder is known */
    uint32_t team;       /* the present loop, from 1 */
    uint32_t threads;    /* number of threads that have measured */
    struct twolevel_record *loop;
};

struct twolevel_worker {
    struct twolevel_thread thread;
    struct twolevel_chunks chunks;
    uint32_t team; /* its loop */
    uint16_t number;
    uint16_t ready; /* 1: open; 2: impossible */
};

TWOLEVEL_SHARED struct twolevel_program twolevel_program;
TWOLEVEL_SHARED __thread struct twolevel_worker twolevel_worker;

static inline void twolevel_forked(void) { /* the new process writes other files */
    memset(&twolevel_worker, 0, sizeof twolevel_worker);
    twolevel_program.threads = 0;
    twolevel_files = 0;
}

static inline struct twolevel_worker *twolevel_ready(void) {
    if (__builtin_expect(!__atomic_load_n(&twolevel_program.known, __ATOMIC_ACQUIRE), 0)) {
        const char *folder = getenv("TWOLEVEL_MEASURE");
        if (folder && !__atomic_exchange_n(&twolevel_program.folder, folder, __ATOMIC_RELAXED))
            pthread_atfork(NULL, NULL, twolevel_forked);
        __atomic_store_n(&twolevel_program.known, 1, __ATOMIC_RELEASE);
    }
    if (__builtin_expect(!twolevel_program.folder, 1))
        return NULL;
    struct twolevel_worker *self = &twolevel_worker;
    if (__builtin_expect(!self->ready, 0)) {
        self->ready = twolevel_open(&self->thread, twolevel_program.folder) ? 1 : 2;
        self->number = (uint16_t)__atomic_fetch_add(&twolevel_program.threads, 1, __ATOMIC_RELAXED);
    }
    return self->ready == 1 ? self : NULL;
}

/* The name of a loop goes into the file PID.names: its number, and the name. */
static inline void twolevel_name(const char *folder, uint32_t team, const char *name) {
    char path[4096], line[1024];
    snprintf(path, sizeof path, "%s/%ld.names", folder, (long)getpid());
    int length = snprintf(line, sizeof line, "loop\t%u\t%.900s\n", team, name);
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file >= 0) {
        ssize_t written = write(file, line, (size_t)length);
        (void)written;
        close(file);
    }
}

static inline int twolevel_loop_begins(const char *name, uint64_t n) {
    struct twolevel_worker *self = twolevel_ready();
    if (!self)
        return 1;
    uint32_t team = __atomic_add_fetch(&twolevel_program.team, 1, __ATOMIC_RELEASE);
    twolevel_name(twolevel_program.folder, team, name);
    struct twolevel_record *loop = twolevel_program.loop = twolevel_add(&self->thread);
    if (loop) {
        loop->begin = twolevel_now(&self->thread);
        loop->b = n;
        loop->team = team;
        loop->ordinal = TWOLEVEL_OWN;
        loop->thread = self->number;
        loop->kind = TWOLEVEL_LOOP_RECORD;
    }
    return 1;
}

static inline int twolevel_loop_ends(void) {
    struct twolevel_worker *self = twolevel_ready();
    if (self && twolevel_program.loop)
        twolevel_program.loop->end = twolevel_now(&self->thread);
    return 0;
}

static inline int twolevel_chunk_begins(uint64_t first, uint64_t n) {
    struct twolevel_worker *self = twolevel_ready();
    if (!self)
        return 1;
    uint32_t team = __atomic_load_n(&twolevel_program.team, __ATOMIC_ACQUIRE);
    if (team != self->team || !self->chunks.most) {
        self->team = team;
        self->chunks.open = NULL;
        self->chunks.records = 0;
        self->chunks.most = 1;
    }
    twolevel_begin_chunk(&self->thread, &self->chunks, twolevel_now(&self->thread), first, n, team,
                         TWOLEVEL_OWN, self->number);
    return 1;
}

static inline int twolevel_chunk_ends(void) {
    struct twolevel_worker *self = twolevel_ready();
    if (self)
        twolevel_end_chunk(&self->chunks, twolevel_now(&self->thread));
    return 0;
}

#define TWOLEVEL_LOOP(name, n) \
    for (int twolevel_in = twolevel_loop_begins((name), (uint64_t)(n)); twolevel_in; twolevel_in = twolevel_loop_ends())
#define TWOLEVEL_CHUNK(first, n) \
    for (int twolevel_at = twolevel_chunk_begins((uint64_t)(first), (uint64_t)(n)); twolevel_at; \
         twolevel_at = twolevel_chunk_ends())

#endif
#endif
