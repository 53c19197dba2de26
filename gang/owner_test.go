package gang

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func started(d Decision) []JobID {
	var ids []JobID
	for _, a := range d.Start {
		ids = append(ids, a.Job)
	}
	return ids
}

// Who is at a limit waits for nobody's sake: others overtake, and the first
// free job of one's own lets the next in.
func TestOwnersLimits(t *testing.T) {
	for _, c := range []struct {
		name  string
		owner Owner
		over  bool
		want  []JobID // of owner 1, with two tasks each, that start at once
		text  string
	}{
		{"jobs", Owner{MaxJobs: 2}, false, []JobID{1, 2, 9}, "they are 2 of at most 2 jobs"},
		{"CPUs", Owner{MaxCPUs: 5}, false, []JobID{1, 2, 9}, "they use 4 of 5 CPUs, and it asks for 2"},
		{"CPUs of those that may share", Owner{MaxCPUs: 3}, true, []JobID{1, 9}, "they use 2 of 3 CPUs, and it asks for 2"},
		{"none", Owner{Points: 5}, false, []JobID{1, 2, 3, 4, 9}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := twoNodes(t)
			m.SetOwners(map[OwnerID]Owner{1: c.owner})
			for id := JobID(1); id <= 4; id++ {
				if err := m.Submit(Request{ID: id, Owner: 1, Tasks: 2, Oversubscribe: c.over}); err != nil {
					t.Fatal(err)
				}
			}
			if err := m.Submit(Request{ID: 9, Owner: 2, Tasks: 2, Submitted: 9}); err != nil {
				t.Fatal(err)
			}
			d := pass(t, m, 10)
			got := started(d)
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Fatalf("%v run, want %v", got, c.want)
			}
			use := m.OwnerUse(1)
			if use.Jobs != len(c.want)-1 || use.CPUs != 2*use.Jobs {
				t.Errorf("owner 1 has %+v", use)
			}
			if c.text == "" {
				return
			}
			e, _ := m.Explain(4, 10)
			if !slices.Equal(e.Reasons, []Reason{ForOwner}) || !strings.Contains(e.String(), "waits for its user's other jobs: "+c.text) {
				t.Errorf("%s", e)
			}
			m.Remove(1)
			if d := pass(t, m, 11); len(d.Start) != 1 || d.Start[0].Job != c.want[len(c.want)-2]+1 {
				t.Errorf("after the end of one: %+v", d)
			}
			m.SetOwners(nil)
			pass(t, m, 12)
			if m.Waiting() != 0 {
				t.Errorf("%d wait without limits", m.Waiting())
			}
		})
	}
}

// Points put an owner's jobs before others, also those that wait already; they
// change no slice.
func TestOwnersPoints(t *testing.T) {
	m := newMachine(t, Config{MaxRows: 1}, Node{ID: "a", CPUs: 1, Memory: 8})
	for id := JobID(1); id <= 3; id++ {
		_ = m.Submit(Request{ID: id, Owner: OwnerID(id), Tasks: 1, Submitted: int64(id)})
	}
	if got := started(pass(t, m, 5)); !slices.Equal(got, []JobID{1}) {
		t.Fatalf("%v", got)
	}
	owners := map[OwnerID]Owner{3: {Points: 500}}
	if !m.SetOwners(owners) || m.SetOwners(owners) {
		t.Error("a change is told once")
	}
	pass(t, m, 6)
	if e, _ := m.Explain(2, 6); e.Head != 3 || e.Before != 1 {
		t.Errorf("%+v", e)
	}
	m.Remove(1)
	if got := started(pass(t, m, 7)); !slices.Equal(got, []JobID{3}) {
		t.Fatalf("%v", got)
	}
	if rows := m.Rows(); len(rows) != 1 || rows[0].Slice != DefaultSlice {
		t.Errorf("%+v", rows)
	}
	// Whoever has waited longer than the points are worth goes first all the same.
	_ = m.Submit(Request{ID: 4, Owner: 3, Tasks: 1, Submitted: int64(501 * time.Minute)})
	m.Remove(3)
	if got := started(pass(t, m, int64(502*time.Minute))); !slices.Equal(got, []JobID{2}) {
		t.Fatalf("%v", got)
	}
}

// The keys of the queue stay within their bounds whatever points are given.
func TestOwnersPointsAreBounded(t *testing.T) {
	m := newMachine(t, Config{AgePerPoint: MaxAgePerPoint}, Node{ID: "a", CPUs: 1, Memory: 8})
	m.SetOwners(map[OwnerID]Owner{1: {Points: 1 << 40}, 2: {Points: -1 << 40}})
	high := m.keyOf(&Request{Owner: 1, Priority: MaxPriority})
	low := m.keyOf(&Request{Owner: 2, Priority: -MaxPriority, Submitted: 1 << 61})
	if high >= 0 || low <= 0 {
		t.Errorf("keys %d and %d", high, low)
	}
}

// What an owner's limits would withhold for ever is refused: ranks that share CPUs get all CPUs of
// their nodes.
func TestOwnerLimitRefuses(t *testing.T) {
	m := New(Config{})
	if err := m.AddNode(Node{ID: "n1", CPUs: 4, Memory: 1 << 30}); err != nil {
		t.Fatal(err)
	}
	m.SetOwners(map[OwnerID]Owner{1: {MaxCPUs: 2}})
	for name, c := range map[string]struct {
		request Request
		refused bool
	}{
		"within":                     {Request{ID: 1, Tasks: 2}, false},
		"beyond":                     {Request{ID: 2, Tasks: 3}, true},
		"shared, within":             {Request{ID: 3, Tasks: 2, Oversubscribe: true}, false},
		"shared, all of its node":    {Request{ID: 4, Tasks: 8, Oversubscribe: true}, true},
		"another owner has no limit": {Request{ID: 5, Tasks: 8, Oversubscribe: true, Owner: 2}, false},
		"it had places before":       {Request{ID: 6, Tasks: 3, Again: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := c.request
			r.CPUsPerTask = 1
			if r.Owner == 0 {
				r.Owner = 1
			}
			if err := m.Submit(r); errors.Is(err, ErrOwnerLimit) != c.refused || !c.refused && err != nil {
				t.Errorf("%v", err)
			}
		})
	}
}
