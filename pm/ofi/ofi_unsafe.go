package ofi

import "unsafe"

// pointerTo is the address of the first byte, for completions that say where a message is.
func pointerTo(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }
