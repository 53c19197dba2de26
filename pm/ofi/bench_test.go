package ofi_test

import (
	"fmt"
	"score/pm/local/localtest"
	"score/pm/ofi"
	"testing"
)

// BenchmarkMessage is what a tagged message costs besides the transfer of its cache lines: both ends
// are one goroutine. `make profile` records the short ones for the build of the C library.
func BenchmarkMessage(b *testing.B) {
	for shape, s := range localtest.Shapes {
		for _, n := range []int{8, 1024, 64 << 10} {
			b.Run(fmt.Sprintf("%s/%d", shape, n), func(b *testing.B) {
				j := start(b, s[0], s[1], 0, ofi.EndpointOptions{})
				data, got := make([]byte, n), make([]byte, n)
				entries := make([]ofi.Entry, 1)
				b.SetBytes(int64(n))
				for b.Loop() {
					_ = j[1].ep.Receive(ofi.Receive{Buffer: got, From: j[1].peers[0], Tag: 1, Flags: ofi.Tagged})
					_ = j[0].ep.Send(ofi.Send{Buffer: data, To: j[0].peers[1], Tag: 1, Flags: ofi.Tagged})
					for done := 0; done < 2; {
						for _, r := range []*rank{j[1], j[0]} {
							r.d.Progress()
							done += r.cq.Read(entries)
						}
					}
				}
			})
		}
	}
}
