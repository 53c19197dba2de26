package mem

import "unsafe"

// address is where the memory is.
func address(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(&b[0]))) }
