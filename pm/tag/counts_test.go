package tag_test

import (
	"score/channels/abi"
	"score/channels/link"
	"score/pm"
	"score/pm/local/localtest"
	"score/pm/tag"
	"score/pm/uct"
	"testing"
)

// TestCountsAreSeenFromOutside: what the stack counts is in the channel's image.
func TestCountsAreSeenFromOutside(t *testing.T) {
	started := localtest.Start(t, 1, 2, pm.DefaultSettings())
	var j job
	for _, ch := range started.Channels {
		j = append(j, newRank(t, ch, tag.Settings{}))
	}
	seen := func(rank uint32, c abi.Counter, want uint64) {
		t.Helper()
		img, err := started.Hub.Image(1, rank)
		if err != nil {
			t.Fatal(err)
		}
		j.until(t, func() bool { return img.Counter(c) == want })
	}
	var short, long, r tag.Op
	_ = j[0].ep.Send(&short, peer(1), 1, make([]byte, 500))
	_ = j[0].ep.Send(&long, peer(1), 2, make([]byte, 100_000))
	seen(1, abi.UnexpectedBytes, 500)
	seen(0, abi.RendezvousOpen, 1)
	seen(0, abi.Rendezvous, 1)
	_ = j[1].ep.Receive(&r, tag.Criteria{Source: peer(0), Tag: 2}, make([]byte, 100_000))
	j.until(t, func() bool { return r.Done() && long.Done() })
	seen(0, abi.RendezvousOpen, 0)
	_ = j[1].ep.Receive(&r, tag.Criteria{Source: peer(0), Tag: 1}, make([]byte, 500))
	seen(1, abi.UnexpectedBytes, 0)
	counts := j[1].iface.Counts()
	if sent := j[0].iface.Counts(); counts.Copied+sent.Streamed < 100_000 {
		t.Errorf("sent %+v, received %+v", sent, counts)
	}
	seen(1, abi.CopiedBytes, counts.Copied)
	window, err := j[1].iface.MD().Alloc(4096, uct.RemoteAll)
	if err != nil {
		t.Fatal(err)
	}
	ep, err := j[0].iface.EP(1)
	if err != nil {
		t.Fatal(err)
	}
	j.until(t, func() bool {
		if ep.Quiet() {
			_ = ep.Put([]byte{1}, uct.Remote{Key: window.Key()}, nil)
		}
		return j[0].iface.Counts().Direct == 1
	})
	seen(0, abi.DirectOperations, 1)
	seen(0, abi.WindowsMapped, 1)
	_ = ep.Send(uct.Header{ID: uct.FirstID}, nil) // an eager message without a tag
	seen(1, abi.PeersGivenUp, 1)
}

// TestPullsAreSeenFromOutside: a long message between nodes is seen while its receiver reads it,
// and then what was sent as bulk datagrams, and asked for again.
func TestPullsAreSeenFromOutside(t *testing.T) {
	settings := pm.DefaultSettings()
	var err error
	if settings.Faults, err = link.ParseFaults("loss=0.2,seed=5"); err != nil {
		t.Fatal(err)
	}
	started := localtest.Start(t, 2, 1, settings)
	var j job
	for _, ch := range started.Channels {
		j = append(j, newRank(t, ch, tag.Settings{}))
	}
	count := func(rank uint32, c abi.Counter) uint64 {
		img, err := started.Hub.Image(1, rank)
		if err != nil {
			t.Fatal(err)
		}
		return img.Counter(c)
	}
	const size = 4 << 20
	var sent, received tag.Op
	_ = j[1].ep.Receive(&received, tag.Criteria{Source: peer(0), Tag: 1}, make([]byte, size))
	_ = j[0].ep.Send(&sent, peer(1), 1, make([]byte, size))
	job{j[0]}.until(t, func() bool { return count(0, abi.Sent) > 0 })       // the offer may wait for room
	job{j[1]}.until(t, func() bool { return count(1, abi.PullsOpen) == 1 }) // its owner does nothing
	j.until(t, func() bool { return received.Done() && sent.Done() })
	j.until(t, func() bool {
		return count(1, abi.PullsOpen) == 0 && count(0, abi.BulkBytes) >= size && count(1, abi.PiecesAgain) > 0
	})
	if again := j[1].iface.Counts().Again; received.Err != nil || sent.Err != nil || count(1, abi.PiecesAgain) > again {
		t.Errorf("%v, %v; asked again %d times", received.Err, sent.Err, again)
	}
}
