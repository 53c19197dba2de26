/* Ways from C into Go. */
#ifndef SCORE_ENTER_H
#define SCORE_ENTER_H

#include <rdma/fi_errno.h>
#include <stddef.h>
#include "forked.h"

/*
 * Handlers of signals that call the library, as GASNet's do to end a job, enter Go only where that
 * harms nothing. A handler that interrupted Go must not: the runtime ends the process. Nor may one on
 * the thread's stack for signals: Go's own signals use the same, from its top, while Go runs.
 */
struct pm_thread {
	volatile bool inside;     /* it is in Go */
	const char *signal_stack; /* that of the thread, which Go gave it or found */
	size_t signal_bytes;      /* 0: the thread has not entered Go by pm_enter yet */
	bool probes;              /* it has looked for a message in vain, as MPI_Probe does */
};
extern _Thread_local struct pm_thread pm_thread __attribute__((tls_model("initial-exec")));

/* pm_prepare_thread enters Go for the first time: handlers get room there, and the stack for signals
 * is noted. */
void pm_prepare_thread(void);

/* pm_enter returns 0 if this thread may enter Go, which pm_leave must follow; else an error. */
static inline int pm_enter(void)
{
	const char *here = __builtin_frame_address(0);

	if (pm_forked)
		return -FI_EOPBADSTATE;
	if (pm_thread.inside || (size_t)(here - pm_thread.signal_stack) < pm_thread.signal_bytes)
		return -FI_EAGAIN;
	pm_thread.inside = true;
	if (pm_thread.signal_bytes == 0)
		pm_prepare_thread();
	return 0;
}

static inline void pm_leave(void) { pm_thread.inside = false; }

/* pm_visit has the thread prepared, for calls that enter Go without pm_enter. */
static inline void pm_visit(void)
{
	if (pm_thread.signal_bytes == 0 && pm_enter() == 0)
		pm_leave();
}

#endif
