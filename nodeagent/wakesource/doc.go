// Package wakesource finds out what outside a job could wake one of its processes when all of them
// sleep: a timer, a file, a socket, standard input, something that only the kernel knows. It reads
// what each thread waits for (/proc/PID/task/TID/syscall, proc_pid_syscall(5)), which the kernel
// shows to root and to processes that may trace the process.
//
// A thread that waits for another thread (futex without a time), or for the end of a process,
// cannot be woken from outside. The waits of Go's runtime and of package pm itself are known:
//
//	Go's monitor      futex, private, 60 s    timers that come sooner shorten it
//	Go's poller       epoll                   only while a goroutine waits for a file or a timer
//	pm's sleep        futex in a context, 1 s
//	pm's watcher      poll of a context's socket and an eventfd
//
// Whatever else a thread does counts as something that may wake it, also what cannot be read.
// Signals do not count: they can come to any process.
package wakesource
