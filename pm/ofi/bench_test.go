package ofi_test

import (
	"fmt"
	"score/pm/ofi"
	"testing"
)

// BenchmarkMessage is what a tagged message costs besides the transfer of its cache lines: both ends
// are one goroutine.
func BenchmarkMessage(b *testing.B) {
	for _, n := range []int{8, 1024, 64 << 10} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			j := start(b, 1, 2, 0, ofi.EndpointOptions{})
			data, got := make([]byte, n), make([]byte, n)
			entries := make([]ofi.Entry, 1)
			b.SetBytes(int64(n))
			for b.Loop() {
				_ = j[1].ep.Receive(ofi.Receive{Buffer: got, From: j[1].peers[0], Tag: 1, Flags: ofi.Tagged})
				_ = j[0].ep.Send(ofi.Send{Buffer: data, To: j[0].peers[1], Tag: 1, Flags: ofi.Tagged})
				for _, r := range []*rank{j[1], j[0]} {
					for r.cq.Read(entries) == 0 {
						r.d.Progress()
					}
				}
			}
		})
	}
}
