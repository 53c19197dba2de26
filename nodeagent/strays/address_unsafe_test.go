package strays

import "unsafe"

// addressOf returns where the bytes lie in memory.
func addressOf(bytes []byte) int64 { return int64(uintptr(unsafe.Pointer(&bytes[0]))) }
