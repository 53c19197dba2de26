package gang

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// shareRows are the slices of gangs that share a CPU, each of an owner of its own.
func shareRows(t tb, slice time.Duration, shares []int) []RotationRow {
	t.Helper()
	m := New(Config{Slice: slice, MaxRows: MaxRowsLimit})
	if err := m.AddNode(Node{ID: "n1", CPUs: 1, Memory: 1 << 30}); err != nil {
		t.Fatalf("%v", err)
	}
	owners := make(map[OwnerID]Owner)
	for i, share := range shares {
		if err := m.Submit(Request{ID: JobID(i + 1), Tasks: 1, Owner: OwnerID(i + 1)}); err != nil {
			t.Fatalf("%v", err)
		}
		owners[OwnerID(i+1)] = Owner{Share: share}
	}
	m.Schedule(0)
	m.SetOwners(owners) // while they run
	return m.Rows()
}

// TestSlicesFollowShares: gangs that run at usual priority have slices in proportion to their
// owners' shares, from a quarter of the usual to four times that, in steps of a quarter, and none
// shorter than is of use.
func TestSlicesFollowShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slice := time.Duration(rapid.Int64Range(int64(MinSlice), int64(MaxSlice)).Draw(t, "slice"))
		shares := rapid.SliceOfN(rapid.IntRange(1, 10_000), 1, 8).Draw(t, "shares")
		quarters := func(share int) int64 { return int64(min(max((share+12)/25, 1), 16)) }
		rows := shareRows(t, slice, shares)
		if len(rows) != len(shares) {
			t.Fatalf("%d rows of %d", len(rows), len(shares))
		}
		for i := range rows {
			if rows[i].Slice < MinSlice || rows[i].Slice < slice/4 {
				t.Fatalf("share %d: a slice of %v", shares[i], rows[i].Slice)
			}
			for k := range rows {
				a, b := int64(rows[i].Slice)*quarters(shares[k]), int64(rows[k].Slice)*quarters(shares[i])
				if d := a - b; d > 16 || d < -16 { // of rounding to nanoseconds
					t.Errorf("shares %d and %d: slices %v and %v", shares[i], shares[k], rows[i].Slice, rows[k].Slice)
				}
			}
		}
	})
}

// TestShareOfTheRotation: two gangs with shares of 200 and 100 have two thirds and a third of the
// time.
func TestShareOfTheRotation(t *testing.T) {
	rows := shareRows(t, DefaultSlice, []int{200, 100})
	d := &dispatcher{plans: []Rotation{Next(Rotation{}, rows, 0, 0)}}
	d.run(30 * int64(time.Second))
	var ran [3]int64
	for _, h := range d.turns {
		ran[h.row] += h.end - h.start
	}
	if ran[1] != 20*int64(time.Second) || ran[2] != 10*int64(time.Second) {
		t.Errorf("of 30 s the gangs had %v and %v", time.Duration(ran[1]), time.Duration(ran[2]))
	}
	if rows = shareRows(t, DefaultSlice, []int{0, 100}); rows[0].Slice != DefaultSlice || rows[1].Slice != DefaultSlice {
		t.Errorf("the usual share: %+v", rows)
	}
}
