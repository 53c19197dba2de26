package cgroup

import "errors"

var (
	// ErrUnusable means that this host's control groups cannot be used; the error that wraps it
	// gives the reason. Callers fall back to package procgroup.
	ErrUnusable = errors.New("control groups cannot be used")
	// ErrName means that the name of a cluster or node cannot be a part of a group's name.
	ErrName = errors.New("invalid name")
	// ErrNotFrozen means that a process still ran at the deadline, usually one that waits in the
	// kernel and cannot be interrupted.
	ErrNotFrozen = errors.New("processes did not stop in time")
	// ErrNotEmpty means that processes still existed at the deadline of a Kill.
	ErrNotEmpty = errors.New("processes did not end in time")
	// ErrNoMemoryControl means that no memory controller can be used here.
	ErrNoMemoryControl = errors.New("no memory controller")
	// ErrNoPidsControl means that no controller counts processes here.
	ErrNoPidsControl = errors.New("no controller of process numbers")
)
