package jobmap

import (
	"errors"
	"fmt"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"
)

func block(nodes, each int) []*scorev1.NodePlace {
	places := make([]*scorev1.NodePlace, nodes)
	for i := range places {
		p := &scorev1.NodePlace{Node: fmt.Sprintf("n%04d", i), Address: fmt.Sprintf("10.0.%d.%d:7000", i/256, i%256)}
		for k := range each {
			p.Ranks, p.Cpus = append(p.Ranks, uint32(i*each+k)), append(p.Cpus, uint32(k))
		}
		places[i] = p
	}
	return places
}

func cyclic(nodes, each int) []*scorev1.NodePlace {
	places := block(nodes, each)
	for i, p := range places {
		for k := range p.Ranks {
			p.Ranks[k] = uint32(k*nodes + i)
		}
	}
	return places
}

func TestRoundTripIsShort(t *testing.T) {
	for name, places := range map[string][]*scorev1.NodePlace{"block": block(1000, 100), "cyclic": cyclic(1000, 100)} {
		plain := 0
		for _, p := range places {
			plain += proto.Size(p)
		}
		encoded := Append(nil, places)
		if len(encoded) > 22_000 || len(encoded)*15 > plain {
			t.Errorf("%s: 1000 nodes of 100 ranks take %d bytes, %d in full", name, len(encoded), plain)
		}
		t.Logf("%s: %d bytes instead of %d", name, len(encoded), plain)
		got, err := Decode(encoded)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.EqualFunc(places, got, func(x, y *scorev1.NodePlace) bool { return proto.Equal(x, y) }) {
			t.Errorf("%s: other places came back", name)
		}
	}
}

func drawPlaces(t *rapid.T) []*scorev1.NodePlace {
	numbers := rapid.Custom(func(t *rapid.T) []uint32 {
		all := rapid.SliceOfDistinct(rapid.Uint32(), func(v uint32) uint32 { return v }).Draw(t, "numbers")
		slices.Sort(all)
		return all
	})
	return rapid.SliceOf(rapid.Custom(func(t *rapid.T) *scorev1.NodePlace {
		return &scorev1.NodePlace{
			Node: rapid.StringMatching(`n?[a-z0-9]{0,8}`).Draw(t, "node"), Address: rapid.StringMatching(`[0-9.:]{0,12}`).Draw(t, "address"),
			Ranks: numbers.Draw(t, "ranks"), Cpus: numbers.Draw(t, "cpus"),
		}
	})).Draw(t, "places")
}

func TestAnyPlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		places := drawPlaces(t)
		got, err := Decode(Append(nil, places))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(places, got, protocmp.Transform()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestDamaged(t *testing.T) {
	whole := Append(nil, block(3, 2))
	for n := range whole {
		if _, err := Decode(whole[:n]); !errors.Is(err, ErrMap) {
			t.Errorf("%d of %d bytes: %v", n, len(whole), err)
		}
	}
	for name, data := range map[string][]byte{
		"more than all":            append(slices.Clone(whole), 0),
		"another version":          append([]byte{2}, whole[1:]...),
		"count of nodes that lies": {1, 0xff, 0x1f},
		"too many ranks":           {1, 1, 0, 0, 0, 0, 1, 0, 0xff, 0xff, 0xff, 0x7f, 1, 0},
		"standing still":           {1, 1, 0, 0, 0, 0, 1, 0, 2, 0, 0},
		"beyond 32 bits":           {1, 1, 0, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0x0f, 2, 1, 0},
		"more of the name before":  {1, 1, 1, 0, 0, 0, 0, 0},
	} {
		if got, err := Decode(data); !errors.Is(err, ErrMap) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestOrder(t *testing.T) {
	order := &agentpb.Prepare{
		JobId:        1,
		NodeIndex:    1,
		Map:          Append(nil, block(2, 2)),
		Preput:       map[string]string{"a": "b"},
		UniverseSize: 4,
		Restarts:     2,
		LeaseNanos:   5,
	}
	whole := proto.CloneOf(order)
	if err := Expand(whole); err != nil || len(whole.GetPlaces()) != 2 {
		t.Fatalf("%v, %v", whole, err)
	}
	if diff := cmp.Diff(order, Compact(whole), protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if name := order.ProtoReflect().Descriptor().Fields().ByNumber(placesField).Name(); name != "places" {
		t.Errorf("Compact leaves out %s", name)
	}
	if err := Expand(&agentpb.Prepare{Map: []byte{9}}); !errors.Is(err, ErrMap) {
		t.Error(err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(Append(nil, block(3, 2)))
	f.Add(Append(nil, cyclic(5, 3)))
	f.Add([]byte{1, 0xff, 0x1f})
	f.Fuzz(func(t *testing.T, data []byte) {
		places, err := Decode(data)
		if err != nil {
			if !errors.Is(err, ErrMap) {
				t.Error(err)
			}
			return
		}
		again, err := Decode(Append(nil, places))
		if err != nil || !cmp.Equal(places, again, protocmp.Transform()) {
			t.Errorf("%v: %v", err, again)
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	places := block(1000, 100)
	var buffer []byte
	for b.Loop() {
		buffer = Append(buffer[:0], places)
	}
}

func BenchmarkDecode(b *testing.B) {
	data := Append(nil, block(1000, 100))
	for b.Loop() {
		if _, err := Decode(data); err != nil {
			b.Fatal(err)
		}
	}
}
