package ofi_test

import (
	"fmt"
	"score/pm/local/localtest"
	"score/pm/ofi"
	"testing"
)

// BenchmarkMessage is what a tagged message costs besides the transfer of its cache lines: both
// ends are one goroutine. `make profile` records the short ones for the build of the C library. MPI
// libraries inject those, with immediate data.
func BenchmarkMessage(b *testing.B) {
	for shape, s := range localtest.Shapes {
		for _, how := range []struct {
			size int
			as   ofi.Flags
		}{{8, 0}, {8, ofi.Inject | ofi.RemoteData}, {1024, 0}, {64 << 10, 0}} {
			name := fmt.Sprintf("%s/%d", shape, how.size)
			if how.as != 0 {
				name += "-injected"
			}
			b.Run(name, func(b *testing.B) {
				j := start(b, s[0], s[1], 0, ofi.EndpointOptions{})
				data, got := make([]byte, how.size), make([]byte, how.size)
				entries := make([]ofi.Entry, 1)
				b.SetBytes(int64(how.size))
				for b.Loop() {
					_ = j[1].ep.Receive(ofi.Receive{Buffer: got, From: j[1].peers[0], Tag: 1, Flags: ofi.Tagged})
					_ = j[0].ep.Send(ofi.Send{Buffer: data, To: j[0].peers[1], Tag: 1, Data: 1, Flags: ofi.Tagged | how.as})
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
