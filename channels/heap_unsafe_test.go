package channels

import (
	"score/channels/abi"
	"sync/atomic"
	"testing"
	"unsafe"
)

// sliceOf is memory aligned like a mapping, but the race detector sees it.
func sliceOf(size uint64) []byte {
	words := make([]atomic.Uint64, size/8+abi.LineBytes/8)
	b := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), len(words)*8)
	skip := -uintptr(unsafe.Pointer(&b[0])) & (abi.LineBytes - 1)
	return b[skip : uint64(skip)+size]
}

// heapImage is the image of rank 0 in ordinary memory.
func heapImage(t testing.TB, ranks uint32, g abi.Geometry) *Image {
	t.Helper()
	g.Ranks, g.LocalRanks = ranks, ranks
	layout, err := g.WithDefaults().Layout()
	if err != nil {
		t.Fatal(err)
	}
	local := make([]uint32, ranks)
	for i := range local {
		local[i] = uint32(i)
	}
	img := &Image{mem: sliceOf(layout.Total)}
	img.format(Identity{Job: 7, Channel: 1}, layout, local)
	return img
}
