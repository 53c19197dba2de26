package state

import (
	"bytes"
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"score/scored/api/scorev1"
	"score/scored/state/statepb"
)

// drawCommand makes a command that often fits the state and sometimes not.
func drawCommand(t *rapid.T, s *State) *statepb.Command {
	jobs := s.Jobs()
	id := rapid.Uint64Range(0, s.NextJob()+1).Draw(t, "id")
	if len(jobs) > 0 && rapid.IntRange(0, 9).Draw(t, "known") > 0 {
		id = rapid.SampledFrom(jobs).Draw(t, "job").ID
	}
	name := fmt.Sprint("n", rapid.IntRange(1, 4).Draw(t, "node"))
	service := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "service")
	switch rapid.IntRange(0, 15).Draw(t, "kind") {
	case 0:
		return node(name, rapid.Uint32Range(0, 4).Draw(t, "cpus"))
	case 1:
		return rapid.SampledFrom([]*statepb.Command{nodeGone(name), drain(name, "disk"), resumed(name)}).Draw(t, "gone or drained")
	case 2, 3:
		return submit(s.NextJob()+rapid.Uint64Range(0, 1).Draw(t, "skip"), rapid.Uint32Range(0, 3).Draw(t, "tasks"))
	case 4, 5:
		return drawAllocate(t, s, id)
	case 6:
		return rapid.SampledFrom([]*statepb.Command{moveRow(id, 1), requeue(id), restart(id, rapid.Int64Range(-1, 1<<50).Draw(t, "used"))}).Draw(t, "row or queue")
	case 7:
		return markRunning(id)
	case 8:
		return end(id)
	case 9:
		return settings(rapid.Int64Range(0, 3).Draw(t, "slice"), rapid.Uint32Range(0, 3).Draw(t, "rows"))
	case 10:
		return drawMember(t)
	case 11:
		return setUser(rapid.Uint32Range(0, 3).Draw(t, "uid"), scorev1.Role(rapid.Int32Range(0, 4).Draw(t, "role")), rapid.Uint32Range(0, 3).Draw(t, "share"))
	case 12, 13:
		return charge(id, rapid.Int64Range(-1, 1<<50).Draw(t, "cpu"), rapid.Int64Range(-1, 1<<50).Draw(t, "run"))
	case 14:
		return halfLife(rapid.Int64Range(0, 20).Draw(t, "half-life"))
	default:
		return rapid.SampledFrom([]*statepb.Command{publish(id, service), unpublish(id, service)}).Draw(t, "name")
	}
}

// drawAllocate deals the job's ranks over the nodes.
func drawAllocate(t *rapid.T, s *State, id JobID) *statepb.Command {
	nodes := s.Nodes()
	job := s.Job(id)
	if job == nil || len(nodes) == 0 {
		return allocate(id, 0, place("n1", []uint32{0}, []uint32{0}))
	}
	places := make([]*statepb.Place, 0, len(nodes))
	for i, n := range nodes {
		p := place(n.Name, nil, []uint32{0})
		for rank := uint32(i); rank < job.Spec.GetTasks(); rank += uint32(len(nodes)) {
			p.Ranks = append(p.Ranks, rank)
		}
		if len(p.Ranks) > 0 {
			places = append(places, p)
		}
	}
	return allocate(id, rapid.Int32Range(-1, 3).Draw(t, "row"), places...)
}

// One log on three servers, two of which are restored from snapshots at random
// cuts, gives the same bytes everywhere, after every entry.
func TestThreeServersAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		servers := []*State{New(), New(), New()}
		for step := range rapid.IntRange(1, 60).Draw(t, "entries") {
			e := entry(int64(step) + rapid.Int64Range(-1, 1).Draw(t, "time"))
			for range rapid.IntRange(0, 4).Draw(t, "commands") {
				e.Commands = append(e.Commands, drawCommand(t, servers[0]))
			}
			encoded, err := proto.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			applyEverywhere(t, servers, encoded)
			for i := 1; i < len(servers); i++ {
				if rapid.IntRange(0, 4).Draw(t, "restore") == 0 {
					servers[i] = restored(t, servers[i])
				}
			}
			checkInvariants(t, servers[0])
		}
	})
}

func applyEverywhere(t *rapid.T, servers []*State, encoded []byte) {
	before, _ := servers[0].Snapshot()
	first, firstErr := []byte(nil), error(nil)
	for i, s := range servers {
		e := new(statepb.Entry)
		if err := proto.Unmarshal(encoded, e); err != nil {
			t.Fatal(err)
		}
		err := s.Apply(e)
		data, encodeErr := s.Snapshot()
		if encodeErr != nil {
			t.Fatal(encodeErr)
		}
		if i == 0 {
			first, firstErr = data, err
			if err != nil && !bytes.Equal(before, data) {
				t.Fatalf("a bad entry changed the state: %v", err)
			}
			continue
		}
		if fmt.Sprint(err) != fmt.Sprint(firstErr) {
			t.Fatalf("server %d says %v, server 0 says %v", i, err, firstErr)
		}
		if !bytes.Equal(data, first) {
			t.Fatalf("server %d differs from server 0", i)
		}
	}
}

func restored(t *rapid.T, s *State) *State {
	data, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Restore(data)
	if err != nil {
		t.Fatal(err)
	}
	return again
}
