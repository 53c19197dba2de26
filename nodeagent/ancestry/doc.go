// Package ancestry finds a process's ancestors in /proc. A daemon uses it to find out whether its
// caller belongs to a job whose ranks it knows.
package ancestry
