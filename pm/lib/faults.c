/*
 * Faults of programs. Go's runtime puts its handler before that of the program, and calls that one for
 * a fault of C code. Go's frames cannot be unwound from C, so a handler that shows the stack, as Open
 * MPI's does, would show this library alone, and not where the program failed. Instead a handler in C
 * stands before both.
 */
#define _GNU_SOURCE
#include "objects.h"
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

#define FAULTS 3
/* The faults for which Go installs a handler in a shared library. */
static const int faults[FAULTS] = {SIGSEGV, SIGBUS, SIGFPE};
static struct sigaction of_program[FAULTS], of_go[FAULTS];

/* Where this library's code begins and ends; from the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

/* Runs before Go's runtime starts, which has a constructor without a priority. */
__attribute__((constructor(101))) static void note_handlers(void)
{
	for (int i = 0; i < FAULTS; i++)
		sigaction(faults[i], NULL, &of_program[i]);
}

static const void *address_of(const ucontext_t *context)
{
#if defined(__x86_64__)
	return (const void *)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	return (const void *)context->uc_mcontext.pc;
#else
	return __ehdr_start; /* unknown: Go decides */
#endif
}

static bool is_ours(const void *at)
{
	return (const char *)at >= __ehdr_start && (const char *)at < etext;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	int i = 0;

	while (i < FAULTS - 1 && faults[i] != number)
		i++;
	const struct sigaction *next = is_ours(address_of(context)) ? &of_go[i] : &of_program[i];
	if (next->sa_flags & SA_SIGINFO)
		next->sa_sigaction(number, info, context);
	else
		next->sa_handler(number);
}

static void install(void)
{
	for (int i = 0; i < FAULTS; i++) {
		struct sigaction action;

		sigaction(faults[i], NULL, &action);
		if (of_program[i].sa_handler == SIG_DFL || of_program[i].sa_handler == SIG_IGN ||
		    !is_ours((const void *)action.sa_sigaction))
			continue;
		of_go[i] = action;
		action.sa_sigaction = on_fault;
		sigaction(faults[i], &action, NULL);
	}
}

void pm_return_faults(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, install);
}
