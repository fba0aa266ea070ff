/* OpenMP tool (OMPT) of twolevel measure: records chunks, waits and tasks of a program that LLVM's OpenMP runtime executes.

   LLVM's libomp is loaded before the program's libraries (LD_PRELOAD) and loads this tool (OMP_TOOL_LIBRARIES). The folder of
   the files is in TWOLEVEL_MEASURE. Their format, and how they grow, is in twolevel_measure.h. The tool prints nothing; if a
   file cannot grow, it counts what it has lost. In a forked process it does nothing. */

#define _GNU_SOURCE
#define TWOLEVEL_TOOL
#define TWOLEVEL_SHARED static
#include "omp-tools.h"
#include "twolevel_measure.h"

#include <dlfcn.h>
#include <sched.h>

enum {
    DEPTH = 32,           /* nested parallel regions; deeper ones are not recorded */
    NAMES = 64,           /* addresses whose names a thread remembers */
    BATCH = 1000,         /* events whose time is measured together */
    TASKS_BITS = 40,      /* tasks of one thread, in bits; the thread's number follows */
};

/* Numbers of instances in a region: those of loops, of taskloops from TASKLOOP on, and of all other tasks together. */
#define TASKLOOP 0x80000000u
#define TASKS 0xffffffffu

struct team { /* a parallel region */
    struct twolevel_record *record;
    uint32_t id, taskloops, taskloop;
};

struct member { /* one thread in a region: an implicit task */
    struct thread *thread;
    struct team *team; /* NULL: outside of parallel regions */
    struct twolevel_record *loop, *wait;
    struct twolevel_chunks chunks;
    uint32_t id, loops, before_barrier; /* the region; its loops so far; whether a loop has ended since the last barrier */
    uint16_t number;
};

struct thread {
    struct twolevel_thread out;
    struct member members[DEPTH];
    struct team teams[DEPTH];
    uint32_t depth, inner_teams; /* numbers of present members and teams; they may exceed DEPTH */
    struct twolevel_record *chunk; /* of a taskloop, that has begun */
    uint64_t tasks;
    const void *named[NAMES];
    int placed;
};

static char folder[4096];
static int active;
static uint32_t regions;
static struct twolevel_header *first_head; /* also written by forked processes */
static __thread struct thread *self;

static void forked(void) { active = 0; }

static struct thread *present(void) {
    if (__builtin_expect(!active, 0)) {
        if (first_head)
            __atomic_fetch_add(&first_head->forks, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    if (__builtin_expect(!self, 0)) {
        int known = errno;
        void *room = mmap(NULL, sizeof(struct thread), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        errno = known;
        if (room == MAP_FAILED || !twolevel_open(&((struct thread *)room)->out, folder))
            return NULL;
        self = room;
        if (!first_head)
            first_head = self->out.head;
    }
    return self;
}

static struct member *innermost(struct thread *thread) {
    return thread && thread->depth && thread->depth <= DEPTH ? &thread->members[thread->depth - 1] : NULL;
}

static struct twolevel_record *new_record(struct member *member, int64_t begin) {
    struct twolevel_record *record = twolevel_add(&member->thread->out);
    if (record) {
        record->begin = begin;
        record->team = member->id;
        record->thread = member->number;
    }
    return record;
}

/* Write the file and function of an address into PID.names, once for each thread. */
static void name(struct thread *thread, const void *address) {
    const void **place = &thread->named[((uintptr_t)address >> 2) % NAMES];
    if (*place == address || !address)
        return;
    *place = address;
    Dl_info found;
    char path[4200], line[8192];
    int known = errno;
    if (dladdr(address, &found) && found.dli_fname) {
        snprintf(path, sizeof path, "%s/%ld.names", folder, (long)getpid());
        int length = snprintf(line, sizeof line, "at\t%llu\t%llu\t%.1000s\t%.4000s\n", (unsigned long long)(uintptr_t)address,
                              (unsigned long long)(uintptr_t)found.dli_fbase, found.dli_sname ? found.dli_sname : "",
                              found.dli_fname);
        int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (file >= 0) {
            ssize_t written = write(file, line, (size_t)length);
            (void)written;
            close(file);
        }
    }
    errno = known;
}

/* Record the processors that a thread may use, once. */
static void place(struct member *member, int64_t now) {
    cpu_set_t cores;
    if (member->thread->placed || sched_getaffinity(0, sizeof cores, &cores))
        return;
    member->thread->placed = 1;
    for (uint32_t word = 0; word < CPU_SETSIZE / 64; word++) {
        uint64_t bits = 0;
        for (uint32_t bit = 0; bit < 64; bit++)
            bits |= (uint64_t)(CPU_ISSET(64 * word + bit, &cores) != 0) << bit;
        struct twolevel_record *record = bits ? new_record(member, now) : NULL;
        if (record) {
            record->a = bits;
            record->count = 64 * word;
            record->kind = TWOLEVEL_CORES_RECORD;
        }
    }
}

static void on_parallel_begin(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *parallel, unsigned requested,
                              int flags, const void *address) {
    (void)task, (void)frame, (void)requested, (void)flags;
    struct thread *thread = present();
    parallel->ptr = NULL;
    if (!thread || thread->inner_teams++ >= DEPTH)
        return;
    struct team *team = &thread->teams[thread->inner_teams - 1];
    memset(team, 0, sizeof *team);
    team->id = __atomic_add_fetch(&regions, 1, __ATOMIC_RELAXED);
    name(thread, address);
    if ((team->record = twolevel_add(&thread->out))) {
        team->record->begin = twolevel_now(&thread->out);
        team->record->a = (uintptr_t)address;
        team->record->team = team->id;
        team->record->ordinal = thread->depth ? thread->depth - 1 : 0;
        team->record->kind = TWOLEVEL_TEAM_RECORD;
    }
    parallel->ptr = team;
}

static void on_parallel_end(ompt_data_t *parallel, ompt_data_t *task, int flags, const void *address) {
    (void)task, (void)flags, (void)address;
    struct thread *thread = present();
    if (!thread || !thread->inner_teams)
        return;
    thread->inner_teams--;
    struct team *team = parallel ? parallel->ptr : NULL;
    if (team && team->record)
        team->record->end = twolevel_now(&thread->out);
}

static void on_implicit_task(ompt_scope_endpoint_t endpoint, ompt_data_t *parallel, ompt_data_t *task, unsigned threads,
                             unsigned number, int flags) {
    struct thread *thread = present();
    if (!thread)
        return;
    if (endpoint == ompt_scope_end) {
        if (thread->depth)
            thread->depth--;
        return;
    }
    task->ptr = NULL;
    if (thread->depth++ >= DEPTH)
        return;
    struct member *member = innermost(thread);
    memset(member, 0, sizeof *member);
    member->thread = thread;
    if (flags & ompt_task_initial) { /* loops outside of parallel regions */
        member->id = __atomic_add_fetch(&regions, 1, __ATOMIC_RELAXED);
    } else {
        member->team = parallel ? parallel->ptr : NULL;
        member->number = (uint16_t)number;
        if (member->team) {
            member->id = member->team->id;
            if (number == 0 && member->team->record)
                member->team->record->count = threads;
        }
        if (!thread->placed)
            place(member, twolevel_now(&thread->out));
    }
    task->ptr = member;
}

static void on_work(ompt_work_t work, ompt_scope_endpoint_t endpoint, ompt_data_t *parallel, ompt_data_t *task, uint64_t count,
                    const void *address) {
    (void)parallel, (void)task;
    if (work != ompt_work_loop && work != ompt_work_taskloop && work < ompt_work_loop_static)
        return;
    struct thread *thread = present();
    struct member *member = innermost(thread);
    if (!member)
        return;
    int64_t now = twolevel_now(&thread->out);
    if (endpoint == ompt_scope_begin) {
        uint32_t ordinal = member->loops;
        if (work == ompt_work_taskloop) {
            struct team *team = member->team;
            ordinal = team ? __atomic_fetch_add(&team->taskloops, 1, __ATOMIC_RELAXED) | TASKLOOP : TASKLOOP;
            if (team)
                team->taskloop = ordinal;
        } else {
            member->loops++;
            member->chunks.open = NULL;
            member->chunks.records = 0;
            member->chunks.most = 1;
        }
        if (work != ompt_work_taskloop) /* whose address is within the runtime */
            name(thread, address);
        struct twolevel_record *loop = member->loop = new_record(member, now);
        if (loop) {
            loop->a = (uintptr_t)address;
            loop->b = count;
            loop->ordinal = ordinal;
            loop->count = (uint32_t)work;
            loop->kind = TWOLEVEL_LOOP_RECORD;
        }
    } else if (endpoint == ompt_scope_end) {
        if (work != ompt_work_taskloop) {
            twolevel_end_chunk(&member->chunks, now);
            member->chunks.open = NULL;
            member->before_barrier = 1;
        }
        if (member->loop)
            member->loop->end = now;
        member->loop = NULL;
    }
}

static void on_dispatch(ompt_data_t *parallel, ompt_data_t *task, ompt_dispatch_t kind, ompt_data_t instance) {
    (void)parallel;
    const ompt_dispatch_chunk_t *chunk = instance.ptr;
    if (__builtin_expect(!active, 0))
        return;
    if (kind == ompt_dispatch_ws_loop_chunk) {
        struct member *member = task->ptr;
        if (!member || ((uintptr_t)member & 1))
            return;
        int64_t now = twolevel_now(&member->thread->out);
        twolevel_end_chunk(&member->chunks, now);
        if (chunk->iterations)
            twolevel_begin_chunk(&member->thread->out, &member->chunks, now, chunk->start, chunk->iterations, member->id,
                                 member->loops - 1, member->number);
    } else if (kind == ompt_dispatch_taskloop_chunk) {
        struct member *member = innermost(present());
        if (!member)
            return;
        struct twolevel_chunks chunks = {NULL, 0, 1};
        twolevel_begin_chunk(&member->thread->out, &chunks, twolevel_now(&member->thread->out), chunk->start, chunk->iterations,
                             member->id, member->team ? member->team->taskloop : TASKLOOP, member->number);
        member->thread->chunk = chunks.open;
    }
}

static void on_sync_region(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t *parallel, ompt_data_t *task,
                           const void *address) {
    (void)parallel, (void)task, (void)address;
    if (kind == ompt_sync_region_taskwait || kind == ompt_sync_region_taskgroup || kind == ompt_sync_region_reduction)
        return;
    struct thread *thread = present();
    struct member *member = innermost(thread);
    if (!member)
        return;
    if (endpoint == ompt_scope_begin && member->before_barrier) {
        member->before_barrier = 0;
        member->wait = new_record(member, twolevel_now(&thread->out));
        if (member->wait) {
            member->wait->ordinal = member->loops - 1;
            member->wait->kind = TWOLEVEL_WAIT_RECORD;
        }
    } else if (endpoint == ompt_scope_end && member->wait) {
        member->wait->end = twolevel_now(&thread->out);
        member->wait = NULL;
    }
}

/* The data of an explicit task is the address of its record plus one; the record of its execution follows. */
static struct twolevel_record *record_of(const ompt_data_t *task) {
    return task && (task->value & 1) ? (struct twolevel_record *)(uintptr_t)(task->value - 1) : NULL;
}

static void on_task_create(ompt_data_t *creator, const ompt_frame_t *frame, ompt_data_t *task, int flags, int dependences,
                           const void *address) {
    (void)frame, (void)dependences, (void)address;
    struct thread *thread = present();
    struct member *member = innermost(thread);
    if (!(flags & ompt_task_explicit))
        return;
    task->value = 1;
    if (!member)
        return;
    if (thread->out.stop - thread->out.next == 1) /* both records are in one block */
        twolevel_add(&thread->out);
    struct twolevel_record *record = new_record(member, twolevel_now(&thread->out)), *parent = record_of(creator);
    if (!record || !new_record(member, 0))
        return;
    task->value = (uintptr_t)record + 1;
    record->a = ((uint64_t)(thread->out.head->number + 1) << TASKS_BITS) + ++thread->tasks;
    record->b = parent ? parent->a : 0;
    record->ordinal = member->loop && member->loop->ordinal & TASKLOOP ? member->loop->ordinal : TASKS;
    record->count = (uint32_t)flags;
    record->kind = TWOLEVEL_TASK_RECORD;
}

/* The end of a task's record is the time at which it began or was resumed. */
static void on_task_schedule(ompt_data_t *prior, ompt_task_status_t status, ompt_data_t *next) {
    struct thread *thread = present();
    struct member *member = innermost(thread);
    struct twolevel_record *before = record_of(prior), *after = record_of(next);
    if (!member || (!before && !after))
        return;
    int64_t now = twolevel_now(&thread->out);
    if (before) {
        before[1].end = now;
        before[1].b += (uint64_t)(now - before->end);
        before[1].count = (uint32_t)status;
        if (thread->chunk && (status == ompt_task_complete || status == ompt_task_cancel)) {
            thread->chunk->end = now;
            thread->chunk = NULL;
        }
    }
    if (after) {
        after->end = now;
        if (!after[1].begin) {
            after[1].begin = now;
            after[1].thread = member->number;
            after[1].kind = TWOLEVEL_RUN_RECORD;
        }
        after[1].count = 0;
    }
}

static void on_dependences(ompt_data_t *task, const ompt_dependence_t *found, int n) {
    struct thread *thread = present();
    struct member *member = innermost(thread);
    struct twolevel_record *of = record_of(task);
    for (int k = 0; member && of && k < n; k++) {
        struct twolevel_record *record = new_record(member, 0);
        if (record) {
            record->a = of->a;
            record->b = found[k].variable.value;
            record->count = (uint32_t)found[k].dependence_type;
            record->kind = TWOLEVEL_DATA_RECORD;
        }
    }
}

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *data) {
    (void)device, (void)data;
    ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
    if (!set)
        return 0;
    pthread_atfork(NULL, NULL, forked);
    active = 1;
    set(ompt_callback_parallel_begin, (ompt_callback_t)on_parallel_begin);
    set(ompt_callback_parallel_end, (ompt_callback_t)on_parallel_end);
    set(ompt_callback_implicit_task, (ompt_callback_t)on_implicit_task);
    set(ompt_callback_work, (ompt_callback_t)on_work);
    set(ompt_callback_dispatch, (ompt_callback_t)on_dispatch);
    set(ompt_callback_sync_region, (ompt_callback_t)on_sync_region);
    set(ompt_callback_task_create, (ompt_callback_t)on_task_create);
    set(ompt_callback_task_schedule, (ompt_callback_t)on_task_schedule);
    set(ompt_callback_dependences, (ompt_callback_t)on_dependences);
    return 1;
}

static void finalize(ompt_data_t *data) { (void)data; }

static int set_folder(const char *given) {
    return given && snprintf(folder, sizeof folder, "%s", given) < (int)sizeof folder;
}

ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime) {
    (void)version;
    static ompt_start_tool_result_t result = {initialize, finalize, {0}};
    if (!set_folder(getenv("TWOLEVEL_MEASURE")))
        return NULL;
    char path[4200];
    snprintf(path, sizeof path, "%s/%ld.runtime", folder, (long)getpid());
    int known = errno, file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file >= 0) {
        ssize_t written = write(file, runtime, strlen(runtime));
        (void)written;
        close(file);
    }
    errno = known;
    return &result;
}

static double least(double one, double other) { return one < other ? one : other; }

/* For Python: ns of one event and of one read of the clock, in the fastest of several batches, as others are disturbed; 0: no
   files can be written. */
int twolevel_costs(const char *given, int n, double *event_ns, double *read_ns) {
    if (!set_folder(given))
        return 0;
    active = 1;
    ompt_data_t parallel = {0}, task = {0}, instance;
    ompt_dispatch_chunk_t chunk = {0, 1};
    instance.ptr = &chunk;
    on_parallel_begin(NULL, NULL, &parallel, 1, 0, NULL);
    on_implicit_task(ompt_scope_begin, &parallel, &task, 1, 0, ompt_task_implicit);
    on_work(ompt_work_loop_dynamic, ompt_scope_begin, &parallel, &task, (uint64_t)n, NULL);
    if (!task.ptr)
        return 0;
    *event_ns = *read_ns = 1e18;
    for (int k = 0; k < n; k += BATCH) {
        int64_t begin = twolevel_clock();
        for (int event = 0; event < BATCH; event++) {
            chunk.start = (uint64_t)(k + event);
            on_dispatch(&parallel, &task, ompt_dispatch_ws_loop_chunk, instance);
        }
        int64_t middle = twolevel_clock();
        for (int read = 0; read < BATCH; read++)
            twolevel_clock();
        int64_t end = twolevel_clock();
        *event_ns = least(*event_ns, (double)(middle - begin) / BATCH);
        *read_ns = least(*read_ns, (double)(end - middle) / BATCH);
    }
    active = 0;
    return 1;
}

/* For Python: the duration of a loop of known work, ns. */
int64_t twolevel_spin(int64_t steps) {
    int64_t begin = twolevel_clock();
    uint64_t number = 1;
    for (int64_t k = 0; k < steps; k++)
        number = number * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    __asm__ volatile("" : : "r"(number));
    return twolevel_clock() - begin;
}
