package abi

import (
	"errors"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// TestSizes pins what every version-2 image has.
func TestSizes(t *testing.T) {
	for _, c := range []struct {
		v    any
		size uintptr
	}{
		{Header{}, HeaderBytes},
		{Status{}, 64},
		{Lock{}, 64},
		{Owner{}, 64},
		{Waiters{}, 128},
		{Lane{}, 128},
		{Shared{}, 128},
		{Peer{}, PeerBytes},
		{LocalPeer{}, PeerBytes},
		{Record{}, RecordBytes},
		{Arrival{}, ArrivalBytes},
		{Kept{}, KeptBytes},
	} {
		if got := reflect.TypeOf(c.v).Size(); got != c.size {
			t.Errorf("%T has %d bytes, want %d", c.v, got, c.size)
		}
	}
}

func TestCountersTable(t *testing.T) {
	seen := map[string]bool{}
	for i, c := range Counters {
		if int(c.ID) != i || c.Name == "" || c.Meaning == "" || c.Unit == "" || seen[c.Name] {
			t.Errorf("entry %d: %+v", i, c)
		}
		seen[c.Name] = true
	}
}

func TestCommitWord(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		length := rapid.IntRange(0, MaxLength).Draw(r, "length")
		kind := rapid.Uint8Range(1, 6).Draw(r, "kind")
		rank := rapid.Uint32().Draw(r, "rank")
		word := Commit(length, kind, rank)
		l, k, s := Uncommit(word)
		if word == 0 || l != length || k != kind || s != rank {
			r.Fatalf("%#x: %d %d %d", word, l, k, s)
		}
	})
	for length, lines := range map[int]uint64{0: 1, 48: 1, 49: 2, 112: 2, 113: 3} {
		if got := Lines(length); got != lines {
			t.Errorf("%d bytes take %d lines, want %d", length, got, lines)
		}
	}
}

// TestLayout: regions lie one behind the other, apart, aligned, within the image.
func TestLayout(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		g := Geometry{
			Ranks:      rapid.Uint32Range(1, 5000).Draw(r, "ranks"),
			LocalRanks: rapid.Uint32Range(1, 100).Draw(r, "local"),
			Lanes:      rapid.Uint32Range(1, 64).Draw(r, "lanes"),
			LaneBytes:  1 << rapid.Uint32Range(12, 26).Draw(r, "lane bytes"),
			SendBytes:  PageBytes * rapid.Uint32Range(1, 512).Draw(r, "send pages"),
			MaxMessage: rapid.Uint32Range(1, 1<<17).Draw(r, "max message"),
		}.WithFlow(rapid.Uint32Range(FlowNack, FlowCredits).Draw(r, "flow")).WithDefaults()
		l, err := g.Layout()
		if err != nil {
			if !errors.Is(err, ErrGeometry) {
				r.Fatal(err)
			}
			return
		}
		regions := []struct{ at, size uint64 }{
			{0, HeaderBytes},
			{l.Status, 64},
			{l.Lock, 64},
			{l.Owners, 128},
			{l.Waiters, 128},
			{l.SharedControl, 128},
			{l.Counters, uint64(len(Counters)) * 8},
			{l.LaneControl, uint64(g.Lanes) * 128},
			{l.Local, uint64(g.LocalRanks) * 4},
			{l.Granules, uint64(g.SendBytes) / 512},
			{l.Active, (uint64(g.Ranks) + 63) / 64 * 8},
			{l.SharedRing, uint64(g.SharedBytes)},
			{l.Peers, uint64(g.Ranks) * PeerBytes},
			{l.Arrivals, uint64(g.Ranks) * ArrivalBytes},
			{l.Send, uint64(g.SendBytes)},
			{l.NetRing, uint64(g.NetBytes)},
			{l.LaneRings, uint64(g.Lanes) * uint64(g.LaneBytes)},
		}
		end := uint64(0)
		for i, region := range regions {
			if region.at < end || region.at%LineBytes != 0 {
				r.Fatalf("region %d at %d, the one before ends at %d", i, region.at, end)
			}
			end = region.at + region.size
		}
		if end > l.Total || l.Total%PageBytes != 0 || l.Arrival(g.Ranks-1)+ArrivalBytes > l.Send ||
			l.LaneRing(g.Lanes-1)+uint64(g.LaneBytes) > l.Total || l.Lane(g.Lanes-1)+128 > l.Local {
			r.Fatalf("ends at %d of %d", end, l.Total)
		}
		h := l.Header(3, g.Ranks-1, 2)
		got, err := h.Check(l.Total)
		if err != nil || got != l {
			r.Fatal(err)
		}
		if _, err := h.Check(l.Total - PageBytes); !errors.Is(err, ErrHeader) {
			r.Fatal("a shorter file was accepted")
		}
	})
}

// TestLaneCapacity: a lane of n places takes n of the longest messages wherever its tail is, with a
// pad before one of them and the line that stays empty.
func TestLaneCapacity(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		g := Geometry{
			Ranks: rapid.Uint32Range(1, 3000).Draw(r, "ranks"), LocalRanks: 1,
			NetBytes:   1 << rapid.Uint32Range(12, 20).Draw(r, "lane"),
			MaxMessage: rapid.Uint32Range(1, MaxCreditMessage).Draw(r, "longest"), Flow: FlowCredits,
		}.WithDefaults()
		lines, pad := uint64(g.NetBytes)/LineBytes, g.PlaceLines()-1
		if need := uint64(g.Places())*g.PlaceLines() + pad + 1; need > lines {
			r.Fatalf("%d places need %d lines, there are %d", g.Places(), need, lines)
		}
		_, err := g.Layout()
		if want := g.Ranks-1 > g.Places(); errors.Is(err, ErrPlaces) != want {
			r.Fatalf("%d ranks on other nodes for %d places: %v", g.Ranks-1, g.Places(), err)
		}
	})
}
