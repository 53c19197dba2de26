package wire

import (
	"errors"
	"score/channels/keys/wire"
	"score/nodeagent/pmi"
	"strings"
	"testing"
)

func keysFrame(op wire.Op, body []byte) string { return string(wire.Append(nil, op, body)) }

// joined is a job of ranks that have greeted.
func joined(t testing.TB, rankNode []int32) *testJob {
	j := newTestJob(t, pmi.JobInfo{Job: 1, KVSName: "k", RankNode: rankNode})
	for rank := range rankNode {
		j.feed(rank, wire.Hello)
	}
	return j
}

// A client of package keys is let in, commits, meets the others in fences, and says good-bye.
func TestKeys(t *testing.T) {
	j := joined(t, []int32{0, 1})
	for rank := range 2 {
		var kinds []Kind
		for _, e := range j.others {
			if e.Rank == rank {
				kinds = append(kinds, e.Kind)
				if e.Kind == Join && string(e.Bytes) != string(wire.AppendJoin(nil, rank, 2)) {
					t.Errorf("rank %d was answered %x", rank, e.Bytes)
				}
			}
		}
		if len(kinds) != 2 || kinds[0] != Contact || kinds[1] != Join {
			t.Errorf("rank %d: effects %v", rank, kinds)
		}
	}
	commit := keysFrame(wire.Commit, wire.AppendPair(nil, wire.Global, "card", "a\x00b"))
	for _, piece := range strings.SplitAfter(commit, "card") { // frames come in pieces
		j.feed(0, piece)
	}
	if got := j.take(0); got != keysFrame(wire.Commit, nil) {
		t.Errorf("commit: %q", got)
	}
	for _, op := range []wire.Op{wire.Fence, wire.Barrier, wire.Fence} {
		j.feed(0, keysFrame(op, nil))
		if got := j.take(0); got != "" {
			t.Errorf("%v was answered before all had come: %q", op, got)
		}
		j.feed(1, keysFrame(op, nil))
		for rank := range 2 {
			if got := j.take(rank); got != keysFrame(op, nil) {
				t.Errorf("%v: rank %d got %q", op, rank, got)
			}
		}
	}
	if pairs := j.servers[1].Engine().Card(0); len(pairs) != 1 || pairs[0].Value != "a\x00b" {
		t.Errorf("node 1 knows %v", pairs)
	}
	j.feed(0, keysFrame(wire.Leave, nil))
	if got := j.take(0); got != keysFrame(wire.Leave, nil) {
		t.Errorf("leave: %q", got)
	}
	if e := j.only(Finalized); e.Rank != 0 {
		t.Errorf("rank %d said good-bye", e.Rank)
	}
	if phase := j.gone(0); phase != pmi.PhaseFinalized {
		t.Errorf("a rank that has left is in phase %d", phase)
	}
	if phase := j.gone(1); phase != pmi.PhaseActive {
		t.Errorf("a rank that hangs up without that is in phase %d", phase)
	}
}

// A rank that leaves while others wait for it ends the job.
func TestKeysLackARank(t *testing.T) {
	j := joined(t, []int32{0, 0})
	j.feed(0, keysFrame(wire.Fence, nil))
	j.feed(1, keysFrame(wire.Leave, nil))
	if e := j.only(Violation); !errors.Is(e.Err, pmi.ErrOrder) || !strings.Contains(e.Err.Error(), "rank 1 finalized while rank 0 waits") {
		t.Errorf("%v", e.Err)
	}
}

func TestKeysMistakes(t *testing.T) {
	huge := wire.AppendPair(nil, wire.Global, "k", strings.Repeat("v", pmi.MaxRankBytes))
	for name, tt := range map[string]struct {
		say  []string
		want error
	}{
		"another version":    {[]string{"score-keys 2\n"}, pmi.ErrMalformed},
		"no greeting":        {[]string{"spam\n"}, pmi.ErrMalformed},
		"an endless one":     {[]string{strings.Repeat("s", 5000)}, pmi.ErrTooLong},
		"twice":              {[]string{wire.Hello, wire.Hello}, pmi.ErrMalformed},
		"an unknown request": {[]string{wire.Hello, keysFrame(99, nil)}, pmi.ErrMalformed},
		"an answer":          {[]string{wire.Hello, keysFrame(wire.Join, nil)}, pmi.ErrMalformed},
		"a fence with data":  {[]string{wire.Hello, keysFrame(wire.Fence, []byte("x"))}, pmi.ErrMalformed},
		"a bad commit":       {[]string{wire.Hello, keysFrame(wire.Commit, []byte("\x00\xff"))}, wire.ErrMalformed},
		"an empty key":       {[]string{wire.Hello, keysFrame(wire.Commit, wire.AppendPair(nil, wire.Global, "", "v"))}, pmi.ErrMalformed},
		"a long key":         {[]string{wire.Hello, keysFrame(wire.Commit, wire.AppendPair(nil, wire.Global, strings.Repeat("k", 512), "v"))}, pmi.ErrTooLong},
		"too much":           {[]string{wire.Hello, keysFrame(wire.Commit, huge)}, pmi.ErrFull},
		"an empty frame":     {[]string{wire.Hello, "\x00\x00\x00\x00\x02"}, pmi.ErrMalformed},
		"a frame of the sky": {[]string{wire.Hello, "\xff\xff\xff\xff\x02"}, pmi.ErrMalformed},
		"after the good-bye": {[]string{wire.Hello, keysFrame(wire.Leave, nil), keysFrame(wire.Fence, nil)}, pmi.ErrOrder},
		"before the answer":  {[]string{wire.Hello, keysFrame(wire.Fence, nil), keysFrame(wire.Fence, nil)}, pmi.ErrOrder},
		"two protocols":      {[]string{wire.Hello, "", "cmd=init pmi_version=1 pmi_subversion=1\n"}, pmi.ErrOrder},
	} {
		j := newTestJob(t, pmi.JobInfo{Job: 1, KVSName: "k", RankNode: oneNode(2)})
		rank := 0
		for _, text := range tt.say {
			if text == "" {
				rank = 1
				continue
			}
			j.feed(rank, text)
		}
		if e := j.only(Violation); !errors.Is(e.Err, tt.want) {
			t.Errorf("%s: %v, want %v", name, e.Err, tt.want)
		}
	}
}
