package state

import (
	"fmt"
	"score/scored/state/statepb"
	"slices"
	"strings"
	"testing"
)

func BenchmarkApplyJob(b *testing.B) {
	s := New()
	mustApply(b, s, node("n1", 2))
	for b.Loop() {
		id := s.NextJob()
		mustApply(b, s, submit(id, 1), allocate(id, 0, place("n1", []uint32{0}, []uint32{0})))
		mustApply(b, s, markRunning(id), end(id))
	}
}

// crowded returns a state with 1,000 nodes, 10,000 queued jobs, 1,000 running jobs on one node
// each, and 1,000 ended ones. Each job has an environment of 2 KB.
func crowded(b *testing.B) *State {
	b.Helper()
	const nodes, queued = 1000, 10_000
	s := New()
	env := make([]string, 40)
	for i := range env {
		env[i] = fmt.Sprintf("VARIABLE_%02d=%s", i, strings.Repeat("x", 40))
	}
	add := func(more ...*statepb.Command) {
		id := s.NextJob()
		c := submit(id, 1)
		c.GetSubmit().Spec.Env = slices.Clone(env)
		mustApply(b, s, append([]*statepb.Command{c}, more...)...)
	}
	for i := range nodes {
		name := fmt.Sprint("n", i)
		mustApply(b, s, node(name, 8))
		add(end(s.NextJob()))
		id := s.NextJob()
		add(allocate(id, 0, place(name, []uint32{0}, []uint32{0})), markRunning(id))
	}
	for range queued {
		add()
	}
	return s
}

// BenchmarkSnapshot measures a snapshot of a crowded cluster. Entries wait for image; encode and
// restore run beside them.
func BenchmarkSnapshot(b *testing.B) {
	s := crowded(b)
	data := image(b, s)
	b.Run("image", func(b *testing.B) {
		for b.Loop() {
			s.Image()
		}
	})
	b.Run("encode", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if _, err := s.Image().Encode(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("restore", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if _, err := Restore(data); err != nil {
				b.Fatal(err)
			}
		}
	})
}
