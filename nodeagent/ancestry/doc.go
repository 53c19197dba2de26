// Package ancestry finds a process's ancestors in /proc. Daemons use it to find out whether a
// caller belongs to a job.
package ancestry
