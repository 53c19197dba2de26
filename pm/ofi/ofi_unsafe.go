package ofi

import (
	"score/pm/tag"
	"unsafe"
)

// pointerTo is the address of the first byte, for completions that say where a message is.
func pointerTo(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// transferOf is the transfer that an operation is the first field of.
func transferOf(o *tag.Op) *transfer { return (*transfer)(unsafe.Pointer(o)) }
