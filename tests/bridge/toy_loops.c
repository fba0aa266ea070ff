/* Programs for twolevel measure, by the first word: loops that note by hand which thread executes which iteration when, and
   programs that end or behave in unusual ways. The second word is a number. Compiled with -fopenmp, or without for "none". */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_thread_num(void) { return 0; }
#endif
#ifdef WITH_HEADER
#include "twolevel_measure.h"
#endif

enum { MOST = 100000 };

static struct note {
    int thread;
    int64_t begin, end;
} notes[MOST];

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static uint64_t work(long steps) {
    uint64_t number = (uint64_t)steps;
    for (long k = 0; k < steps; k++)
        number = number * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    __asm__ volatile("" : : "r"(number));
    return number;
}

static void noted(long iteration) {
    struct note *note = &notes[iteration];
    note->thread = omp_get_thread_num();
    note->begin = now();
    work(100 + iteration % 7 * 50);
    note->end = now();
}

static void print_notes(long n) {
    for (long k = 0; k < n; k++)
        printf("%ld %d %lld %lld\n", k, notes[k].thread, (long long)notes[k].begin, (long long)notes[k].end);
}

int main(int words, char **word) {
    const char *what = words > 1 ? word[1] : "";
    long n = words > 2 ? atol(word[2]) : 0;
    if (!strcmp(what, "up")) {
#pragma omp parallel for schedule(runtime)
        for (long k = 0; k < n; k++)
            noted(k);
        print_notes(n);
    } else if (!strcmp(what, "down")) { /* iteration k has the value 3 (n - k) - 50 */
#pragma omp parallel for schedule(runtime)
        for (long value = 3 * n - 50; value > -50; value -= 3)
            noted(n - (value + 50) / 3);
        print_notes(n);
    } else if (!strcmp(what, "taskloop")) {
#pragma omp parallel
#pragma omp single
#pragma omp taskloop grainsize(7)
        for (long k = 0; k < n; k++)
            noted(k);
        print_notes(n);
    } else if (!strcmp(what, "own")) { /* the schedule is in the program; our macros measure it */
#ifdef WITH_HEADER
        for (int repeat = 0; repeat < 2; repeat++)
            TWOLEVEL_LOOP("forces", n) {
#pragma omp parallel num_threads(2)
                {
                    long half = omp_get_thread_num() ? n / 2 : 0, stop = omp_get_thread_num() ? n : n / 2;
                    for (long first = half; first < stop; first += 5)
                        TWOLEVEL_CHUNK(first, first + 5 < stop ? 5 : stop - first) {
                            for (long k = first; k < first + 5 && k < stop; k++)
                                noted(k);
                        }
                }
            }
        print_notes(n);
#endif
    } else if (!strcmp(what, "tasks")) { /* a chain, and two tasks that read the second's result; the last one is suspended */
        static int a, b;
#pragma omp parallel num_threads(2)
#pragma omp single
        {
#pragma omp task depend(out : a)
            work(5000);
#pragma omp task depend(inout : a)
            work(5000);
#pragma omp task depend(in : a)
            work(5000);
#pragma omp task depend(in : a) depend(out : b)
            work(5000);
#pragma omp task depend(inout : a) depend(in : b)
            {
#pragma omp task if (0)
                work(5000);
                work(1000);
            }
        }
    } else if (!strcmp(what, "nested")) {
#pragma omp parallel for schedule(dynamic) num_threads(2)
        for (int outer = 0; outer < 4; outer++) {
#pragma omp parallel for schedule(dynamic) num_threads(1 + outer % 2)
            for (int inner = 0; inner < 10; inner++)
                work(1000);
        }
    } else if (!strcmp(what, "end")) { /* by a signal, in the middle of the second loop */
        for (int repeat = 0; repeat < 2; repeat++) {
#pragma omp parallel for schedule(dynamic) num_threads(2)
            for (int k = 0; k < 100; k++) {
                if (repeat && k == 50)
                    raise((int)n);
                work(1000);
            }
        }
    } else if (!strcmp(what, "fork")) { /* the child's exit code is the parent's */
#pragma omp parallel for schedule(dynamic) num_threads(2)
        for (int k = 0; k < 10; k++)
            work(1000);
        pid_t child = fork();
#pragma omp parallel for schedule(dynamic) num_threads(2)
        for (int k = 0; k < 20; k++)
            work(1000);
        int status = 0;
        if (child == 0)
            _exit(7);
        waitpid(child, &status, 0);
        return WEXITSTATUS(status) == 7 ? 0 : 1;
    } else if (!strcmp(what, "print")) {
        int sum = 0, given = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : sum) num_threads(2)
        for (int k = 0; k < 10; k++)
            sum += k;
        if (scanf("%d", &given) == 1)
            printf("sum %d, given %d\n", sum, given);
        fprintf(stderr, "to stderr\n");
        return (int)n;
    } else if (!strcmp(what, "cheap")) {
        uint64_t sum = 0;
#pragma omp parallel for schedule(dynamic, 1) reduction(+ : sum) num_threads(2)
        for (long k = 0; k < n; k++)
            sum += (uint64_t)k;
        printf("%llu\n", (unsigned long long)sum);
    } else if (!strcmp(what, "inlined")) { /* gcc puts this schedule into the program */
#pragma omp parallel for schedule(static) num_threads(2)
        for (int k = 0; k < 10; k++)
            work(1000);
    } else if (!strcmp(what, "mixed")) { /* three loops, of which one follows OMP_SCHEDULE */
#pragma omp parallel num_threads(2)
        {
#pragma omp for schedule(runtime)
            for (int k = 0; k < 40; k++)
                work(1000);
#pragma omp for schedule(dynamic, 3)
            for (int k = 0; k < 40; k++)
                work(1000);
#pragma omp for schedule(guided) nowait
            for (int k = 0; k < 40; k++)
                work(1000);
        }
    } else
        work(100000);
    return 0;
}
