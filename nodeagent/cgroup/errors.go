package cgroup

import "errors"

var (
	// ErrUnusable means that this host's control groups cannot be used; the
	// text around it says why. Callers fall back to package procgroup.
	ErrUnusable = errors.New("control groups cannot be used")
	// ErrName means that a cluster's or a node's name cannot be part of a
	// group's name.
	ErrName = errors.New("invalid name")
	// ErrNotFrozen means that some process still ran at the deadline, mostly
	// one that sits in the kernel and cannot be interrupted.
	ErrNotFrozen = errors.New("processes did not stop in time")
	// ErrNotEmpty means that processes were left at the deadline of a Kill.
	ErrNotEmpty = errors.New("processes did not end in time")
	// ErrNoMemoryControl means that no memory controller can be used here.
	ErrNoMemoryControl = errors.New("no memory controller")
	// ErrNoPidsControl means that nothing counts processes here.
	ErrNoPidsControl = errors.New("no controller of process numbers")
	// ErrClosed means that the group was closed before.
	ErrClosed = errors.New("group is closed")
)
