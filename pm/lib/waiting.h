/* Clocks and the ends of waits. */
#ifndef SCORE_WAITING_H
#define SCORE_WAITING_H

#include <stdint.h>
#include <time.h>

static inline int64_t nanoseconds_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline int64_t nanoseconds(void) { return nanoseconds_of(CLOCK_MONOTONIC); }

/* The end of a wait of so many milliseconds, and what is left of it in microseconds; -1: no end. */
static inline int64_t end_of(int timeout) { return timeout < 0 ? -1 : nanoseconds() + (int64_t)timeout * 1000000; }

static inline int64_t left_of(int64_t end)
{
	int64_t left = end - nanoseconds();

	if (end < 0)
		return -1;
	return left > 0 ? (left + 999) / 1000 : 0;
}

#endif
