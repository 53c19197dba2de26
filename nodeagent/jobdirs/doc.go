// Package jobdirs makes and removes the files of jobs on a node: a directory for each job, the
// directories of its ranks in /dev/shm and /tmp, and shared memory.
package jobdirs
