package state

import (
	"bytes"
	"errors"
	"score/scored/state/statepb"
	"testing"

	"google.golang.org/protobuf/proto"
)

func TestRestoreIsEqual(t *testing.T) {
	s := twoNodes(t)
	data := image(t, s)
	again, err := Restore(data)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(image(t, again), data) {
		t.Fatal("the restored state differs")
	}
	if n := again.Node("n1"); n.Channels != 16 {
		t.Fatalf("n1 has %d channels", n.Channels)
	}
	checkInvariants(t, again)
	mustApply(t, again, end(3))
	if again.names[nameKey{0, "ocean"}] != nil {
		t.Fatal("after Restore a name outlives its job")
	}
}

// TestSpawnedBySurvives: the request that spawned a job is known after a snapshot and the job's
// requeueing.
func TestSpawnedBySurvives(t *testing.T) {
	s := twoNodes(t)
	spawned := submit(5, 1)
	spawned.GetSubmit().SpawnedBy = &statepb.NameRequest{JobId: 1, Node: "n1", Request: 7}
	mustApply(t, s, spawned, allocate(5, 0, place("n1", []uint32{0}, []uint32{0})), requeue(5))
	again, err := Restore(image(t, s))
	if err != nil {
		t.Fatal(err)
	}
	if by, want := again.Job(5).SpawnedBy, (NameRequest{1, "n1", 7}); by != want {
		t.Errorf("spawned by %+v", by)
	}
}

func TestImageIsNotChangedByLaterEntries(t *testing.T) {
	s := twoNodes(t)
	want := image(t, s)
	captured := s.Image()
	mustApply(t, s, end(1), end(2), end(3), submit(5, 1), nodeGone("n1"))
	got, err := captured.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Fatal("the image changed")
	}
}

func TestRestoreRefusesDamage(t *testing.T) {
	damage := map[string]func(*statepb.Snapshot){
		"other format":           func(i *statepb.Snapshot) { i.Format = 2 },
		"job of the future":      func(i *statepb.Snapshot) { i.NextJob = 2 },
		"job twice":              func(i *statepb.Snapshot) { i.Jobs = append(i.Jobs, i.Jobs[0]) },
		"job without a spec":     func(i *statepb.Snapshot) { i.Jobs[0].Spec = nil },
		"name of no job":         func(i *statepb.Snapshot) { i.Names[0].JobId = 77 },
		"name of a finished job": func(i *statepb.Snapshot) { i.Names[0].JobId = 4 },
		"finished job missing":   func(i *statepb.Snapshot) { i.Finished = nil },
		"finished job unknown":   func(i *statepb.Snapshot) { i.Finished[0] = 77 },
		"unfinished in order":    func(i *statepb.Snapshot) { i.Finished[0] = 1 },
	}
	for name, change := range damage {
		t.Run(name, func(t *testing.T) {
			i := new(statepb.Snapshot)
			if err := proto.Unmarshal(image(t, twoNodes(t)), i); err != nil {
				t.Fatal(err)
			}
			change(i)
			data, err := proto.Marshal(i)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Restore(data); !errors.Is(err, ErrSnapshot) {
				t.Fatalf("error %v", err)
			}
		})
	}
	if _, err := Restore([]byte("no protobuf")); !errors.Is(err, ErrSnapshot) {
		t.Fatalf("error %v", err)
	}
}

// Restoring any bytes gives either an error or a state whose snapshot restores to the same bytes.
func FuzzRestore(f *testing.F) {
	f.Add(image(f, twoNodes(f)))
	f.Add(image(f, New()))
	odd := New()
	job := submit(1, 1)
	job.GetSubmit().Spec.Argv, job.GetSubmit().Preput = []string{"a\xff"}, []*statepb.Pair{{Key: "k\xfe", Value: "\x80"}}
	mustApply(f, odd, job)
	f.Add(image(f, odd))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Restore(data)
		if err != nil {
			return
		}
		first, err := s.Snapshot()
		if err != nil {
			return // names that are not UTF-8
		}
		again, err := Restore(first)
		if err != nil {
			t.Fatalf("cannot restore its own snapshot: %v", err)
		}
		second, err := again.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first, second) {
			t.Fatal("the second snapshot differs")
		}
	})
}
