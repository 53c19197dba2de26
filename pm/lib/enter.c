/* Handlers of signals: see pm_enter. */
#include "enter.h"
#include <signal.h>

_Thread_local struct pm_thread pm_thread;

void pm_find_signal_stack(void)
{
	stack_t stack;

	if (sigaltstack(NULL, &stack) || stack.ss_flags & SS_DISABLE || stack.ss_size == 0)
		stack = (stack_t){.ss_sp = NULL, .ss_size = 1}; /* none: no address is there */
	pm_thread.signal_stack = stack.ss_sp;
	pm_thread.signal_bytes = stack.ss_size;
}
