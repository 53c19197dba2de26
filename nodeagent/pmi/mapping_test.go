package pmi

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// expand reads a mapping as MPICH does: the list is repeated from its first
// block with X=0.
func expand(t testing.TB, text string, size int) []int32 {
	t.Helper()
	body := strings.TrimSuffix(strings.TrimPrefix(text, "(vector"), ")")
	var blocks []block
	for part := range strings.SplitSeq(body, ",(") {
		if part == "" {
			continue
		}
		var b block
		if n, err := fmt.Sscanf(part, "%d,%d,%d)", &b.first, &b.nodes, &b.count); n != 3 {
			t.Fatalf("%q in %q: %v", part, text, err)
		}
		blocks = append(blocks, b)
	}
	start := slices.IndexFunc(blocks, func(b block) bool { return b.first == 0 })
	var ranks []int32
	for at := 0; len(ranks) < size; at++ {
		if at == len(blocks) {
			at = start
		}
		for node := range blocks[at].nodes {
			for range blocks[at].count {
				ranks = append(ranks, blocks[at].first+node)
			}
		}
	}
	return ranks[:size]
}

func TestMapping(t *testing.T) {
	for _, tt := range []struct {
		nodes []int32
		want  string
	}{
		{[]int32{0}, "(vector,(0,1,1))"},
		{[]int32{0, 0}, "(vector,(0,1,2))"},
		{[]int32{0, 0, 1, 1}, "(vector,(0,2,2))"},
		{[]int32{0, 0, 1}, "(vector,(0,1,2),(1,1,1))"},
		{[]int32{0, 1, 0, 1}, "(vector,(0,2,1))"},
		{[]int32{0, 1, 0, 1, 0}, "(vector,(0,2,1))"},
		{[]int32{0, 1, 2, 0, 1, 2, 0}, "(vector,(0,3,1))"},
		{[]int32{0, 0, 1, 2, 0, 0, 1, 2}, "(vector,(0,1,2),(1,2,1))"},
		// Clients repeat from X=0, so this one must be told whole.
		{[]int32{1, 0, 1, 0}, "(vector,(1,1,1),(0,2,1),(0,1,1))"},
		{[]int32{0, 0, 1, 0}, "(vector,(0,1,2),(1,1,1))"},
		{[]int32{0, 0, 1, 0, 1}, "(vector,(0,1,2),(1,1,1),(0,2,1))"},
	} {
		got, ok := Mapping(tt.nodes)
		if !ok || got != tt.want {
			t.Errorf("%v: got %q, %v, want %q", tt.nodes, got, ok, tt.want)
		}
		if back := expand(t, got, len(tt.nodes)); !slices.Equal(back, tt.nodes) {
			t.Errorf("%v: %q is read as %v", tt.nodes, got, back)
		}
	}
}

// A placement without any order does not fit a value, one with an order does
// however large it is.
func TestMappingSize(t *testing.T) {
	irregular := make([]int32, 1000)
	for rank := range irregular {
		irregular[rank] = int32(rank * rank % 97)
	}
	if text, ok := Mapping(irregular); ok {
		t.Errorf("%d bytes for an irregular placement", len(text))
	}
	large := make([]int32, MaxRanks)
	for rank := range large {
		large[rank] = int32(rank % 4096)
	}
	if text, ok := Mapping(large); !ok || text != "(vector,(0,4096,1))" {
		t.Errorf("got %q, %v", text, ok)
	}
	for blocks := 80; blocks < 90; blocks++ {
		// Each pair of ranks is one block of 8 or more bytes.
		var nodes []int32
		for i := range blocks {
			nodes = append(nodes, slices.Repeat([]int32{int32(i % 2)}, i%3+1)...)
		}
		if text, ok := Mapping(nodes); ok && len(text) > maxMapping {
			t.Errorf("a mapping of %d bytes, the most is %d", len(text), maxMapping)
		}
	}
}

func TestMappingIsReadBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		pattern := rapid.SliceOfN(rapid.Int32Range(0, 3), 1, 12).Draw(rt, "pattern")
		size := rapid.IntRange(1, 60).Draw(rt, "size")
		nodes := make([]int32, size)
		for rank := range nodes {
			nodes[rank] = pattern[rank%len(pattern)]
		}
		text, ok := Mapping(nodes)
		if !ok {
			return
		}
		if strings.Contains(text, " ") || len(text) > maxMapping {
			rt.Fatalf("%q", text)
		}
		if got := expand(t, text, size); !slices.Equal(got, nodes) {
			rt.Fatalf("%v is told as %q, which is %v", nodes, text, got)
		}
	})
}
