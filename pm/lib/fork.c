/* Children of fork, and handlers of signals: see pm_forked and pm_enter. */
#include "objects.h"
#include <pthread.h>
#include <signal.h>

bool pm_forked;
_Thread_local struct pm_thread pm_thread;

static void in_child(void) { pm_forked = true; }

__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(NULL, NULL, in_child); }

void pm_find_signal_stack(void)
{
	stack_t stack;

	if (sigaltstack(NULL, &stack) || stack.ss_flags & SS_DISABLE || stack.ss_size == 0)
		stack = (stack_t){.ss_sp = NULL, .ss_size = 1}; /* none: no address is there */
	pm_thread.signal_stack = stack.ss_sp;
	pm_thread.signal_bytes = stack.ss_size;
}
