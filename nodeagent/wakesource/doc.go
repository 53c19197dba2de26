// Package wakesource determines what could wake a process of a job from outside the job when all
// its processes sleep: a timer, a file, a socket, standard input, or something that only the kernel
// knows. It reads the system call in which each thread waits (/proc/PID/task/TID/syscall,
// proc_pid_syscall(5)), which the kernel shows to root and to processes that may trace the process.
//
// A thread that waits for another thread (futex without a timeout), or for the end of a process,
// cannot be woken from outside. The waits of Go's runtime and of package pm are known:
//
//	Go's monitor      futex, private, 60 s    timers that come sooner shorten it
//	Go's poller       epoll                   only while a goroutine waits for a file or a timer
//	pm's sleep        futex in a context, 1 s
//	pm's watcher      poll of a context's socket and an eventfd
//
// Every other wait counts as a wake source, even one that cannot be read. Signals do not count:
// they can come to any process.
package wakesource
