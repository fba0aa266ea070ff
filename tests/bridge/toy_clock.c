/* A clock for LD_PRELOAD that goes back by 1 ms at every seventh reading. */

#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
    static int readings;
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (clock == CLOCK_MONOTONIC && __atomic_add_fetch(&readings, 1, __ATOMIC_RELAXED) % 7 == 0 && time->tv_nsec > 1000000)
        time->tv_nsec -= 1000000;
    return result;
}
