package uct

import "unsafe"

// address is where a peer finds the bytes by process_vm_readv; 0 for none.
func address(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

// wordAt is a word of a window of generations; at is below its length and a multiple of 8.
func wordAt(b []byte, at int) *uint64 { return (*uint64)(unsafe.Pointer(&b[at])) }

// within is where part begins in whole; it is false if part is not inside it.
func within(whole, part []byte) (offset int, ok bool) {
	if len(part) == 0 || len(whole) < len(part) {
		return 0, false
	}
	at := address(part) - address(whole)
	return int(at), at <= uint64(len(whole)-len(part))
}

// memoryAt is memory of this process, where it was found to be.
func memoryAt(address, length uint64) []byte {
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&address)), int(length))
}
