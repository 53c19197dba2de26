package gang

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestSplit(t *testing.T) {
	r := Rotation{Rows: []RotationRow{turn(0, 100, 1, 2), turn(3, 50, 2, 3), turn(5, 50)}}
	nodes := map[JobID][]NodeID{1: {"a", "b"}, 2: {"c"}, 3: {"a"}}
	want := map[NodeID][][]JobID{
		"a": {{1}, {3}, nil},
		"b": {{1}, nil, nil},
		"c": {{2}, {2}, nil},
	}
	if diff := cmp.Diff(want, r.Split(func(id JobID) []NodeID { return nodes[id] })); diff != "" {
		t.Error(diff)
	}
	if split := (&Rotation{}).Split(nil); len(split) != 0 {
		t.Errorf("no rows, and nodes have %v", split)
	}
}

// TestSplitIsComplete: a node has a job in a row if and only if the rotation has it there and it is
// one of the job's nodes.
func TestSplitIsComplete(t *testing.T) {
	names := []NodeID{"a", "b", "c", "d"}
	rapid.Check(t, func(t *rapid.T) {
		r := Rotation{}
		for i := range rapid.IntRange(0, 4).Draw(t, "rows") {
			jobs := rapid.SliceOfNDistinct(rapid.Uint64Range(1, 6), 0, 6, rapid.ID).Draw(t, "jobs")
			slices.Sort(jobs)
			row := turn(i, 100)
			for _, id := range jobs {
				row.Jobs = append(row.Jobs, JobID(id))
			}
			r.Rows = append(r.Rows, row)
		}
		places := make(map[JobID][]NodeID)
		for id := JobID(1); id <= 6; id++ {
			places[id] = rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, len(names), rapid.ID).Draw(t, "places")
		}
		split := r.Split(func(id JobID) []NodeID { return places[id] })
		for _, node := range names {
			rows, some := split[node]
			for pos, row := range r.Rows {
				var want []JobID
				for _, id := range row.Jobs {
					if slices.Contains(places[id], node) {
						want = append(want, id)
					}
				}
				if !some && len(want) > 0 || some && !slices.Equal(rows[pos], want) {
					t.Fatalf("node %s has %v, of row %d it should have %v", node, rows, pos, want)
				}
			}
		}
	})
}
