/* For tests of the clock: threads that sleep, wait for conditions and for locks, and note in which order they come to run. */
#include <pthread.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t signalled = PTHREAD_COND_INITIALIZER;
static int ready;

static void note(const char *who, int n) {
    struct timeval now;
    gettimeofday(&now, 0);
    printf("%s%d %ld.%06ld\n", who, n, (long)now.tv_sec, (long)now.tv_usec);
}
static void *sleeper(void *argument) {
    int n = *(int *)argument;
    for (int i = 0; i < 3; i++) {
        usleep(1000000);
        for (volatile long k = 0; k < n * 1000000L; k++) {} /* the first to wake is the last to be done, were it a race */
        pthread_mutex_lock(&lock);
        note("sleeper", n);
        usleep(1000); /* others wait for the lock meanwhile */
        pthread_mutex_unlock(&lock);
    }
    return 0;
}
static void *waiter(void *argument) {
    struct timespec until = {time(0) + 2, 500000000};
    (void)argument;
    pthread_mutex_lock(&lock);
    int rc = 0;
    while (!ready && rc == 0) rc = pthread_cond_timedwait(&signalled, &lock, &until);
    note("timed out ", rc != 0);
    while (!ready) pthread_cond_wait(&signalled, &lock);
    note("signalled ", ready);
    pthread_mutex_unlock(&lock);
    return 0;
}
int main(void) {
    pthread_t thread[4];
    int number[3] = {3, 2, 1};
    for (int i = 0; i < 3; i++) pthread_create(&thread[i], 0, sleeper, &number[i]);
    pthread_create(&thread[3], 0, waiter, 0);
    sleep(3600);
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_cond_signal(&signalled);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 4; i++) pthread_join(thread[i], 0);
    note("end ", 0);
    return 0;
}
