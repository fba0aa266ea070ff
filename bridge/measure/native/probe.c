/* Print the ns that a chunk takes in a loop of 1,000 chunks on two threads, in the fastest of ROUNDS rounds: with and without
   the tool, the difference is the cost of an event. Calls the runtime as programs that gcc has compiled do. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CHUNKS = 1000, STEPS = 300 };

void GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags);
_Bool GOMP_loop_dynamic_start(long begin, long end, long step, long size, long *first, long *stop);
_Bool GOMP_loop_dynamic_next(long *first, long *stop);
void GOMP_loop_end(void);

static void body(void *data) {
    long first, stop;
    uint64_t number = (uint64_t)(uintptr_t)data;
    if (GOMP_loop_dynamic_start(0, CHUNKS, 1, 1, &first, &stop))
        do
            for (int k = 0; k < STEPS; k++)
                number = number * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        while (GOMP_loop_dynamic_next(&first, &stop));
    __asm__ volatile("" : : "r"(number));
    GOMP_loop_end();
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

int main(int words, char **word) {
    double least = 1e18;
    for (int k = words > 1 ? atoi(word[1]) : 1; k > 0; k--) {
        double begin = now();
        GOMP_parallel(body, &least, 2, 0);
        double took = (now() - begin) * 2 / CHUNKS;
        least = took < least ? took : least;
    }
    printf("%.3f\n", least);
    return 0;
}
