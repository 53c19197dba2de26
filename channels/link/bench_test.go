package link

import (
	"fmt"
	"score/flowctl"
	"testing"
)

// BenchmarkEncode is a datagram with one frame.
func BenchmarkEncode(b *testing.B) {
	for _, size := range []int{8, 1400, 32 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			buf, data, h := make([]byte, MaxDatagram), make([]byte, size), Head{Kind: Data, Job: 1}
			var w Writer
			b.SetBytes(int64(size))
			for b.Loop() {
				w.Begin(buf, MaxDatagram, &h)
				w.Add(size, true, data)
				w.Finish(flowctl.MarkAsk)
			}
		})
	}
}

// BenchmarkParse is a datagram with one frame.
func BenchmarkParse(b *testing.B) {
	for _, size := range []int{8, 1400, 32 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			buf := make([]byte, MaxDatagram)
			var w Writer
			w.Begin(buf, MaxDatagram, &Head{Kind: Data, Job: 1})
			w.Add(size, true, make([]byte, size))
			n := w.Finish(flowctl.MarkAsk)
			b.SetBytes(int64(size))
			for b.Loop() {
				_, frames, err := Parse(buf[:n])
				if f, ok := frames.Next(); !ok || err != nil || len(f.Data) != size {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkManyFrames is per frame of 8 bytes, of as many as go into an Ethernet frame.
func BenchmarkManyFrames(b *testing.B) {
	buf, data, h := make([]byte, MaxDatagram), make([]byte, 8), Head{Kind: Data, Job: 1}
	var w Writer
	for b.Loop() {
		w.Begin(buf, 1472, &h)
		frames := 0
		for w.Add(len(data), true, data) {
			frames++
		}
		_, fs, err := Parse(buf[:w.Finish(0)])
		for _, ok := fs.Next(); ok; _, ok = fs.Next() {
			frames--
		}
		if err != nil || frames != 0 {
			b.Fatal(err, frames)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/118, "ns/frame")
}
