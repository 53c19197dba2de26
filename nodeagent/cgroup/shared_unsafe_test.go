package cgroup

import "unsafe"

// sharedWord is the first word of a mapped page, for atomic use by two processes.
func sharedWord(page []byte) *int64 { return (*int64)(unsafe.Pointer(&page[0])) }
