// Package jobdirs makes and removes what jobs have on the disks of a node: a directory each, those
// of their ranks in /dev/shm and /tmp, and shared memory.
package jobdirs
