package uct_test

import (
	"errors"
	"fmt"
	"score/channels/link"
	"score/pm"
	"score/pm/local/localtest"
	"score/pm/mem/atomics"
	"score/pm/uct"
	"testing"
)

// BenchmarkOperation is what operations cost that the peer serves, both ends in one goroutine.
func BenchmarkOperation(b *testing.B) {
	for shape, s := range localtest.Shapes {
		b.Run(shape, func(b *testing.B) {
			j := start(b, s[0], s[1])
			r, err := j[1].md.Register(make([]byte, 1<<20), uct.RemoteAll)
			if err != nil {
				b.Fatal(err)
			}
			j[1].iface.Handle(firstID, func(*uct.Packet) {})
			ep, at := j.ep(b, 0, 1), uct.Remote{Key: r.Key()}
			data, was := make([]byte, 1<<20), make([]byte, 8)
			sum := uct.AtomicKind{Op: atomics.Sum, Type: atomics.Uint64}
			var d done
			for _, o := range []struct {
				name  string
				begin func() error
			}{
				{"message", func() error { return ep.Send(uct.Header{ID: firstID}, data[:8]) }},
				{"put", func() error { return ep.Put(data[:8], at, &d) }},
				{"get", func() error { return ep.Get(data[:8], at, &d) }},
				{"add", func() error { return ep.Atomic(sum, data[:8], at, &d) }},
				{"fetch", func() error { return ep.FetchAtomic(sum, data[:8], nil, was, at, &d) }},
				{"long get", func() error { return ep.Get(data, at, &d) }},
			} {
				b.Run(o.name, func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						for err := o.begin(); err != nil; err = o.begin() {
							if !errors.Is(err, uct.ErrAgain) {
								b.Fatal(err)
							}
							j[0].worker.Progress()
							j[1].worker.Progress()
						}
						for j[1].worker.Progress() > 0 || !ep.Quiet() {
							j[0].worker.Progress()
						}
					}
				})
			}
		})
	}
}

// BenchmarkLossy is long transfers between nodes over a network that loses datagrams.
func BenchmarkLossy(b *testing.B) {
	const length = 4 << 20
	for _, loss := range []float64{0, 0.001, 0.01} {
		settings := pm.DefaultSettings()
		settings.Faults = link.Faults{Loss: loss, Seed: 7}
		for _, name := range []string{"get", "put"} {
			b.Run(fmt.Sprintf("%s/%g%%", name, 100*loss), func(b *testing.B) {
				j := startWith(b, 2, 1, settings)
				r, err := j[1].md.Register(make([]byte, length), uct.RemoteAll)
				if err != nil {
					b.Fatal(err)
				}
				ep, at, data := j.ep(b, 0, 1), uct.Remote{Key: r.Key()}, make([]byte, length)
				begin := ep.Get
				if name == "put" {
					begin = ep.Put
				}
				var d done
				b.SetBytes(length)
				for b.Loop() {
					j.retry(b, func() error { return begin(data, at, &d) })
					j.until(b, ep.Quiet)
				}
			})
		}
	}
}
