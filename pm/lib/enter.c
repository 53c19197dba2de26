/* Handlers of signals: see pm_enter, and "Handlers of signals" in DESIGN.md. */
#include "enter.h"
#include "_cgo_export.h"
#include <pthread.h>
#include <signal.h>

_Thread_local struct pm_thread pm_thread;

void pm_prepare_thread(void)
{
	stack_t stack;

	score_grow_stack(0);
	if (sigaltstack(NULL, &stack) || stack.ss_flags & SS_DISABLE || stack.ss_size == 0)
		stack = (stack_t){.ss_sp = NULL, .ss_size = 1}; /* none: no address is there */
	pm_thread.signal_stack = stack.ss_sp;
	pm_thread.signal_bytes = stack.ss_size;
}

/*
 * Go's threads run goroutines on small stacks, where no handler of the program has room. All have the
 * mask of signals of the thread that Go's constructor starts, so signals are blocked around that: the
 * first of these runs before it, and the second, without a priority and in a file that is linked after
 * Go, behind it. Go itself unblocks those that it needs.
 */
static sigset_t of_program;

__attribute__((constructor(101))) static void block_signals(void)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &of_program);
}

__attribute__((constructor)) static void restore_signals(void) { pthread_sigmask(SIG_SETMASK, &of_program, NULL); }
