package handles

import (
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A table agrees with a map, whatever numbers it is asked for.
func TestTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var table Table[int]
		model := make(map[uint32]*int)
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				v := new(int)
				id := table.Add(v)
				if id == 0 || model[id] != nil {
					t.Fatalf("number %d is taken", id)
				}
				model[id] = v
			},
			"remove": func(t *rapid.T) {
				if len(model) == 0 {
					t.Skip()
				}
				id := rapid.SampledFrom(slices.Sorted(maps.Keys(model))).Draw(t, "id")
				table.Remove(id)
				delete(model, id)
			},
			"": func(t *rapid.T) {
				for _, id := range []uint32{0, 1, uint32(len(model)), uint32(len(model)) + 1, math.MaxUint32} {
					if table.Get(id) != model[id] {
						t.Fatalf("number %d", id)
					}
				}
				seen := make(map[*int]bool)
				table.Each(func(v *int) { seen[v] = true })
				if table.Len() != len(model) || len(seen) != len(model) {
					t.Fatalf("%d values, %d seen, want %d", table.Len(), len(seen), len(model))
				}
			},
		})
	})
}

// Numbers are used again before there are more of them.
func TestNumbersAreReused(t *testing.T) {
	var table Table[int]
	first := table.Add(new(int))
	table.Add(new(int))
	table.Remove(first)
	if again := table.Add(new(int)); again != first {
		t.Errorf("number %d, want %d", again, first)
	}
}
