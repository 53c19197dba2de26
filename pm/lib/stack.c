/*
 * Go's runtime asks for the bounds of a thread's stack when the thread enters Go for the first time, and
 * each time that it enters on another stack, as of a coroutine. For the program's first thread glibc finds
 * them in /proc/self/maps, which has several lines for each library: 0.5 ms in an MPI program.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

/* The size where there is no limit. Go never looks at memory below the pointer of the stack. */
#define STACK_MOST (1UL << 36)

extern void *__libc_stack_end; /* where the first thread's stack began */

int __real_pthread_getattr_np(pthread_t thread, pthread_attr_t *attr);

/* The linker has this library's calls of pthread_getattr_np, which are those of Go's runtime, lead here. */
int __wrap_pthread_getattr_np(pthread_t thread, pthread_attr_t *attr)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), end, size;
	struct rlimit limit;
	int err;

	if (getpid() != gettid() || getrlimit(RLIMIT_STACK, &limit))
		return __real_pthread_getattr_np(thread, attr);
	end = ((uintptr_t)__libc_stack_end + page) & ~(page - 1);
	size = limit.rlim_cur < STACK_MOST ? limit.rlim_cur & ~(page - 1) : STACK_MOST;
	if ((err = pthread_attr_init(attr)))
		return err;
	return pthread_attr_setstack(attr, (void *)(end - size), size);
}
