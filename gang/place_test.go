package gang

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestRanksPerNode pins how many ranks each of the nodes gets.
func TestRanksPerNode(t *testing.T) {
	for _, c := range []struct {
		name     string
		cpus     []int // of nodes 1, 2, ...
		channels []int // nil: none
		req      Request
		want     string // node:ranks
		wants    error
	}{
		{name: "one node, the tightest", cpus: []int{8, 4, 2, 4}, req: Request{Tasks: 3}, want: "2:3"},
		{name: "packed, largest first, rest in the tightest", cpus: []int{4, 8, 2, 3}, req: Request{Tasks: 10}, want: "2:8 3:2"},
		{name: "packed over all", cpus: []int{1, 2, 3}, req: Request{Tasks: 6}, want: "1:1 2:2 3:3"},
		{name: "even", cpus: []int{8, 8, 8}, req: Request{Tasks: 7, Nodes: 3}, want: "1:3 2:2 3:2"},
		{name: "even, tightest", cpus: []int{8, 4, 6, 4}, req: Request{Tasks: 8, Nodes: 2}, want: "2:4 4:4"},
		{name: "even, mixed", cpus: []int{8, 4, 6, 4}, req: Request{Tasks: 9, Nodes: 2}, want: "1:5 3:4"},
		{name: "uneven where it must be", cpus: []int{8, 2, 1}, req: Request{Tasks: 9, Nodes: 2}, want: "1:7 2:2"},
		{name: "uneven over three", cpus: []int{8, 2, 1}, req: Request{Tasks: 9, Nodes: 3}, want: "1:6 2:2 3:1"},
		{name: "one rank per node", cpus: []int{4, 4, 4}, req: Request{Tasks: 3, Nodes: 3}, want: "1:1 2:1 3:1"},
		{name: "CPUs per task", cpus: []int{5, 3}, req: Request{Tasks: 3, CPUsPerTask: 2}, want: "1:2 2:1"},
		{name: "listed", cpus: []int{4, 4, 4}, req: Request{Tasks: 2, NodeList: []NodeID{"3"}}, want: "3:2"},
		{name: "listed and more", cpus: []int{4, 4, 2}, req: Request{Tasks: 8, NodeList: []NodeID{"3"}}, want: "1:4 2:2 3:2"},
		{name: "listed, a rank each", cpus: []int{4, 4, 4}, req: Request{Tasks: 3, NodeList: []NodeID{"2", "3"}}, want: "2:2 3:1"},
		{name: "listed, even", cpus: []int{4, 8, 8}, req: Request{Tasks: 6, Nodes: 2, NodeList: []NodeID{"3"}}, want: "1:3 3:3"},
		{name: "listed, too small for an equal share", cpus: []int{4, 8, 1}, req: Request{Tasks: 6, Nodes: 2, NodeList: []NodeID{"3"}}, want: "2:5 3:1"},
		{name: "shared, by CPUs", cpus: []int{1, 3}, req: Request{Tasks: 10, Oversubscribe: true}, want: "1:3 2:7"},
		{name: "shared, on one", cpus: []int{1, 3}, req: Request{Tasks: 10, Nodes: 1, Oversubscribe: true}, want: "2:10"},
		{name: "shared, listed", cpus: []int{1, 3}, req: Request{Tasks: 10, Nodes: 1, NodeList: []NodeID{"1"}, Oversubscribe: true}, want: "1:10"},
		{name: "shared, not needed", cpus: []int{1, 3}, req: Request{Tasks: 3, Oversubscribe: true}, want: "2:3"},
		{name: "shared, one node is full", cpus: []int{1, 99}, req: Request{Tasks: 2 * MaxRanksPerNode, Oversubscribe: true}, want: "1:4096 2:4096"},
		{name: "more words", cpus: []int{200}, req: Request{Tasks: 199}, want: "1:199"},
		{name: "channels bind", channels: []int{4, 2}, cpus: []int{8, 8}, req: Request{Tasks: 6, Channels: 1}, want: "1:4 2:2"},
		{name: "channels bind, even", channels: []int{1, 9}, cpus: []int{8, 8}, req: Request{Tasks: 6, Nodes: 2, Channels: 1}, want: "1:1 2:5"},
		{name: "channels of two a rank", channels: []int{5, 3}, cpus: []int{8, 8}, req: Request{Tasks: 3, Channels: 2}, want: "1:2 2:1"},
		{name: "no channels", channels: []int{0, 1}, cpus: []int{8, 8}, req: Request{Tasks: 1, Channels: 1}, want: "2:1"},
		{name: "channels not asked for", channels: []int{0, 1}, cpus: []int{8, 8}, req: Request{Tasks: 9}, want: "1:8 2:1"},
		{name: "shared, channels bind", channels: []int{2, 16}, cpus: []int{3, 1}, req: Request{Tasks: 12, Channels: 1, Oversubscribe: true}, want: "1:2 2:10"},
		{name: "shared, the largest has too few channels", channels: []int{2, 16}, cpus: []int{3, 1}, req: Request{Tasks: 12, Nodes: 1, Channels: 1, Oversubscribe: true}, want: "2:12"},
		{name: "too few channels", channels: []int{2, 1}, cpus: []int{8, 8}, req: Request{Tasks: 4, Channels: 1}, wants: ErrTooManyChannels},
		{name: "too few channels on one", channels: []int{2, 2}, cpus: []int{8, 8}, req: Request{Tasks: 3, Nodes: 1, Channels: 1}, wants: ErrTooManyChannels},
		{name: "too few channels, shared", channels: []int{2, 2}, cpus: []int{1, 1}, req: Request{Tasks: 5, Channels: 1, Oversubscribe: true}, wants: ErrTooManyChannels},
		{name: "listed without channels", channels: []int{0, 9}, cpus: []int{4, 4}, req: Request{Tasks: 2, Channels: 1, NodeList: []NodeID{"1"}}, wants: ErrTooManyChannels},
		{name: "excluded", cpus: []int{4, 4, 4}, req: Request{Tasks: 8, Exclude: []NodeID{"2"}}, want: "1:4 3:4"},
		{name: "excluded, the tightest", cpus: []int{8, 4, 2, 4}, req: Request{Tasks: 3, Exclude: []NodeID{"2", "2"}}, want: "4:3"},
		{name: "excluded, even", cpus: []int{4, 4, 4, 4}, req: Request{Tasks: 6, Nodes: 2, Exclude: []NodeID{"1", "4", "gone"}}, want: "2:3 3:3"},
		{name: "excluded beside listed", cpus: []int{4, 4, 4}, req: Request{Tasks: 6, NodeList: []NodeID{"3"}, Exclude: []NodeID{"1"}}, want: "2:2 3:4"},
		{name: "excluded, shared", cpus: []int{1, 3, 8}, req: Request{Tasks: 10, Exclude: []NodeID{"3"}, Oversubscribe: true}, want: "1:3 2:7"},
		{name: "excluded, with channels", channels: []int{9, 9}, cpus: []int{8, 8}, req: Request{Tasks: 4, Channels: 2, Exclude: []NodeID{"1"}}, want: "2:4"},
		{name: "too few but for the excluded", cpus: []int{1, 3}, req: Request{Tasks: 2, Exclude: []NodeID{"2"}}, wants: ErrTooFewCPUs},
		{name: "a node too few", cpus: []int{1, 3}, req: Request{Tasks: 2, Nodes: 2, Exclude: []NodeID{"2"}}, wants: ErrTooManyNodes},
		{name: "too few channels but for the excluded", channels: []int{9, 1}, cpus: []int{8, 8}, req: Request{Tasks: 2, Channels: 1, Exclude: []NodeID{"1"}}, wants: ErrTooManyChannels},
		{name: "nothing left", cpus: []int{1, 3}, req: Request{Tasks: 1, Exclude: []NodeID{"1", "2"}}, wants: ErrNoNodes},
		{name: "listed and excluded", cpus: []int{1, 3}, req: Request{Tasks: 1, NodeList: []NodeID{"1"}, Exclude: []NodeID{"1"}}, wants: ErrBadRequest},
		{name: "nothing large enough listed", cpus: []int{1, 3}, req: Request{Tasks: 3, Nodes: 1, NodeList: []NodeID{"1"}}, wants: ErrTooFewCPUs},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine(t, Config{})
			for i, cpus := range c.cpus {
				n := Node{ID: NodeID(fmt.Sprint(i + 1)), CPUs: cpus}
				if c.channels != nil {
					n.Channels = c.channels[i]
				}
				if err := m.AddNode(n); err != nil {
					t.Fatal(err)
				}
			}
			c.req.ID = 1
			if err := m.Submit(c.req); !errors.Is(err, c.wants) {
				t.Fatal(err)
			}
			if c.wants != nil {
				return
			}
			pass(t, m, 0)
			a, _ := m.Allocation(1)
			var got []string
			for _, p := range a.Places {
				got = append(got, fmt.Sprintf("%s:%d", p.Node, len(p.Ranks)))
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("got %v, want %s", got, c.want)
			}
		})
	}
}

func TestBits(t *testing.T) {
	set := make([]uint64, 3)
	setLow(set, 130)
	if count(set) != 130 || !hasBit(set, 129) || hasBit(set, 130) {
		t.Fatalf("%x", set)
	}
	subtract(set, []uint64{^uint64(0)})
	keepLow(set, 3)
	if got := indices(set); !slices.Equal(got, []int{64, 65, 66}) {
		t.Fatalf("%v", got)
	}
	keepLow(set, 0)
	if count(set) != 0 || len(indices(set)) != 0 {
		t.Fatalf("%x", set)
	}
	setBit(set, 191)
	if !intersects(set, []uint64{0, 0, 1 << 63}) || intersects(set, []uint64{^uint64(0)}) {
		t.Fatalf("%x", set)
	}
}

func TestNodeOrder(t *testing.T) {
	want := []string{"a", "a1", "a02", "a2", "a10", "a10b", "b", "n1-2", "n1-10", "n2-1", "n100000000000000000000000", "n200000000000000000000000"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, compareNames)
	if !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	for _, a := range want {
		for _, b := range want {
			if (compareNames(a, b) == 0) != (a == b) || compareNames(a, b) != -compareNames(b, a) {
				t.Errorf("%s and %s: %d", a, b, compareNames(a, b))
			}
		}
	}
}

func TestWeight(t *testing.T) {
	c := Config{}.withDefaults()
	for priority, want := range map[int]int{-500: 4, 0: 4, 99: 4, 100: 8, 299: 12, 300: 16, MaxPriority: 16} {
		if got := c.weight(priority, UsualShare); got != want {
			t.Errorf("priority %d: weight %d, want %d", priority, got, want)
		}
	}
	for share, want := range map[int]int{1: 1, 25: 1, 38: 2, 50: 2, 100: 4, 112: 4, 113: 5, 200: 8, 400: 16, 10000: 16} {
		if got := c.weight(0, share); got != want {
			t.Errorf("share %d: weight %d, want %d", share, got, want)
		}
	}
	if got := c.weight(100, 50); got != 4 {
		t.Errorf("priority 100 with half of the usual share: weight %d", got)
	}
}

func TestConfig(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{}, ""},
		{Config{MaxRows: MaxRowsLimit, Slice: MaxSlice, AgePerPoint: MaxAgePerPoint, WeightStep: 1}, ""},
		{Config{MaxRows: -1}, "rows -1"},
		{Config{MaxRows: MaxRowsLimit + 1}, "rows 65"},
		{Config{Slice: time.Microsecond}, "slice 1µs"},
		{Config{Slice: time.Hour}, "slice 1h"},
		{Config{AgePerPoint: -1}, "age per point -1ns"},
		{Config{AgePerPoint: 2 * time.Hour}, "age per point 2h"},
		{Config{WeightStep: -3}, "weight step -3"},
	} {
		err := c.cfg.Validate()
		if c.want == "" {
			if err != nil {
				t.Errorf("%+v: %v", c.cfg, err)
			}
			continue
		}
		if !errors.Is(err, ErrBadConfig) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.cfg, err, c.want)
		}
		m := New(Config{})
		if m.Configure(c.cfg) == nil || m.cfg != (Config{}).withDefaults() {
			t.Errorf("%+v was taken", c.cfg)
		}
	}
}

// TestKeysDoNotOverflow: the oldest and least important job has the highest key and vice versa.
func TestKeysDoNotOverflow(t *testing.T) {
	m := New(Config{AgePerPoint: MaxAgePerPoint})
	const centuries = int64(5e18) // ns, the year 2128
	low := m.keyOf(&Request{Priority: -MaxPriority, Submitted: centuries})
	high := m.keyOf(&Request{Priority: MaxPriority, Submitted: 0})
	if low <= 0 || high >= 0 {
		t.Errorf("keys %d and %d", low, high)
	}
}

// TestFailingAllocatesNothing: looking at jobs that do not fit costs no memory.
func TestFailingAllocatesNothing(t *testing.T) {
	m := newMachine(t, Config{MaxRows: 1}, Node{ID: "a", CPUs: 64, Memory: 10}, Node{ID: "b", CPUs: 64, Memory: 10})
	for id := range JobID(100) {
		if err := m.Submit(Request{ID: id + 1, Tasks: 100 + int(id%20), MemPerNode: 6}); err != nil {
			t.Fatal(err)
		}
	}
	m.Schedule(0)
	last := m.queue[len(m.queue)-1]
	if n := testing.AllocsPerRun(100, func() {
		if _, ok := m.fitFor(m.grid, last, anyGrowth); ok {
			t.Fatal("it fits")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
