/* A program with one parallel loop, executed several times. Its file defines the number of iterations, what must be prepared,
   and an iteration. First word: "for", which follows OMP_SCHEDULE, "taskloop", or a number, the grain size of a taskloop. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { INSTANCES = 6 };

static volatile double result[1 << 16];

/* A number from 0 to 1 that depends on k only. */
static inline double drawn(uint64_t k) {
    k = (k + UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);
    k = (k ^ k >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((k ^ k >> 31) >> 11) * 0x1p-53;
}

static void prepare(void);
static double iteration(int i);

static void loop(int n, const char *kind) {
    int grain = atoi(kind);
    if (!strcmp(kind, "for")) {
#pragma omp parallel for schedule(runtime)
        for (int i = 0; i < n; i++)
            result[i] = iteration(i);
    } else if (grain) {
#pragma omp parallel
#pragma omp single
#pragma omp taskloop grainsize(grain)
        for (int i = 0; i < n; i++)
            result[i] = iteration(i);
    } else {
#pragma omp parallel
#pragma omp single
#pragma omp taskloop
        for (int i = 0; i < n; i++)
            result[i] = iteration(i);
    }
}

static int run(int n, const char *kind) {
    prepare();
    for (int k = 0; k < INSTANCES; k++)
        loop(n, kind);
    return 0;
}
