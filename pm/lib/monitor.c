/*
 * Go's monitor thread (sysmon) begins again whenever a program enters Go after a while: it wakes, sleeps
 * 20 us up to 50 times, and sleeps again when nothing of Go runs, as between two calls. A program that
 * polls for messages would wake it ten thousand times a second. The thread's timers are
 * late by MONITOR_SLACK_NS instead, so that it wakes that seldom. Only a thread itself may say so without
 * privileges, and threads inherit it: so its maker has that slack while it makes it.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <sys/prctl.h>

/* As late as the monitor preempts goroutines and looks at the network by itself. */
#define MONITOR_SLACK_NS 10000000UL
/* The runtime's first thread is made by the loader of this library, and makes the monitor before all others. */
#define MONITOR 2

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg);

/* The linker has this library's calls of pthread_create, which are those of Go's runtime, lead here. */
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	static atomic_int threads;
	static atomic_ulong usual;
	unsigned long own = (unsigned long)prctl(PR_GET_TIMERSLACK);
	int number = atomic_fetch_add(&threads, 1) + 1;
	int err;

	if (number == MONITOR) {
		atomic_store(&usual, own);
		prctl(PR_SET_TIMERSLACK, MONITOR_SLACK_NS);
	} else if (own == MONITOR_SLACK_NS) {
		prctl(PR_SET_TIMERSLACK, atomic_load(&usual)); /* the monitor makes a thread for goroutines */
	}
	err = __real_pthread_create(thread, attr, run, arg);
	if (number == MONITOR || own == MONITOR_SLACK_NS)
		prctl(PR_SET_TIMERSLACK, own);
	return err;
}
