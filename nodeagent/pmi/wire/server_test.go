package wire

import (
	"fmt"
	"score/nodeagent/pmi"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// life1 is a whole conversation of PMI-1 up to its barrier, life2 one of PMI-2.
func life1(rank int) string {
	return line1("cmd=init pmi_version=1 pmi_subversion=1") +
		line1("cmd=get_maxes") +
		line1("cmd=get_appnum") +
		line1(fmt.Sprintf("cmd=put kvsname=kvs_1 key=k%d value=0A%02X", rank, rank)) +
		line1("cmd=get kvsname=kvs_1 key=PMI_process_mapping") +
		line1("cmd=barrier_in")
}

func life2(rank int) string {
	return line1("cmd=init pmi_version=2 pmi_subversion=0") +
		frame2(fmt.Sprintf("cmd=fullinit;pmijobid=kvs_1;pmirank=%d;threaded=TRUE;", rank)) +
		frame2("cmd=job-getid;thrid=0xAB;") +
		frame2(fmt.Sprintf("cmd=kvs-put;thrid=0xAB;key=k%d;value=;;%d;;;", rank, rank)) +
		frame2("cmd=kvs-fence;thrid=0xAB;")
}

// However the bytes of ranks are cut and whoever comes first, everybody gets
// the same.
func TestAnyCutAndOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(rt, "ranks")
		info := pmi.JobInfo{Job: 1, KVSName: "kvs_1", RankNode: drawPlacement(rt, n)}
		lives := make([]string, n)
		for rank := range lives {
			lives[rank] = rapid.SampledFrom([]func(int) string{life1, life2}).Draw(rt, "life")(rank)
		}
		whole := newTestJob(t, info)
		for rank, life := range lives {
			whole.feed(rank, life)
		}
		cut := newTestJob(t, info)
		left := slices.Clone(lives)
		for open := n; open > 0; {
			rank := rapid.IntRange(0, n-1).Draw(rt, "rank")
			for left[rank] == "" {
				rank = (rank + 1) % n
			}
			size := rapid.IntRange(1, len(left[rank])).Draw(rt, "size")
			cut.feed(rank, left[rank][:size])
			if left[rank] = left[rank][size:]; left[rank] == "" {
				open--
			}
		}
		for rank := range n {
			want, got := whole.take(rank), cut.take(rank)
			if want != got || !strings.Contains(got, "barrier_out") && !strings.Contains(got, "kvs-fence-response") {
				rt.Fatalf("rank %d\n cut: %q\nwhole: %q", rank, got, want)
			}
		}
		for rank := range n {
			for other := range n {
				checkKey(rt, cut, rank, other, lives)
			}
		}
	})
}

// checkKey reads other's key as rank sees it.
func checkKey(rt *rapid.T, j *testJob, rank, other int, lives []string) {
	got, ok := j.servers[j.node(rank)].Engine().Get(rank, pmi.AnyRank, fmt.Appendf(nil, "k%d", other))
	want := fmt.Sprintf("0A%02X", other)
	if strings.Contains(lives[other], "fullinit") {
		want = fmt.Sprintf(";%d;", other)
	}
	if !ok || got != want {
		rt.Fatalf("rank %d sees %q, %v for rank %d, want %q", rank, got, ok, other, want)
	}
}

// drawPlacement puts n ranks on nodes that are all used.
func drawPlacement(rt *rapid.T, n int) []int32 {
	nodes := rapid.IntRange(1, n).Draw(rt, "nodes")
	rankNode := make([]int32, n)
	for rank := range rankNode {
		rankNode[rank] = int32(rank % nodes)
		if rank >= nodes {
			rankNode[rank] = int32(rapid.IntRange(0, nodes-1).Draw(rt, "node"))
		}
	}
	return rankNode
}

// A rank that floods its connection with the start of something endless must
// not make the server keep it.
func TestInputIsBounded(t *testing.T) {
	j := newTestJob(t, pmi.JobInfo{KVSName: "kvs_1", RankNode: oneNode(1)})
	j.feed(0, line1("cmd=init pmi_version=2 pmi_subversion=0"))
	j.feed(0, "65536 ")
	for range 70_000 {
		j.feed(0, "x")
	}
	if kept := cap(j.servers[0].sessions[0].rest); kept > 256<<10 {
		t.Errorf("the server keeps %d bytes", kept)
	}
	if !j.servers[0].ended {
		t.Error("a frame of nonsense was taken")
	}
}

// Held requests are bounded, too.
func TestHeldRequestsAreBounded(t *testing.T) {
	j := newTestJob(t, pmi.JobInfo{KVSName: "kvs_1", RankNode: oneNode(1)})
	j.feed(0, line1("cmd=init pmi_version=2 pmi_subversion=0"))
	j.feed(0, frame2("cmd=fullinit;pmijobid=kvs_1;pmirank=0;threaded=TRUE;"))
	for i := range pmi.MaxHeld + 1 {
		if j.servers[0].ended {
			t.Fatalf("ended after %d requests", i)
		}
		j.feed(0, frame2(fmt.Sprintf("cmd=info-getnodeattr;thrid=%d;key=k%d;wait=TRUE;", i, i)))
	}
	if !strings.Contains(j.only(Violation).Err.Error(), "PMI store is full") {
		t.Errorf("got %v", j.only(Violation).Err)
	}
}

// A rank that has gone is neither heard nor answered; the others are.
func TestGoneRankIsSilent(t *testing.T) {
	j := newTestJob(t, pmi.JobInfo{KVSName: "kvs_1", RankNode: oneNode(2)})
	for rank := range 2 {
		j.feed(rank, line1("cmd=init pmi_version=2 pmi_subversion=0"))
		j.feed(rank, frame2(fmt.Sprintf("cmd=fullinit;pmirank=%d;threaded=TRUE;", rank)))
	}
	j.feed(1, frame2("cmd=info-getnodeattr;key=k;wait=TRUE;"))
	j.take(1)
	if phase := j.gone(1); phase != pmi.PhaseActive {
		t.Errorf("rank 1 left in phase %d, want active", phase)
	}
	j.feed(1, frame2("cmd=job-getid;"))
	j.feed(0, frame2("cmd=info-putnodeattr;key=k;value=v;"))
	if got := j.take(1); got != "" {
		t.Errorf("a rank that has gone was sent %q", got)
	}
	if !strings.HasSuffix(j.take(0), "cmd=info-putnodeattr-response;rc=0;") {
		t.Error("rank 0 was not answered")
	}
}

// Wrong data from other nodes ends the job with no rank to blame; a repeated
// delivery does not.
func TestFenceDoneOfOthers(t *testing.T) {
	j := newTestJob(t, pmi.JobInfo{KVSName: "kvs_1", RankNode: []int32{0, 1}})
	j.feed(0, life1(0))
	j.feed(1, life1(1))
	server := j.servers[0]
	end := func(seq uint64, data []byte) []Effect {
		return server.Do(func(e *pmi.Engine) error { return e.FenceDone(seq, data) })
	}
	if effects := end(1, nil); len(effects) != 0 {
		t.Errorf("the end of an old fence made %v", effects)
	}
	effects := end(2, []byte("nonsense"))
	if len(effects) != 1 || effects[0].Kind != Violation || effects[0].Rank != NoRank {
		t.Errorf("the end of a fence that nobody entered made %+v", effects)
	}
	if effects := end(2, nil); len(effects) != 0 || !server.ended {
		t.Errorf("after a violation came %+v", effects)
	}
}

// Programs ask for thousands of keys in their start; the answer is one copy
// into a buffer that stays.
func TestRequestsAllocateNothing(t *testing.T) {
	j := newTestJob(t, pmi.JobInfo{KVSName: "kvs_1", RankNode: oneNode(2)})
	for rank := range 2 {
		j.feed(rank, life1(rank))
	}
	server := j.servers[0]
	get := []byte(line1("cmd=get kvsname=kvs_1 key=k1"))
	enter := []byte(line1("cmd=barrier_in"))
	allocs := testing.AllocsPerRun(100, func() {
		if len(server.Feed(0, get)) != 1 {
			t.Fatal("no answer")
		}
		server.Feed(0, enter)
		if len(server.Feed(1, enter)) != 2 {
			t.Fatal("not released")
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations for a get and a barrier of two ranks, want none", allocs)
	}
}

func BenchmarkGet(b *testing.B) {
	j := newTestJob(b, pmi.JobInfo{KVSName: "kvs_1", RankNode: oneNode(2)})
	for rank := range 2 {
		j.feed(rank, life1(rank))
	}
	get := []byte(line1("cmd=get kvsname=kvs_1 key=k1"))
	b.ReportAllocs()
	for b.Loop() {
		j.servers[0].Feed(0, get)
	}
}

// BenchmarkBarrier is a barrier of 64 ranks on one node.
func BenchmarkBarrier(b *testing.B) {
	const ranks = 64
	j := newTestJob(b, pmi.JobInfo{KVSName: "kvs_1", RankNode: oneNode(ranks)})
	for rank := range ranks {
		j.feed(rank, life1(rank))
	}
	enter := []byte(line1("cmd=barrier_in"))
	b.ReportAllocs()
	for b.Loop() {
		for rank := range ranks {
			j.servers[0].Feed(rank, enter)
		}
	}
}
