package procgroup

import (
	"score/channels/procstat"
	"slices"
	"testing"
)

func TestStates(t *testing.T) {
	for _, c := range []byte("TtZX") {
		if !stopped(procstat.Stat{State: c}) {
			t.Errorf("%c does not count as stopped", c)
		}
	}
	for _, c := range []byte("RSDI") {
		if stopped(procstat.Stat{State: c}) {
			t.Errorf("%c counts as stopped", c)
		}
	}
}

func TestDescendants(t *testing.T) {
	all := map[int]procstat.Stat{
		1:  {Parent: 0, Group: 1, State: 'S'},
		10: {Parent: 1, Group: 10, State: 'S'},  // the steward
		11: {Parent: 10, Group: 11, State: 'T'}, // a rank
		12: {Parent: 11, Group: 12, State: 'R'}, // its child, in a group of its own
		13: {Parent: 12, Group: 12, State: 'S'},
		14: {Parent: 10, Group: 14, State: 'Z'}, // over, not reaped
		15: {Parent: 1, Group: 11, State: 'S'},  // of the rank's group, parent gone
		20: {Parent: 1, Group: 20, State: 'S'},  // somebody else
		21: {Parent: 20, Group: 20, State: 'S'},
		30: {Parent: 31, Group: 30, State: 'S'}, // a circle: the table changed while it was read
		31: {Parent: 30, Group: 30, State: 'S'},
		40: {Parent: 99, Group: 40, State: 'S'}, // its parent came too late for the table
	}
	got := appendPids(nil, descendants(all, 10, map[int]bool{11: true}))
	slices.Sort(got)
	if want := []int{11, 12, 13, 15}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
