// Package ancestry reads from /proc of which process another one is a descendant. With it a daemon
// finds out whether its caller belongs to a job whose ranks it knows.
package ancestry
