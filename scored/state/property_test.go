package state

import (
	"bytes"
	"flag"
	"fmt"
	"score/scored/api/scorev1"
	"score/scored/state/statepb"
	"slices"
	"strconv"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

// drawCommand makes a command that often fits the state.
func drawCommand(d *dice, s *State) *statepb.Command {
	jobs := s.Jobs()
	id := uint64(d.upTo(int(s.NextJob()) + 1))
	if len(jobs) > 0 && !d.once(10) {
		id = pick(d, jobs).ID
	}
	name := fmt.Sprint("n", 1+d.upTo(3))
	service := pick(d, []string{"a", "b", "c"})
	switch d.upTo(16) {
	case 0:
		return node(name, uint32(d.upTo(4)))
	case 1:
		return pick(d, []*statepb.Command{nodeGone(name), drain(name, "disk"), resumed(name)})
	case 2, 3:
		c := submit(s.NextJob()+uint64(d.upTo(4)/4), uint32(d.upTo(3)))
		if d.once(2) {
			c.GetSubmit().Key, c.GetSubmit().Digest = drawKey(d), make([]byte, DigestBytes)
		}
		if d.once(3) {
			c.GetSubmit().Unmet = []uint64{id}
		}
		return c
	case 4, 5:
		return drawAllocate(d, s, id)
	case 6:
		return pick(d, []*statepb.Command{moveRow(id, 1), requeue(id), restart(id, d.amount())})
	case 7, 8:
		c := markRunning(id)
		if d.once(2) {
			c.GetMarkRunning().Met = waitingFor(s, id)
		}
		return c
	case 9:
		c := end(id)
		c.GetEnd().Met = waitingFor(s, id)
		return c
	case 10:
		return settings(int64(d.upTo(3)), uint32(d.upTo(3)))
	case 11:
		return drawMember(d, s)
	case 12:
		return setUser(uint32(d.upTo(3)), scorev1.Role(d.upTo(4)), uint32(d.upTo(3)))
	case 13:
		return charge(id, d.amount(), d.amount())
	case 14:
		return pick(d, []*statepb.Command{halfLife(int64(d.upTo(20))), held(id, "ada"), held(id, "")})
	default:
		if names := s.Names(); len(names) > 0 && !d.once(4) {
			name := pick(d, names)
			return unpublish(name.Job, name.Service)
		}
		return pick(d, []*statepb.Command{publish(id, service), unpublish(id, service)})
	}
}

// waitingFor returns the jobs that wait for a job.
func waitingFor(s *State, on JobID) (jobs []uint64) {
	for _, job := range s.Jobs() {
		if slices.Contains(job.Unmet, on) {
			jobs = append(jobs, job.ID)
		}
	}
	return jobs
}

// drawAllocate distributes the job's ranks over the nodes.
func drawAllocate(d *dice, s *State, id JobID) *statepb.Command {
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
	return allocate(id, int32(d.upTo(4))-1, places...)
}

const (
	// randomLogs is how many TestThreeServersAgree tries.
	randomLogs = 10_000
	// fewerLogs are enough where each takes ten times as long.
	fewerLogs = 500
)

// One log on three servers, two of which are restored at random points from their own or another's
// snapshots, gives the same bytes everywhere. Each kind of command has been applied in some log.
func TestThreeServersAgree(t *testing.T) {
	logs := randomLogs
	if raceEnabled || testing.Short() {
		logs = fewerLogs
	}
	setChecks(t, logs)
	fitted := make(map[string]int)
	rapid.Check(t, func(t *rapid.T) { oneLog(t, fitted) })
	t.Logf("commands that fitted: %v", fitted)
	for i := range kinds.Len() {
		if name := string(kinds.Get(i).Name()); fitted[name] == 0 && logs == randomLogs {
			t.Errorf("no command %s has fitted the state in %d logs: draw it in drawCommand", name, logs)
		}
	}
}

// setChecks sets the number of rapid's cases, unless its flag does.
func setChecks(t *testing.T, count int) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	if before := checks.Value.String(); before == checks.DefValue {
		t.Cleanup(func() { _ = checks.Value.Set(before) }) // it was this before
		if err := checks.Value.Set(strconv.Itoa(count)); err != nil {
			t.Fatal(err)
		}
	}
}

// maxLog bounds the length of a log: some jobs have ended by then.
const maxLog = 40

// oneLog draws a seed, and all else from the seed: values that rapid draws itself are mostly small,
// and such logs hardly ever get to a running job.
func oneLog(t *rapid.T, fitted map[string]int) {
	d := newDice(rapid.SliceOfN(rapid.Uint64(), seedNumbers, seedNumbers).Draw(t, "seed"))
	servers := []*State{New(), New(), New()}
	for step := range 1 + d.upTo(maxLog-1) {
		e := entry(int64(step) + int64(d.upTo(2)) - 1)
		for range 1 + d.upTo(5)/3 {
			if d.once(5) {
				e.Commands = append(e.Commands, drawAny(d, servers[0]))
				continue
			}
			e.Commands = append(e.Commands, drawCommand(d, servers[0]))
		}
		if applyEverywhere(t, servers, encodeEntry(t, e), d.once(3)) {
			for _, c := range e.Commands {
				fitted[kindOf(c)]++
			}
		}
		if d.once(8) {
			agree(t, servers)
			servers[1+d.upTo(1)] = restored(t, servers[d.upTo(2)])
		}
	}
	agree(t, servers)
	checkInvariants(t, servers[0])
}

// applyEverywhere applies an entry on each server and reports whether it fitted. If wanted, it
// checks that an entry that does not fit changes nothing.
func applyEverywhere(t *rapid.T, servers []*State, encoded []byte, look bool) (fits bool) {
	var before []byte
	if look {
		before = imageOf(t, servers[0])
	}
	first := error(nil)
	for i, s := range servers {
		e := new(statepb.Entry)
		if err := proto.Unmarshal(encoded, e); err != nil {
			t.Fatal(err)
		}
		err := s.Apply(e)
		if i == 0 {
			first = err
			continue
		}
		if fmt.Sprint(err) != fmt.Sprint(first) {
			t.Fatalf("server %d says %v, server 0 says %v", i, err, first)
		}
	}
	if first != nil && look && !bytes.Equal(before, imageOf(t, servers[0])) {
		t.Fatalf("a bad entry changed the state: %v", first)
	}
	return first == nil
}

func agree(t *rapid.T, servers []*State) {
	first := imageOf(t, servers[0])
	for i, s := range servers[1:] {
		if !bytes.Equal(imageOf(t, s), first) {
			t.Fatalf("server %d differs from server 0", i+1)
		}
	}
}

func imageOf(t *rapid.T, s *State) []byte {
	data, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func restored(t *rapid.T, s *State) *State {
	again, err := Restore(imageOf(t, s))
	if err != nil {
		t.Fatal(err)
	}
	return again
}
