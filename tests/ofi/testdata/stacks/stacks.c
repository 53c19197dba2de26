/* Enters Go from the stacks that a program may have, deep in the first thread's and from a coroutine. */
#include <pthread.h>
#include <score/pm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

static ucontext_t program, coroutine;

static void enter(const char *where)
{
	printf("%s %d\n", where, score_pm_open(1) < 0); /* this is no rank */
}

static void *of_thread(void *none)
{
	enter("thread");
	return none;
}

static void of_coroutine(void) { enter("coroutine"); }

static void deep(size_t bytes)
{
	char *used = __builtin_alloca(bytes);

	memset(used, 1, bytes);
	enter(used[bytes / 2] ? "deep" : "");
}

int main(void)
{
	enum { STACK = 1 << 20, DEEP = 6 << 20 };
	pthread_t thread;

	enter("first");
	deep(DEEP);
	getcontext(&coroutine);
	coroutine.uc_stack.ss_sp = malloc(STACK);
	coroutine.uc_stack.ss_size = STACK;
	coroutine.uc_link = &program;
	makecontext(&coroutine, of_coroutine, 0);
	swapcontext(&program, &coroutine);
	pthread_create(&thread, NULL, of_thread, NULL);
	pthread_join(thread, NULL);
	enter("again");
	return 0;
}
